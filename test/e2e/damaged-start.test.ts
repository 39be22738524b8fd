import { cpSync, existsSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { callAdmin } from '../../src/cli/admin-client.ts';
import { runOffline } from '../../src/composition/commands/offline.ts';
import { readConfig } from '../../src/config.ts';
import { createLogger } from '../../src/observability/logger.ts';
import { countOf, growLogs, MUTATIONS, PAGE, TORN, type GrownLogs } from '../support/damaged-logs.ts';
import { openForReading } from '../support/opened-for-reading.ts';
import { signedCall } from '../support/running-sandbox.ts';
import { startServiceInProcess, type ServiceInProcess } from '../support/service-in-process.ts';
import { MASTER_KEY_TEXT } from '../support/test-keys.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const folder = temporaryFolder('damaged');
/** Every start ends in less. */
const LONGEST_START_MS = 15_000;
const WHERE = /event \d+|events|position \d+|events\.db/;
let logs: GrownLogs;
let copies = 0;

beforeAll(async () => {
  logs = await growLogs(folder);
}, 60_000);

function copyOf(directory: string): string {
  copies += 1;
  const copy = join(folder, `copy-${copies}`);
  cpSync(directory, copy, { recursive: true });
  return join(copy, 'data');
}

function damaged(what: string): string {
  const dataDir = copyOf(logs.closed);
  MUTATIONS.find(([name]) => name === what)![1](dataDir);
  return dataDir;
}

function torn(share: number): string {
  const dataDir = copyOf(logs.running);
  const file = join(dataDir, 'events.db-wal');
  truncateSync(file, Math.floor(statSync(file).size * share));
  return dataDir;
}

/** What reads a log at a start, in this thread: the check, and then everything that follows the log. */
async function expectFound(dataDir: string): Promise<void> {
  const before = countOf(dataDir);
  const opened = await openForReading(dataDir);
  try {
    expect(opened.damage).toMatch(WHERE);
    expect(opened.core.directory.merchantIds().length).toBeLessThanOrEqual(1);
    await expect(opened.store.append({ stream: 'elsewhere', expected: 'no-stream', events: [] })).rejects.toThrow(
      'nothing is written',
    );
  } finally {
    await opened.close();
  }
  expect(countOf(dataDir)).toBe(before);
}

const create = (service: ServiceInProcess) =>
  signedCall(service.baseUrl, logs.merchant, 'POST', '/api/v1/checkout/sessions/create', {
    amount: '1.00',
    currency: 'USD',
    order_id: 'refused',
  });
const list = async (service: ServiceInProcess): Promise<number> =>
  (await signedCall(service.baseUrl, logs.merchant, 'GET', '/v1/payment/sessions')).status;

interface Readiness {
  readonly checks: readonly { readonly name: string; readonly state: string; readonly detail: string }[];
}

/** The same of a whole service, as merchants, payers and operators meet it. */
async function expectReadOnly(dataDir: string): Promise<void> {
  const before = countOf(dataDir);
  const startedMs = performance.now();
  const service = await startServiceInProcess(dataDir);
  try {
    expect(performance.now() - startedMs).toBeLessThan(LONGEST_START_MS);
    expect(service.readOnly()).toMatch(WHERE);
    const ready = await fetch(`${service.opsUrl}/readyz`);
    // Each create is refused, so nobody sends any; reads go on.
    expect([ready.status, (await fetch(`${service.opsUrl}/readyz/reads`)).status]).toEqual([503, 200]);
    const { checks } = (await ready.json()) as Readiness;
    expect(checks).toContainEqual(
      expect.objectContaining({ name: 'event-log', detail: `read-only: ${service.readOnly()}` }),
    );
    expect(await callAdmin(dataDir, 'audit.status', {})).toMatchObject({ read_only: true, reason: service.readOnly() });
    const refused = await create(service);
    // A log that has lost the merchant or its key knows nobody.
    expect([401, 503]).toContain(refused.status);
    if (refused.status === 503) {
      expect(refused.json.error?.code).toBe('read_only');
      expect([200, 503]).toContain(await list(service));
    }
    expect((await fetch(`${service.baseUrl}/docs`)).status).toBe(200);
    expect(service.logged.some((line) => line.startsWith('fatal'))).toBe(false);
  } finally {
    await service.close();
  }
  expect(countOf(dataDir)).toBe(before);
}

describe('a damaged log', () => {
  it('is distinguished from an unchanged one', async () => {
    for (const whole of [logs.closed, logs.running]) {
      const opened = await openForReading(copyOf(whole));
      expect(opened.damage).toBeNull();
      await opened.close();
    }
  });

  it('is tried with at least 41 kinds of damage', () =>
    expect(MUTATIONS.length + TORN.length).toBeGreaterThanOrEqual(41));

  it.each(MUTATIONS)('is found, with the place, and can be read on: %s', (what) => expectFound(damaged(what)));

  it.each(TORN)('is found, with the place, and can be read on: a tail torn at %d of the write-ahead file', (share) =>
    expectFound(torn(share)),
  );
});

describe('a service that starts on a damaged log', () => {
  it('is not read-only on one that nobody touched', async () => {
    const service = await startServiceInProcess(copyOf(logs.running));
    expect(service.readOnly()).toBeNull();
    expect(await list(service)).toBe(200);
    await service.close();
  });

  it.each([
    'one bit of SecretGenerated',
    'one bit of MerchantRegistered, hashes made to fit',
    'an address of two sessions',
    'every event cut off',
    'half of the log cut off, unknown to the signer',
    'a stream that begins twice',
    'a page of zeros in the middle',
    'a page of zeros at the end',
  ])('is read-only, says where and adds nothing: %s', (what) => expectReadOnly(damaged(what)));

  it('is read-only where the end of the write-ahead file is torn', () => expectReadOnly(torn(0.5)));

  it('ends with a sentence where nothing of the log can be read', async () => {
    const dataDir = copyOf(logs.closed);
    const file = join(dataDir, 'events.db');
    truncateSync(file, Math.floor(statSync(file).size / PAGE / 2) * PAGE);
    await expect(startServiceInProcess(dataDir)).rejects.toThrow(
      /the log in .* is damaged: the file events\.db cannot be used/,
    );
  });

  it('serves the reads of a merchant with a damaged setting', async () => {
    const service = await startServiceInProcess(damaged('one bit of PolicySet'));
    expect(await list(service)).toBe(200);
    expect((await signedCall(service.baseUrl, logs.merchant, 'POST', '/v1/refunds', {})).json.error?.code).toBe(
      'read_only',
    );
    await service.close();
  });

  it('reports the state of the log without a running service', async () => {
    const offline = (dataDir: string, command: string) =>
      runOffline(
        readConfig({ DATA_DIR: dataDir, MASTER_KEY: MASTER_KEY_TEXT, SIGNER_JOURNAL_DIR: join(dataDir, '../signer') }),
        createLogger('silent'),
        command,
        {},
      );
    expect(await offline(copyOf(logs.closed), 'audit.status')).toMatchObject({
      integrity: 'sound',
      read_only: false,
      reason: null,
    });
    const dataDir = damaged('one bit of PolicySet');
    const before = countOf(dataDir);
    expect(await offline(dataDir, 'audit.status')).toMatchObject({
      integrity: 'damaged',
      read_only: true,
      reason: expect.stringMatching(/event \d+|position \d+/) as string,
    });
    expect(await offline(dataDir, 'merchant.list')).toHaveLength(1);
    expect(countOf(dataDir)).toBe(before);
    expect(existsSync(join(dataDir, 'lock.pid'))).toBe(true);
  });
});
