import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually, signedCall, startRunningSandbox, type RunningSandbox } from '../support/running-sandbox.ts';

const run = promisify(execFile);
const repository = resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'quittance-backup-'));
const copy = join(folder, 'copy');

interface Payment {
  readonly id: string;
  readonly metadata: unknown;
}

let sandbox: RunningSandbox;
let merchant: RunningSandbox['facts']['merchant'];
const dataDir = join(folder, 'data');
const call = (method: string, path: string, body?: unknown) => signedCall(sandbox.facts.base_url, merchant, method, path, body);
const backUp = (from: string, to: string) => run(process.execPath, [join(repository, 'ops/backup.mjs'), from, to]);

async function payFor(orderId: string): Promise<Payment> {
  const { json } = await call('POST', '/api/v1/checkout/sessions/create', {
    amount: '7.25',
    currency: 'USDT',
    order_id: orderId,
    metadata: { customer: orderId },
  });
  const id = json.id as string;
  await call('POST', `/v1/sandbox/sessions/${id}/pay`, { network: 'bsc' });
  await eventually(`payment of ${orderId}`, async () => (await call('GET', `/api/v1/checkout/sessions/${id}`)).json.payment_status === 'paid');
  return { id, metadata: json.metadata };
}

/** Derivation indexes of the session's addresses on EVM networks, as the ledger has them. */
function indexesOf(sessionId: string): number[] {
  const ledger = new DatabaseSync(join(dataDir, 'events.db'), { readOnly: true });
  try {
    const rows = ledger.prepare('SELECT data FROM events').all() as { data: string }[];
    const created = rows.map(({ data }) => data).find((data) => data.startsWith('{"sessionId"') && data.includes(`"${sessionId}"`))!;
    const { paymentOptions } = JSON.parse(created) as { paymentOptions: { network: string; derivationIndex: number }[] };
    const evm = paymentOptions.filter(({ network }) => network === 'ethereum' || network === 'bsc');
    expect(evm.length).toBeGreaterThan(0);
    return evm.map(({ derivationIndex }) => derivationIndex);
  } finally {
    ledger.close();
  }
}

beforeAll(async () => {
  mkdirSync(dataDir);
  sandbox = await startRunningSandbox({ dataDir });
  merchant = sandbox.facts.merchant;
}, 60_000);

afterAll(async () => {
  await sandbox?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe('the backup of a running service', () => {
  it('holds every payment answered before it, and a restored service goes on with them', async () => {
    const paid = [await payFor('one'), await payFor('two')];
    // Orders keep arriving while the copy is made.
    let busy = true;
    const load = (async () => {
      for (let count = 0; busy; count += 1)
        await call('POST', '/api/v1/checkout/sessions/create', { amount: '1.00', currency: 'USDT', order_id: `during-${count}` });
    })();
    await backUp(dataDir, copy);
    busy = false;
    await load;
    const files = readdirSync(copy);
    expect(files.filter((name) => name.endsWith('.db')).toSorted()).toEqual([
      'delivery-answers.db',
      'events.db',
      'nonces.db',
      'personal-keys.db',
      'stream-names.db',
    ]);
    for (const name of files) expect(statSync(join(copy, name)).mode & 0o077).toBe(0);

    await sandbox.stop('SIGKILL');
    // The host is lost; of the sandbox only its chains, which are not ours to back up, and the wallet's seed remain.
    const kept = ['chains', 'wallet'].filter((name) => existsSync(join(dataDir, name)));
    for (const name of readdirSync(dataDir)) if (!kept.includes(name)) rmSync(join(dataDir, name), { recursive: true, force: true });
    cpSync(copy, dataDir, { recursive: true });
    sandbox = await startRunningSandbox({ dataDir });
    expect(sandbox.facts.merchant).toEqual(merchant);

    for (const { id, metadata } of paid) {
      const { json } = await call('GET', `/api/v1/checkout/sessions/${id}`);
      expect([json.payment_status, json.metadata]).toEqual(['paid', metadata]);
    }
    const { json } = await call('GET', '/v1/payment/sessions?page_size=100&status=paid');
    expect((json.data as { id: string }[]).map(({ id }) => id).toSorted()).toEqual(paid.map(({ id }) => id).toSorted());
    // By itself it leaves out what may have been given out since the copy was made, and says so.
    const { id } = await payFor('after the restore');
    expect(indexesOf(id).every((index) => index >= 100_000)).toBe(true);
    expect(indexesOf(paid[0]!.id).every((index) => index < 100_000)).toBe(true);
    expect(sandbox.output()).toContain('the ledger was restored from a backup');
    // What was paid before is still ours to give back: the keys follow from the seed, the debt from the ledger.
    const refund = await call('POST', '/v1/refunds', { session_id: paid[0]!.id });
    expect((await call('GET', `/v1/refunds/${String(refund.json.id)}`)).status, 'just asked for').toBe(200);
    expect(refund.status).toBe(200);
    await eventually(
      'the refund of a restored payment',
      async () => (await call('GET', `/v1/refunds/${String(refund.json.id)}`)).json.status === 'COMPLETED',
      60_000,
    );
    expect(existsSync(join(dataDir, 'backup.json'))).toBe(false);
  }, 120_000);

  it('refuses a directory without a ledger and a target that is in use', async () => {
    await expect(backUp(folder, join(folder, 'other'))).rejects.toThrow('holds no ledger');
    await expect(backUp(dataDir, copy)).rejects.toThrow('is not empty');
  });
});
