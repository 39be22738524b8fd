import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { callAdmin } from '../../src/cli/admin-client.ts';
import { demoApprove } from '../support/approvers.ts';
import { eventually, signedCall, startRunningSandbox, type RunningSandbox } from '../support/running-sandbox.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const repository = resolve(import.meta.dirname, '../..');
let folder: string;
let copy: string;
let dataDir: string;

interface Payment {
  readonly id: string;
  readonly metadata: unknown;
}

let sandbox: RunningSandbox;
let merchant: RunningSandbox['facts']['merchant'];
const call = (method: string, path: string, body?: unknown) =>
  signedCall(sandbox.facts.base_url, merchant, method, path, body);
const run = promisify(execFile);

/** As an operator types it; what it prints as JSON. */
async function quittance(directory: string, ...args: string[]): Promise<Record<string, unknown>> {
  const { MASTER_KEY: _, ...env } = process.env;
  const command = [join(repository, 'bin/quittance.mjs'), ...args, '--json'];
  const { stdout } = await run(process.execPath, command, { env: { ...env, DATA_DIR: directory } });
  return JSON.parse(stdout) as Record<string, unknown>;
}

const backUp = (from: string, to: string) => quittance(from, 'backup', '--to', to);

async function order(orderId: string): Promise<Payment> {
  const wanted = { amount: '7.25', currency: 'USDT', order_id: orderId, metadata: { customer: orderId } };
  const { json } = await call('POST', '/api/v1/checkout/sessions/create', wanted);
  return { id: json.id as string, metadata: json.metadata };
}

const pay = (id: string, network: string) => call('POST', `/v1/sandbox/sessions/${id}/pay`, { network });
const paid = (id: string) =>
  eventually(
    `payment of ${id}`,
    async () => (await call('GET', `/api/v1/checkout/sessions/${id}`)).json.payment_status === 'paid',
  );

async function payFor(orderId: string, network = 'bsc'): Promise<Payment> {
  const made = await order(orderId);
  await pay(made.id, network);
  await paid(made.id);
  return made;
}

/** Derivation indexes of the session's addresses on EVM networks, as the event log has them. */
function indexesOf(sessionId: string): number[] {
  const events = new DatabaseSync(join(dataDir, 'events.db'), { readOnly: true });
  try {
    const rows = events.prepare('SELECT data FROM events').all() as { data: string }[];
    const created = rows
      .map(({ data }) => data)
      .find((data) => data.startsWith('{"sessionId"') && data.includes(`"${sessionId}"`))!;
    const { paymentOptions } = JSON.parse(created) as {
      paymentOptions: { network: string; derivationIndex: number }[];
    };
    const evm = paymentOptions.filter(({ network }) => network === 'ethereum' || network === 'bsc');
    expect(evm.length).toBeGreaterThan(0);
    return evm.map(({ derivationIndex }) => derivationIndex);
  } finally {
    events.close();
  }
}

/** Names what failed; the steps build on one another. */
const step = (what: string, run: () => Promise<void>): Promise<void> =>
  run().catch((error: unknown) => {
    throw new Error(`${what}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  });

beforeEach(async () => {
  folder = temporaryFolder('backup');
  [copy, dataDir] = [join(folder, 'copy'), join(folder, 'data')];
  mkdirSync(dataDir);
  sandbox = await startRunningSandbox({ dataDir });
  merchant = sandbox.facts.merchant;
}, 120_000);

afterEach(() => sandbox?.stop());

it('the backup of a running service restores it: no payment is lost, and none is made twice', async () => {
  const known: Payment[] = [];
  let openBefore: Payment;
  let lost: readonly Payment[];
  let refunded: Payment;
  let sent: string;
  let askedAgain: string;
  /** Network and transaction of each refund on an EVM chain that the backup does not know, oldest first. */
  const evmSent: [string, string][] = [];
  /** Every refund that the backup does not know, with its transaction. */
  const lostRefunds: [string, string][] = [];

  await step('is made while orders arrive, is whole, and says so itself', async () => {
    const [one, two, onTron] = [payFor('one'), payFor('two'), payFor('refunded after the backup', 'tron')];
    known.push(await one, await two);
    refunded = await onTron;
    openBefore = await order('open before');
    let busy = true;
    const load = (async () => {
      for (let count = 0; busy; count += 1)
        await call('POST', '/api/v1/checkout/sessions/create', {
          amount: '1.00',
          currency: 'USDT',
          order_id: `during-${count}`,
        });
    })();
    const made = await backUp(dataDir, copy);
    busy = false;
    await load;
    const names = ['delivery-answers.db', 'events.db', 'nonces.db', 'personal-keys.db', 'stream-names.db'];
    const files = readdirSync(copy);
    expect(files.filter((name) => name.endsWith('.db')).toSorted()).toEqual(names);
    expect(files).toEqual(expect.arrayContaining(['events.anchor.json', 'backup.json', 'signer']));
    expect(made).toMatchObject({ without_signer: null, events: expect.any(Number) as number });
    for (const name of files.filter((file) => file !== 'signer'))
      expect(statSync(join(copy, name)).mode & 0o077).toBe(0);
    const verified = await quittance(dataDir, 'backup', 'verify', copy);
    expect(verified).toMatchObject({ ok: true, events: made.events, secrets: 'open', faults: [] });
    const metrics = await (await fetch(`${sandbox.facts.ops_url}/metrics`)).text();
    expect(Number(/^quittance_backup_age_seconds\{kind="data"\} (\S+)/m.exec(metrics)?.[1])).toBeLessThan(60);
  });

  await step('brings a killed service back with one command, which says what was lost since', async () => {
    lost = await Promise.all([payFor('lost one'), payFor('lost two')]);
    await pay(openBefore.id, 'bsc');
    await paid(openBefore.id);
    const refund = await call('POST', '/v1/refunds', { session_id: refunded.id });
    await eventually('a refund that the backup does not know', async () => {
      const { json } = await call('GET', `/v1/refunds/${String(refund.json.id)}`);
      sent = String(json.tx_hash);
      return json.status === 'COMPLETED';
    });
    lostRefunds.push([String(refund.json.id), sent]);
    for (const value of ['2.00', '3.00']) {
      const part = await call('POST', '/v1/refunds', { session_id: known[1]!.id, amount: { value, currency: 'USDT' } });
      const isDone = async (): Promise<boolean> =>
        (await call('GET', `/v1/refunds/${String(part.json.id)}`)).json.status === 'COMPLETED';
      await eventually('a refund on bsc that the backup does not know', isDone);
      const tx = String((await call('GET', `/v1/refunds/${String(part.json.id)}`)).json.tx_hash);
      evmSent.push(['bsc', tx]);
      lostRefunds.push([String(part.json.id), tx]);
    }
    await callAdmin(dataDir, 'audit.checkpoint', { now: true });
    await sandbox.stop('SIGKILL');
    // The host is lost; of the sandbox only its chains, which are not ours to back up, and the wallet's seed remain.
    const kept = ['chains', 'wallet'].filter((name) => existsSync(join(dataDir, name)));
    for (const name of readdirSync(dataDir))
      if (!kept.includes(name)) rmSync(join(dataDir, name), { recursive: true, force: true });
    const restored = await quittance(dataDir, 'restore', '--from', copy, '--operator', 'olga');
    expect(restored).toMatchObject({
      data_dir: dataDir,
      moved_aside: null,
      kept_checkpoints: [expect.stringContaining('before-restore')],
    });
    expect(restored.lost_events).toBeGreaterThan(0);
    const unknown = (restored.unknown_payments as { network: string; kind: string; tx_hash: string }[]).filter(
      ({ kind }) => kind === 'refund',
    );
    expect(unknown.map(({ network, tx_hash: tx }) => [network, tx])).toEqual([['tron', sent], ...evmSent]);
    const evm = (
      restored.addresses as { family: string; unusedFrom: number; leasedBelow: number; isKnown: boolean }[]
    ).find(({ family }) => family === 'evm')!;
    expect(evm.isKnown).toBe(true);
    expect(evm.leasedBelow).toBeGreaterThan(evm.unusedFrom);

    sandbox = await startRunningSandbox({ dataDir });
    expect(sandbox.facts.merchant).toEqual(merchant);
    expect((await fetch(`${sandbox.facts.ops_url}/readyz`)).status).toBe(200);
    expect(await callAdmin(dataDir, 'audit.status', {})).toMatchObject({ read_only: false });
    for (const { id, metadata } of known) {
      const { json } = await call('GET', `/api/v1/checkout/sessions/${id}`);
      expect([json.payment_status, json.metadata]).toEqual(['paid', metadata]);
    }
    // Paid after the backup to an address that it knows: found again by itself.
    await paid(openBefore.id);
    for (const { id } of lost) expect((await call('GET', `/api/v1/checkout/sessions/${id}`)).status).toBe(404);
    expect(existsSync(join(dataDir, 'backup.json'))).toBe(false);
  });

  await step(
    'never pays again what the signer paid and the restored event log lacks, and reports it by itself',
    async () => {
      const treasury = async (): Promise<string> => {
        const { checks } = (await (await fetch(`${sandbox.facts.ops_url}/readyz`)).json()) as {
          checks: { name: string; detail?: string }[];
        };
        return checks.find(({ name }) => name === 'treasury:test:tron')?.detail ?? '';
      };
      await eventually('the alarm of a journal that is ahead', async () =>
        (await treasury()).includes('it signed transactions that this event log does not know'),
      );
      const again = await call('POST', '/v1/refunds', { session_id: refunded.id });
      expect(again.status).toBe(200);
      for (let look = 0; look < 10; look += 1) {
        const { json } = await call('GET', `/v1/refunds/${String(again.json.id)}`);
        expect([json.status, json.tx_hash]).toEqual(['PENDING', null]);
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
      askedAgain = String(again.json.id);
    },
  );

  await step(
    'takes lost payments over into the event log under two signatures, after which the books have each once and payouts continue',
    async () => {
      const statusOf = async (id: string) => (await call('GET', `/v1/refunds/${id}`)).json;
      const { lost: found } = await quittance(dataDir, 'treasury', 'lost');
      expect((found as { network: string; tx: string }[]).map(({ network, tx }) => [network, tx])).toEqual(
        expect.arrayContaining([['tron', sent], ...evmSent]),
      );
      const said = { operator: 'olga', reason: 'restored' };
      const takeOver = (tx: string, session: string) =>
        demoApprove(dataDir, 'treasury.take-over', { tx, session, ...said });
      // What the merchant asked for again would be a second payment of the same money.
      await expect(takeOver(sent, refunded.id)).rejects.toThrow(/treasury reject/);
      await callAdmin(dataDir, 'treasury.reject', { id: askedAgain, operator: 'olga' });
      await expect(takeOver(sent, known[1]!.id)).rejects.toThrow(/session: /);
      const [[, first], [, second]] = evmSent as [[string, string], [string, string]];
      await expect(takeOver(second, known[1]!.id)).rejects.toThrow(`${first} was signed before it on bsc`);

      expect(await takeOver(sent, refunded.id)).toMatchObject({
        status: 'taken_over',
        on_chain: 'landed',
        approved_by: ['demo-1', 'demo-2'],
      });
      expect(await takeOver(first, known[1]!.id)).toMatchObject({ status: 'taken_over' });
      expect(await takeOver(second, known[1]!.id)).toMatchObject({ status: 'taken_over' });
      for (const [id, tx] of lostRefunds)
        await eventually('a refund that was taken over', async () => {
          const { status, tx_hash: hash } = await statusOf(id);
          return status === 'COMPLETED' && hash === tx;
        });
      expect((await quittance(dataDir, 'treasury', 'lost')).lost).toEqual([]);
      await expect(takeOver(sent, refunded.id)).rejects.toThrow(/no payment lost by this event log/);
      // The first one books what the sandbox made the treasury with.
      await quittance(dataDir, 'treasury', 'reconcile');
      const { treasuries } = await quittance(dataDir, 'treasury', 'reconcile');
      for (const { unknown, accounts } of treasuries as {
        unknown: unknown[];
        accounts: { account: string; coin: string; difference: string }[];
      }[]) {
        expect(unknown).toEqual([]);
        expect(
          accounts.filter(
            ({ account, coin, difference }) => account === 'treasury' && coin === 'USDT' && Number(difference) !== 0,
          ),
        ).toEqual([]);
      }
      // Nothing is left to give back, so it can never be paid a second time.
      expect((await call('POST', '/v1/refunds', { session_id: refunded.id })).status).toBe(400);
    },
  );

  await step(
    'loses no money that was paid to addresses given out since: one command finds all of it, and its order can have it',
    async () => {
      let found: { id: string; amount: string; state: string }[] = [];
      await eventually(
        'the money at lost addresses in the inbox',
        async () => {
          const answer = await quittance(
            dataDir,
            'inbox',
            'search',
            '--record',
            '--actor',
            'olga',
            '--reason',
            'restored',
          );
          expect((answer.searched as { fault: string | null }[]).filter(({ fault }) => fault !== null)).toEqual([]);
          found = answer.transfers as typeof found;
          return found.length === lost.length && found.every(({ state }) => state === 'it is already in the inbox');
        },
        60_000,
      );
      expect(found.map(({ amount }) => Number(amount))).toEqual([7.25, 7.25]);
      const again = await order('lost one');
      // By itself it leaves out what may have been given out since the copy was made.
      expect(indexesOf(again.id).every((index) => index >= 100_000)).toBe(true);
      await callAdmin(dataDir, 'inbox.attach', {
        transfer: found[0]!.id,
        session: again.id,
        actor: 'olga',
        reason: 'restored',
      });
      await paid(again.id);
      // What was paid before is still ours to give back: the keys follow from the seed, the debt from the event log.
      const refund = await call('POST', '/v1/refunds', { session_id: known[0]!.id });
      expect(refund.status).toBe(200);
      const completed = async (): Promise<boolean> =>
        (await call('GET', `/v1/refunds/${String(refund.json.id)}`)).json.status === 'COMPLETED';
      await eventually('the refund of a restored payment', completed, 60_000);
    },
  );

  await step(
    "brings a lost journal back from the signer's own backup, and pays nothing until two people resume it",
    async () => {
      const [own, journals] = [join(folder, 'signer-copy'), `${dataDir}-signer`];
      const made = await quittance(dataDir, 'backup', '--only', 'signer', '--to', own);
      expect(made).toMatchObject({ events: null, without_signer: null });
      expect(await quittance(dataDir, 'backup', 'verify', own)).toMatchObject({ ok: true, faults: [] });
      await sandbox.stop('SIGKILL');
      rmSync(journals, { recursive: true });
      const restored = await quittance(dataDir, 'restore', '--from', own, '--only', 'signer', '--operator', 'olga');
      expect((restored.next as string[])[0]).toContain('payouts are stopped (payouts-test-');
      sandbox = await startRunningSandbox({ dataDir });
      const asked = await call('POST', '/v1/refunds', { session_id: openBefore.id });
      const refund = async () => (await call('GET', `/v1/refunds/${String(asked.json.id)}`)).json;
      const waiting = async (): Promise<string> => (await fetch(`${sandbox.facts.ops_url}/metrics`)).text();
      await eventually('a refund that waits for the stopped signer', async () =>
        /^quittance_refund_payouts_waiting\{[^}]*reason="payouts_stopped"\} [1-9]/m.test(await waiting()),
      );
      expect(await refund()).toMatchObject({ status: 'PENDING', tx_hash: null });
      await demoApprove(dataDir, 'treasury.resume', { mode: 'test', operator: 'olga' });
      await eventually(
        'the refund after two people resumed',
        async () => (await refund()).status === 'COMPLETED',
        60_000,
      );
    },
  );
}, 600_000);
