import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startPublicStatus } from '../../../src/composition/outside/public-status.ts';
import { publicStatus, type PublicStatus } from '../../../src/observability/public-status.ts';
import type { Status } from '../../../src/observability/service-status.ts';
import { silentLog } from '../../../src/ports/log.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const line = (mode: string, network: string) => ({ mode, network, headBlock: 7, lagSec: 1, gapBlocks: 0, failures: 0 });
const well: Status = {
  ...{ ready: true, readOnly: false, atMs: 1_800_000_000_000, version: '9.8.7', upSec: 5, lastPayment: null },
  facts: [{ name: 'chain:live:bsc', state: 'ok', detail: 'read by secret-provider.example' }],
  networks: [line('live', 'bsc'), line('live', 'tron'), line('test', 'ethereum')],
  ...{ sessions: { open: 4711, processing: 1 }, refunds: { pending: 0, processing: 0, oldestAgeSec: 0 } },
  webhooks: { waiting: 0, oldestAgeSec: 0, inFlight: 0, retrying: 0, suspended: 1 },
  ...{ projections: { lagEvents: 0, lagSec: 0 }, lastError: { level: 'error', message: 'an inner matter', atMs: 1 } },
};
const later = (sec: number, change: Partial<Status> = {}): Status => ({
  ...well,
  atMs: well.atMs + sec * 1000,
  ...change,
});
const stateOf = ({ components }: PublicStatus, id: string) =>
  components.find((component) => component.id === id)?.state;

describe('the public status', () => {
  it('shows what affects people on live networks, and nothing internal', () => {
    const told = publicStatus(well, null, 30);
    expect(told.state).toBe('operational');
    expect(told.components.map(({ id }) => id)).toEqual(['payments', 'bsc', 'tron', 'refunds', 'webhooks']);
    expect(JSON.stringify(told)).not.toMatch(/9\.8\.7|secret-provider|4711|inner matter/);
  });

  it.each([
    ['payments', 'down', { readOnly: true }],
    ['payments', 'down', { ready: false }],
    ['bsc', 'degraded', { facts: [{ name: 'chain:live:bsc', state: 'degraded' }] }],
    ['refunds', 'degraded', { refunds: { pending: 1, processing: 0, oldestAgeSec: 3_601 } }],
    ['webhooks', 'degraded', { webhooks: { ...well.webhooks, oldestAgeSec: 301 } }],
  ] as const)('says that %s is %s', (id, state, change) => {
    const told = publicStatus(later(0, change), null, 30);
    expect([stateOf(told, id), told.state]).toEqual([state, state]);
  });

  it('keeps start times and past incidents for thirty days', () => {
    const bad = { refunds: { pending: 1, processing: 0, oldestAgeSec: 4_000 } };
    const first = publicStatus(well, null, 30);
    const second = publicStatus(later(60, bad), first, 30);
    const third = publicStatus(later(90, bad), second, 30);
    expect(third.incidents).toEqual([
      { id: 'refunds', name: 'Refunds', state: 'degraded', from: 1_800_000_060, to: null },
    ]);
    const over = publicStatus(later(120), third, 30);
    expect(over.incidents[0]!.to).toBe(1_800_000_120);
    expect(over.components.find(({ id }) => id === 'refunds')!.since).toBe(1_800_000_120);
    expect(publicStatus(later(31 * 86_400), over, 30).incidents).toEqual([]);
  });

  it('is a page and a file, from which a start continues; a folder that cannot be written is named', () => {
    const folder = temporaryFolder('public-status');
    const read = () => JSON.parse(readFileSync(join(folder, 'status.json'), 'utf8')) as PublicStatus;
    startPublicStatus(folder, { status: () => later(0, { ready: false }) }, silentLog).close();
    startPublicStatus(folder, { status: () => later(300, { ready: false }) }, silentLog).close();
    expect(read().components[0]).toMatchObject({ state: 'down', since: 1_800_000_000 });
    expect(readdirSync(folder).toSorted()).toEqual(['index.html', 'status.json']);
    expect(() => startPublicStatus(join(folder, 'index.html', 'x'), { status: () => well }, silentLog)).toThrow(
      /^PUBLIC_STATUS_DIR: /,
    );
  });
});
