import { beforeEach, describe, expect, it } from 'vitest';
import { nodeRandom } from '../../../../src/adapters/node/random.ts';
import type { JournalPlace, TransactionDraft } from '../../../../src/domain/events/transaction-draft.ts';
import type { MoveRequested } from '../../../../src/domain/events/treasury-move-events.ts';
import { treasuryStream } from '../../../../src/domain/values/streams.ts';
import type { ApprovalAct } from '../../../../src/ports/signer/approvals.ts';
import { systemClock } from '../../../../src/ports/clock.ts';
import type { Fate, OutgoingTransaction, SentTransaction } from '../../../../src/ports/outgoing/transaction.ts';
import type { SignedPayment, SigningRequest } from '../../../../src/ports/outgoing/signer.ts';
import { indexKey } from '../../../../src/features/addresses/address-index.ts';
import { moveExecutor, type MoveExecutor } from '../../../../src/features/payouts/moves/records.ts';
import { createTreasuryHandler } from '../../../../src/features/shared/handlers/treasury-handler.ts';
import type { AdminCommands } from '../../../../src/operator/server/commands.ts';
import { takeOverCommands } from '../../../../src/operator/treasury/take-over.ts';
import { treasuryCommands } from '../../../../src/operator/treasury/treasury.ts';
import { decodeEvent } from '../../../../src/runtime/commands/codec.ts';
import { MemoryEventStore } from '../../../support/memory-event-store.ts';
import { handlerDeps } from '../../../support/handler-deps.ts';

/* An event log that is behind the signer's journal; chain, journal and approvers do as they are told. */

const TREASURY = '0xTreasury';
const ADDRESS = '0xCollection';
const APPROVERS = ['ada', 'ben'];
const SAID = { operator: 'olga', reason: 'restored' };

const draft = (nonce: number): TransactionDraft => ({
  ...{ kind: 'evm', chainId: '1', nonce, tokenAddress: '0xToken', tokenUnits: '5000000', gasLimit: '90000' },
  ...{ maxFeePerGas: '100', maxPriorityFeePerGas: '1' },
});
const place = (seq: number): JournalPlace => ({ seq, hash: String(seq).padStart(64, 'a') });

class World {
  readonly store = new MemoryEventStore();
  readonly executor: MoveExecutor;
  readonly commands: AdminCommands;
  /** Entries of the journal after those that the event log has made, oldest first. */
  lost: SignedPayment[] = [];
  /** What is landed on chain, and has no effect. */
  readonly landed = new Set<string>();
  readonly ineffective = new Set<string>();
  readonly acts: ApprovalAct[] = [];
  journalLost = false;
  newest: JournalPlace | null = null;
  journalFault: string | null = null;

  constructor() {
    const deps = handlerDeps(this.store);
    const chain = {
      ...{ network: 'ethereum', mode: 'test', bumpAfterMs: 1e9, settings: { network: 'ethereum', tokens: [] } },
      check: () => Promise.resolve({ kind: 'ready' }),
      nextNonce: () => Promise.resolve(0),
      draft: () => Promise.resolve(draft(0)),
      broadcast: () => Promise.resolve([]),
      fate: (_: OutgoingTransaction, sent: readonly SentTransaction[]) => Promise.resolve(this.#fate(sent)),
      holds: () => Promise.resolve(true),
    } as never;
    const signer = {
      check: () => Promise.resolve({ ok: true }),
      sign: ({ order, attempt, logPlace }: SigningRequest) => {
        const txHash = `0x${order.id}-${attempt}`;
        return Promise.resolve({ ok: true, txHash, signedBytes: 'bytes', journal: place((logPlace?.seq ?? 0) + 1) });
      },
      signedAfter: async (_mode: string, _network: string, logPlace: JournalPlace | null) =>
        this.journalLost && logPlace?.hash !== this.newest?.hash
          ? { ok: false, kind: 'stopped', code: 'journal_disagrees', message: 'it is another one' }
          : { payments: this.lost.filter(({ journal }) => journal.seq > (logPlace?.seq ?? 0)) },
      status: async () => ({
        ...{ stopped: false, limitsToApprove: [] },
        lastPlaces: this.newest ? { ethereum: this.newest } : {},
      }),
      approvalTerms: async (act: ApprovalAct) => {
        this.acts.push(act);
        if (act.kind === 'resume') this.journalLost = false;
        return { ok: true, done: true, approvers: APPROVERS };
      },
    } as never;
    this.executor = moveExecutor({
      ...{ chain, treasury: TREASURY, signer, treasuries: createTreasuryHandler(deps) },
      ...{ owed: () => Promise.resolve({ coins: {}, payouts: 0 }), depositOf: () => Promise.resolve(null) },
      ...{ clock: systemClock, random: nodeRandom, pollMs: 0, depositGraceMs: 60_000 },
      journalCheck: { look: () => Promise.resolve(this.journalFault), isCompared: () => true },
      log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    });
    const session = { context: { created: { paymentOptions: [{ address: ADDRESS, derivationIndex: 4 }] } } };
    const parts = {
      treasury: () => ({ moves: { executors: [this.executor], wake: () => undefined } }),
      ...{ payouts: { signer }, clock: systemClock, random: nodeRandom, store: this.store },
      core: {
        sessionHandler: { read: () => Promise.resolve(session) },
        addressIndexes: new Map([[indexKey('test', 'evm'), { sessionOf: () => 'cs_1' }]]),
      },
      sessionOfRefund: () => Promise.resolve(null),
      ...{ refunds: {}, ofRefunds: {}, givenAddress: () => null },
    } as never;
    this.commands = { ...treasuryCommands(parts), ...takeOverCommands(parts) };
  }

  #fate(sent: readonly SentTransaction[]): Fate {
    const landed = sent.find(({ txHash }) => this.landed.has(txHash));
    const at = { blockNumber: 9, blockHash: '0xb', blockTimeSec: 9, networkFee: '0.001' };
    if (landed) return { kind: 'landed', final: true, landed: { txHash: landed.txHash, ...at } };
    const failed = sent.find(({ txHash }) => this.ineffective.has(txHash));
    if (failed) return { kind: 'ineffective', txHash: failed.txHash, networkFee: '0.001' };
    // As the chain says it where another transaction has used the nonce.
    return this.landed.size + this.ineffective.size > 0
      ? { kind: 'alarm', detail: 'the nonce was used by a transaction that is not ours' }
      : { kind: 'absent' };
  }

  run(command: string, args: Record<string, string> = {}): Promise<unknown> {
    return this.commands[command]!({ ...SAID, ...args });
  }

  takeOver(tx: string): Promise<unknown> {
    return this.run('treasury.take-over', { tx });
  }

  async ask(kind: 'sweep' | 'withdrawal' | 'gas_top_up', change: Partial<MoveRequested>): Promise<void> {
    const data = { ...terms, requestedBy: 'ada', reason: null, requestedAtSec: 1, ...change } as MoveRequested;
    expect(await this.executor.tell({ type: 'RequestMove', kind, data }, 'ada')).toBeNull();
  }

  async types(): Promise<string[]> {
    return (await this.store.readStream(treasuryStream('test', 'ethereum'))).map((event) => event.type);
  }

  async newestOf(type: string): Promise<Record<string, unknown>> {
    const events = (await this.store.readStream(treasuryStream('test', 'ethereum'))).map(decodeEvent);
    return events.findLast(({ event }) => event.type === type)!.event.data as never;
  }
}

const terms = {
  ...{ moveId: 'swp_1', mode: 'test', network: 'ethereum', coin: 'USDT', amount: '5.00', derivationIndex: 4 },
  ...{ fromAddress: ADDRESS, toAddress: TREASURY, merchantId: null, forMoveId: null },
} as const;
const payment = (seq: number, change: Partial<SignedPayment>): SignedPayment => ({
  ...{ kind: 'sweep', network: 'ethereum', id: 'swp_1', attempt: 1, coin: 'USDT', amount: '5.00' },
  ...{ fromAddress: ADDRESS, toAddress: TREASURY, draft: draft(0), depositKeys: [], merchantId: null },
  ...{ txHash: `0x${change.id ?? 'swp_1'}-${change.attempt ?? 1}`, signedBytes: 'bytes', journal: place(seq) },
  signedAtSec: 1,
  ...change,
});
const topUp = (seq: number, id: string): SignedPayment =>
  payment(seq, { kind: 'gas_top_up', id, coin: 'ETH', fromAddress: TREASURY, toAddress: ADDRESS, draft: draft(seq) });

let world: World;
beforeEach(() => (world = new World()));
const context = () => world.executor.context();

describe('a lost replacement of a payment whose earlier transaction landed', () => {
  beforeEach(async () => {
    await world.ask('sweep', {});
    await world.executor.round();
    world.landed.add('0xswp_1-1');
    world.lost = [payment(2, { attempt: 2, draft: { ...draft(0), maxFeePerGas: '125' } as TransactionDraft })];
  });

  it('is taken over while the payment is open, which the earlier one then ends', async () => {
    expect(await world.run('treasury.lost')).toMatchObject({ lost: [{ tx: '0xswp_1-2', on_chain: 'landed' }] });
    expect(await world.takeOver('0xswp_1-2')).toMatchObject({ status: 'taken_over' });
    await world.executor.round();
    expect(await world.newestOf('SweepCompleted')).toMatchObject({ txHash: '0xswp_1-1' });
    expect(await context()).toMatchObject({ moves: {}, journal: place(2), open: null });
  });

  it('is skipped once the payment is complete: nothing is booked, and the event log agrees with the journal', async () => {
    await world.executor.round();
    expect(await context()).toMatchObject({ moves: {}, journal: place(1) });
    expect(await world.takeOver('0xswp_1-2')).toMatchObject({ status: 'taken_over', approved_by: APPROVERS });
    expect(await world.newestOf('JournalPlaceMoved')).toMatchObject({
      ...{ why: 'excluded', from: place(1), to: place(2), proposedBy: 'olga', approvers: APPROVERS },
      passed: { moveId: 'swp_1', txHash: '0xswp_1-2', endedByTxHash: '0xswp_1-1' },
    });
    expect((await world.types()).filter((type) => type === 'SweepCompleted')).toHaveLength(1);
    expect(await world.run('treasury.lost')).toEqual({ lost: [] });
    await world.ask('sweep', { moveId: 'swp_2' });
    await world.executor.round();
    expect(await context()).toMatchObject({ journal: place(3) });
  });

  it('is passed over as well where the earlier one had no effect', async () => {
    world.landed.clear();
    world.ineffective.add('0xswp_1-1');
    await world.executor.round();
    expect(await world.newestOf('SweepFailed')).toMatchObject({ txHash: '0xswp_1-1' });
    await world.takeOver('0xswp_1-2');
    expect(await context()).toMatchObject({ journal: place(2) });
  });

  it('is refused if the chain shows another one than the event log', async () => {
    await world.executor.round();
    world.landed.clear();
    world.landed.add('0xswp_1-2');
    await expect(world.takeOver('0xswp_1-2')).rejects.toThrow(
      'swp_1 ended in the event log with 0xswp_1-1, but the chain shows 0xswp_1-2',
    );
    expect(world.acts).toEqual([]);
  });
});

describe('a lost sweep', () => {
  const sweep = payment(3, { id: 'swp_lost' });

  beforeEach(() => {
    world.journalFault = 'the journal is ahead';
    world.landed.add('0xswp_lost-1');
  });

  it('replaces a new one that was ordered for its address, and its gas', async () => {
    await world.ask('sweep', { moveId: 'swp_anew' });
    await world.ask('gas_top_up', {
      ...{ moveId: 'gas_anew', coin: 'ETH', fromAddress: TREASURY, toAddress: ADDRESS, forMoveId: 'swp_anew' },
    });
    const { executor } = world;
    const sequence = { attempt: 1, fromAddress: ADDRESS, draft: draft(0), replaces: null, reservedAtSec: 1 };
    expect(await executor.tell({ type: 'ReserveMove', data: { moveId: 'swp_anew', ...sequence } }, 'x')).toBeNull();
    world.lost = [sweep];
    await world.takeOver('0xswp_lost-1');
    expect(Object.keys((await context()).moves)).toEqual(['swp_lost']);
    await executor.round();
    expect(await context()).toMatchObject({ moves: {}, open: null, journal: place(3) });
    expect((await world.types()).filter((type) => /Failed|Completed/.test(type))).toEqual([
      ...['SweepFailed', 'GasTopUpFailed', 'SweepCompleted'],
    ]);
  });

  it('waits for another one of its address that was signed', async () => {
    world.journalFault = null;
    await world.ask('sweep', { moveId: 'swp_before' });
    world.landed.clear();
    await world.executor.round();
    world.lost = [sweep];
    await expect(world.takeOver('0xswp_lost-1')).rejects.toThrow('swp_before, from the same address, is under way');
    expect(world.acts).toEqual([]);
  });

  it('keeps the gas that was sent for it, however often it was sent', async () => {
    world.lost = [topUp(1, 'gas_1'), topUp(2, 'gas_2'), { ...sweep, draft: draft(1) }];
    world.landed.clear();
    await world.takeOver('0xgas_1-1');
    expect(await world.newestOf('GasTopUpRequested')).toMatchObject({ moveId: 'gas_1', forMoveId: 'swp_lost' });
    await expect(world.takeOver('0xgas_2-1')).rejects.toThrow('gas_1, from the same address, is under way');
    for (const tx of ['0xgas_1-1', '0xgas_2-1']) world.landed.add(tx);
    await world.executor.round();
    await world.takeOver('0xgas_2-1');
    expect(await world.newestOf('GasTopUpRequested')).toMatchObject({ moveId: 'gas_2', forMoveId: 'swp_lost' });
    world.landed.clear();
    await world.takeOver('0xswp_lost-1');
    expect((await context()).moves['swp_lost']!.signed).toHaveLength(1);
  });

  it('gives its gas to the sweep that is still waiting in the event log', async () => {
    await world.ask('sweep', {});
    world.lost = [topUp(1, 'gas_1')];
    world.landed.clear();
    await world.takeOver('0xgas_1-1');
    expect(await world.newestOf('GasTopUpRequested')).toMatchObject({ forMoveId: 'swp_1' });
  });
});

describe('a withdrawal whose approvals and signature were lost', () => {
  const withdrawal = payment(1, { kind: 'withdrawal', id: 'wdr_1', fromAddress: TREASURY, toAddress: '0xCold' });

  it('gives the signer the name of the proposer, so that nobody signs who could not be recorded', async () => {
    await world.ask('withdrawal', { moveId: 'wdr_1', fromAddress: TREASURY, toAddress: '0xCold', requestedBy: 'carl' });
    world.lost = [withdrawal];
    await world.takeOver('0xwdr_1-1');
    expect(world.acts).toMatchObject([{ kind: 'take_over', proposedBy: 'olga', requestedBy: 'carl' }]);
    expect((await context()).moves['wdr_1']).toMatchObject({ approvers: APPROVERS, signed: [{ txHash: '0xwdr_1-1' }] });
  });

  it('has other terms in the event log: this is reported before anybody signs', async () => {
    await world.ask('withdrawal', { moveId: 'wdr_1', fromAddress: TREASURY, toAddress: '0xOther' });
    world.lost = [withdrawal];
    await expect(world.takeOver('0xwdr_1-1')).rejects.toThrow('wdr_1 has different terms in the event log');
    expect(world.acts).toEqual([]);
  });

  it('cannot be cancelled while the signer says that it was signed, and is requested again at its position', async () => {
    await world.ask('withdrawal', { moveId: 'wdr_1', fromAddress: TREASURY, toAddress: '0xCold', requestedBy: 'carl' });
    world.lost = [withdrawal];
    await expect(world.run('treasury.reject', { id: 'wdr_1' })).rejects.toThrow(
      'wdr_1 was signed, but this event log has lost it: take it over',
    );
    world.lost = [];
    await world.run('treasury.reject', { id: 'wdr_1' });
    world.lost = [withdrawal];
    await world.takeOver('0xwdr_1-1');
    expect(world.acts).toMatchObject([{ requestedBy: 'carl' }]);
    expect((await context()).moves['wdr_1']).toMatchObject({ approvers: APPROVERS, signed: [{ txHash: '0xwdr_1-1' }] });
  });
});

describe('resuming a signer whose journal was lost', () => {
  beforeEach(async () => {
    await world.ask('sweep', {});
    await world.executor.round();
    world.journalLost = true;
    world.newest = { seq: 4, hash: 'b'.repeat(64) };
  });

  it('names the position of the event log, and moves it to the entry with which the journal begins again', async () => {
    expect(await world.run('treasury.resume', { mode: 'test' })).toMatchObject({ approved_by: APPROVERS });
    expect(world.acts).toMatchObject([{ kind: 'resume', anew: [{ network: 'ethereum', place: place(1) }] }]);
    expect(await context()).toMatchObject({ journal: world.newest });
    expect(await world.newestOf('JournalPlaceMoved')).toMatchObject({
      ...{ why: 'begun_anew', from: place(1), to: world.newest, passed: null, approvers: APPROVERS },
    });
    await world.run('treasury.resume', { mode: 'test' });
    expect((await world.types()).filter((type) => type === 'JournalPlaceMoved')).toHaveLength(1);
    world.landed.add('0xswp_1-1');
    await world.executor.round();
    await world.ask('sweep', { moveId: 'swp_2' });
    await world.executor.round();
    expect(await context()).toMatchObject({ journal: place(5) });
  });

  it('skips nothing that the journal says was signed since', async () => {
    world.journalLost = false;
    world.lost = [payment(4, { id: 'swp_lost' })];
    world.newest = place(4);
    await world.run('treasury.resume', { mode: 'test' });
    expect(world.acts).toMatchObject([{ kind: 'resume', anew: [] }]);
    expect(await context()).toMatchObject({ journal: place(1) });
  });
});
