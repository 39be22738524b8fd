import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Counter, Registry } from 'prom-client';
import { afterEach, describe, expect, it } from 'vitest';
import { startOpsServer } from '../../../src/observability/ops-server.ts';

let server: Server;
afterEach(() => new Promise((closed) => server.close(closed)));

describe('figures', () => {
  it('have the same names in the older text format, also after a request for OpenMetrics', async () => {
    const registry = new Registry();
    new Counter({ name: 'quittance_things_total', help: 'Things.', registers: [registry] }).inc(3);
    server = await startOpsServer({ host: '127.0.0.1', port: 0, registry, health: {} as never, status: {} as never });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`;
    const read = async (accept: string): Promise<string> => (await fetch(url, { headers: { accept } })).text();
    const before = await read('*/*');
    expect(before).toContain('quittance_things_total 3');
    expect(await read('application/openmetrics-text;version=1.0.0')).toContain('# EOF');
    expect(await read('*/*')).toBe(before);
  });
});
