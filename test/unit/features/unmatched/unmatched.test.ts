import { describe, expect, it } from 'vitest';

import type { SessionId } from '../../../../src/domain/values/ids.ts';
import { sessionStream, transferStream } from '../../../../src/domain/values/streams.ts';
import type { ReturnRequest, Returns, ReturnStatus } from '../../../../src/ports/outgoing/returns.ts';
import { decodeEvent } from '../../../../src/runtime/commands/codec.ts';
import { NotificationIds } from '../../../../src/runtime/commands/notification-ids.ts';
import { Inbox, type FoundTransfer, type InboxOutcome } from '../../../../src/features/unmatched/unmatched.ts';
import { InboxSettlement } from '../../../../src/features/unmatched/settlement.ts';
import { createSessionHandler } from '../../../../src/features/shared/handlers/session-handler.ts';
import { createTransferHandler } from '../../../../src/features/shared/handlers/transfer-handler.ts';
import { arrived, finalOf, refundable } from '../../../../state-machines/checkout-session/session.state.ts';
import type { SessionCommand } from '../../../../state-machines/checkout-session/session.decider.ts';
import { MemoryBooks } from '../../../support/books.ts';
import { FailingStore } from '../../../support/failing-store.ts';
import type { MERCHANT_ID } from '../../../support/session-facts.ts';
import {
  createdFacts,
  depositFacts,
  EXPIRES_AT,
  refundCommand,
  depositConfirmed,
} from '../../../support/session-facts.ts';

const SOURCE = `cs_${'a'.repeat(32)}` as SessionId;
const TARGET = `cs_${'b'.repeat(32)}` as SessionId;
const OTHER = `cs_${'c'.repeat(32)}` as SessionId;
const LATE = depositFacts({ txHash: '0xlate', blockTimeSec: EXPIRES_AT + 60 });
const KEY = LATE.depositKey;
const by = { actor: 'ada', reason: 'ordered again' };
const REAL = { by, dryRun: false };

/** Pays nothing by itself: a test says how each return ends. */
class ScriptedReturns implements Returns {
  readonly requests: ReturnRequest[] = [];
  outcome: ReturnStatus = { kind: 'under_way' };
  cancelRefusal: string | null = null;
  treasuryOf = (): string => '0xTreasury';
  async request(request: ReturnRequest): Promise<string | null> {
    if (!this.requests.some(({ moveId }) => moveId === request.moveId)) this.requests.push(request);
    return null;
  }
  async status(_mode: string, _network: string, moveId: string): Promise<ReturnStatus> {
    return this.requests.some((request) => request.moveId === moveId) ? this.outcome : { kind: 'unknown' };
  }
  async cancel(request: ReturnRequest): Promise<string | null> {
    await this.request(request);
    if (this.cancelRefusal === null) this.outcome = { kind: 'failed', reason: 'rejected_by_operator' };
    return this.cancelRefusal;
  }
  forecast = async (): Promise<string> => 'ready to be paid';
}

class World {
  readonly store = new FailingStore();
  readonly returns = new ScriptedReturns();
  #nowSec = EXPIRES_AT + 600;

  /** A process of its own: nothing in memory. `before` runs before each step that its settlement takes in a session. */
  process(before: (command: SessionCommand, stream: string) => Promise<void> = async () => {}) {
    let uuid = 0;
    const clock = { nowMs: () => (this.#nowSec += 1) * 1000 };
    const random = {
      uuid: () => `id-${this.store.events.length}-${(uuid += 1)}`,
      bytes: (count: number) => new Uint8Array(count).fill(this.store.events.length),
    };
    const deps = { store: this.store, clock, random, notificationIds: new NotificationIds(clock), soleWriter: false };
    const sessions = createSessionHandler(deps);
    const transfers = createTransferHandler(deps);
    const returns = () => this.returns;
    const execute: typeof sessions.execute = async (stream, command, ...rest) => {
      await before(command, stream);
      return sessions.execute(stream, command, ...rest);
    };
    const stepwise = { read: sessions.read.bind(sessions), execute } as typeof sessions;
    const settlement = new InboxSettlement({
      transfers,
      sessions: stepwise,
      rates: { valuation: () => null },
      returns,
      clock,
      random,
    });
    const inbox = new Inbox({
      transfers,
      sessions,
      senders: { of: async () => ({ kind: 'wallet', name: null }) },
      settlement,
      returns,
      clock,
      random,
    });
    const send = async (id: SessionId, command: SessionCommand) => {
      const result = await sessions.execute(sessionStream(id), command, { correlationId: 'test', actor: 'test' });
      if (!result.ok) throw new Error(result.refusal.message);
    };
    const found = async (): Promise<FoundTransfer> => (await inbox.find('test', KEY, SOURCE))!;
    const context = async (id: SessionId) => (await sessions.read(sessionStream(id)))!.context;
    const state = async () => (await transfers.read(transferStream('test', KEY)))?.value ?? 'absent';
    return { sessions, transfers, settlement, inbox, send, found, context, state };
  }

  async typesOf(stream: string): Promise<string[]> {
    return (await this.store.readStream(stream)).map(({ type }) => type);
  }

  /** Every entry of the books, in order; throws when one does not balance. */
  books(): MemoryBooks {
    const books = new MemoryBooks();
    for (const recorded of this.store.events) {
      const { stream, event, atMs } = decodeEvent(recorded);
      books.take(stream, event, atMs);
      for (const [key, sum] of books.sums()) if (sum !== 0n) throw new Error(`${key} is off by ${sum}`);
    }
    return books;
  }

  balance(account: string): string {
    return (
      this.books()
        .balances()
        .find((row) => row.account.endsWith(account))?.balance ?? '0'
    );
  }
}

/** An expired session with a late payment, and an open one of the same merchant. */
async function world(change: Parameters<typeof createdFacts>[0] = {}) {
  const made = new World();
  const process = made.process();
  await process.send(SOURCE, { type: 'CreateSession', data: createdFacts({ sessionId: SOURCE }) });
  await process.send(SOURCE, { type: 'ExpireSession', nowSec: EXPIRES_AT + 1, scannedToSec: {} });
  await process.send(SOURCE, { type: 'RecordDeposit', facts: LATE });
  const { data } = depositConfirmed(LATE);
  await process.send(SOURCE, { type: 'ConfirmDeposit', data, nowSec: EXPIRES_AT + 90, valuation: null });
  await process.send(TARGET, {
    type: 'CreateSession',
    data: createdFacts({
      sessionId: TARGET,
      orderId: 'order-2',
      createdAtSec: EXPIRES_AT,
      expiresAtSec: EXPIRES_AT + 100_000,
      ...change,
    }),
  });
  return { made, ...process };
}

const refusalOf = (outcome: InboxOutcome): string => (outcome.ok ? 'accepted' : outcome.refusal.message);

describe('attaching an unmatched transfer', () => {
  it('pays an open session once, and takes the money out of the session it came to', async () => {
    const { made, inbox, found, context } = await world();
    expect(await inbox.attach(await found(), TARGET, REAL)).toMatchObject({ ok: true, state: { value: 'attached' } });
    expect(await made.typesOf(sessionStream(TARGET))).toEqual(['SessionCreated', 'TransferCredited', 'SessionPaid']);
    expect((await context(TARGET)).paid).toMatchObject({ received: '10.00', excess: '0.00', afterExpiry: false });
    expect(refundable(await context(SOURCE), 'USDT')).toBe(0n);
    expect([made.balance('unmatched'), made.balance(':unapplied'), made.balance(':payable')]).toEqual([
      '0',
      '0',
      '-10',
    ]);
    expect(refusalOf(await inbox.attach(await found(), TARGET, REAL))).toContain('attached to');
    expect((await made.typesOf(sessionStream(TARGET))).filter((type) => type === 'SessionPaid')).toHaveLength(1);
  });

  it('to a session that has ended is money to refund there, and pays nothing', async () => {
    const { made, inbox, found, context, send } = await world();
    await send(TARGET, { type: 'CancelSession', nowSec: EXPIRES_AT + 700 });
    expect(await inbox.attach(await found(), TARGET, REAL)).toMatchObject({
      ok: true,
      notes: [expect.stringContaining('pays nothing')],
    });
    const target = await context(TARGET);
    expect([target.paid, arrived(target), refundable(target, 'USDT')]).toEqual([null, 0n, 10n * 10n ** 18n]);
    expect(made.balance(':unapplied')).toBe('-10');
  });

  it('says in a dry run what it would do, and does nothing', async () => {
    const { made, inbox, found } = await world();
    const before = made.store.events.length;
    expect(await inbox.attach(await found(), TARGET, { by, dryRun: true })).toMatchObject({
      ...{ ok: true, state: { value: 'absent' }, notes: ['the session is open; 10.00 of 10.00 USDT will be there'] },
    });
    expect(made.store.events).toHaveLength(before);
  });

  it.each([
    ['another coin', { dueCoin: 'USDC' }, 'the session is due in USDC, but the transfer is in USDT'],
    ['another merchant', { merchantId: 'mer_zzzzzzzzzzzzzzzzzzzz' as typeof MERCHANT_ID }, 'the money is owed to'],
    ['another mode', { mode: 'live' }, 'the session is in live mode'],
  ] as const)('to a session of %s is refused before anything is written', async (_, change, words) => {
    const { made, inbox, found } = await world(change);
    expect(refusalOf(await inbox.attach(await found(), TARGET, REAL))).toContain(words);
    expect(await made.typesOf(transferStream('test', KEY))).toEqual([]);
  });

  it('is refused for the session it came to, for one that is not there, and while a refund takes the money', async () => {
    const { inbox, found, send } = await world();
    expect(refusalOf(await inbox.attach(await found(), SOURCE, REAL))).toContain('this session itself');
    expect(refusalOf(await inbox.attach(await found(), OTHER, REAL))).toContain('no such session');
    await send(SOURCE, refundCommand({ refundId: 're_1' as never, nowSec: EXPIRES_AT + 800 }));
    expect(refusalOf(await inbox.attach(await found(), TARGET, REAL))).toBe('the refund re_1 takes its money');
  });
});

describe('one decision that two processes carry out', () => {
  const refund = refundCommand({ refundId: 're_1' as never, nowSec: EXPIRES_AT + 800 });

  /**
   * The first process is refused by a refund that fails right after; `meanwhile` runs before it tells the other session
   * so.
   */
  async function refusedOnce(made: World, meanwhile: () => Promise<void>): Promise<InboxOutcome> {
    const { send, context } = made.process();
    let isRefused = false;
    const first = made.process(async ({ type }, stream) => {
      if (type === 'SetDepositAside' && !isRefused) await send(SOURCE, refund);
      if (type !== 'GiveUpTransfer' || stream !== sessionStream(TARGET) || isRefused) return;
      isRefused = true;
      const [legId] = Object.keys((await context(SOURCE)).refunds['re_1']!.legs);
      const failed = { refundId: 're_1', legId: legId!, reason: 'insufficient_gas', networkFee: null } as const;
      await send(SOURCE, { type: 'FailPayout', ...failed, nowSec: EXPIRES_AT + 801, valuation: null });
      await meanwhile();
    });
    return first.inbox.attach(await first.found(), TARGET, REAL);
  }

  const moneyIn = async (made: World): Promise<bigint[]> => {
    const { context } = made.process();
    made.books();
    return [finalOf(await context(SOURCE), 'USDT'), finalOf(await context(TARGET), 'USDT')];
  };

  it('attaches it once when the second comes through while the first is refused', async () => {
    const { made } = await world();
    await refusedOnce(made, async () => void (await made.process().settlement.settle('test', KEY)));
    expect(await made.process().state()).toBe('attached');
    expect(await moneyIn(made)).toEqual([0n, 10n * 10n ** 18n]);
  });

  it('leaves it where it was when the second is overtaken between its steps', async () => {
    const { made } = await world();
    let arrive!: () => void;
    let release!: () => void;
    const [arrived, released] = [
      new Promise<void>((resolve) => (arrive = resolve)),
      new Promise<void>((resolve) => (release = resolve)),
    ];
    const second = made.process(async ({ type }) => {
      if (type !== 'CreditTransfer') return;
      arrive();
      await released;
    });
    let settled!: Promise<unknown>;
    await refusedOnce(made, async () => {
      settled = second.settlement.settle('test', KEY);
      await arrived;
    });
    expect(await moneyIn(made)).toEqual([10n * 10n ** 18n, 0n]);
    release();
    await settled;
    expect(await made.process().state()).toBe('open');
    expect(await moneyIn(made)).toEqual([10n * 10n ** 18n, 0n]);
  });
});

describe('undoing', () => {
  const underpaid = { dueAmount: '25.00', amount: '25.00' } as const;

  it('puts the money back where it was, for another decision', async () => {
    const { made, inbox, found, context } = await world(underpaid);
    await inbox.attach(await found(), TARGET, REAL);
    expect(await inbox.undo(await found(), REAL)).toMatchObject({ ok: true, state: { value: 'open' } });
    expect([arrived(await context(TARGET)), refundable(await context(SOURCE), 'USDT')]).toEqual([0n, 10n * 10n ** 18n]);
    expect([made.balance('unmatched'), made.balance(':unapplied')]).toEqual(['0', '-10']);
    expect(await inbox.attach(await found(), TARGET, REAL)).toMatchObject({ ok: true, state: { value: 'attached' } });
    expect(arrived(await context(TARGET))).toBe(10n * 10n ** 18n);
  });

  it('is refused while the session is paid with it or a refund takes it, naming which', async () => {
    const paid = await world();
    await paid.inbox.attach(await paid.found(), TARGET, REAL);
    expect(refusalOf(await paid.inbox.undo(await paid.found(), REAL))).toBe(`the session ${TARGET} is paid with it`);
    const refunded = await world(underpaid);
    await refunded.inbox.attach(await refunded.found(), TARGET, REAL);
    await refunded.send(TARGET, refundCommand({ refundId: 're_2' as never, nowSec: EXPIRES_AT + 800 }));
    expect(refusalOf(await refunded.inbox.undo(await refunded.found(), REAL))).toBe('the refund re_2 takes its money');
    expect(await refunded.state()).toBe('attached');
  });
});

describe('returning', () => {
  it('asks the treasury for one payout to the address that paid', async () => {
    const { made, inbox, found, settlement, context } = await world();
    expect(await inbox.giveBack(await found(), { ...REAL, acknowledgedSender: false })).toMatchObject({
      ok: true,
      state: { value: 'returning' },
    });
    expect(made.returns.requests).toMatchObject([
      { toAddress: '0xPayer', amount: '10.00', deposit: { depositKey: KEY, derivationIndex: 1 } },
    ]);
    expect(finalOf(await context(SOURCE), 'USDT')).toBe(0n);
    made.returns.outcome = { kind: 'paid', txHash: '0xpaid' };
    expect(await settlement.settle('test', KEY)).toMatchObject({ state: { value: 'returned' } });
    expect(refusalOf(await inbox.undo(await found(), REAL))).toContain('cannot be undone');
  });

  it('that fails, or is cancelled in time, leaves the money where it was', async () => {
    for (const how of ['failed', 'cancelled'] as const) {
      const { made, inbox, found, settlement, context } = await world();
      await inbox.giveBack(await found(), { ...REAL, acknowledgedSender: false });
      if (how === 'failed') made.returns.outcome = { kind: 'failed', reason: 'recipient_frozen' };
      const settled = how === 'failed' ? await settlement.settle('test', KEY) : await inbox.undo(await found(), REAL);
      expect(settled).toMatchObject({ state: { value: 'open' } });
      expect(refundable(await context(SOURCE), 'USDT')).toBe(10n * 10n ** 18n);
      expect(made.balance('unmatched')).toBe('0');
    }
  });

  it('that is already signed cannot be cancelled, and continues', async () => {
    const { made, inbox, found, state } = await world();
    await inbox.giveBack(await found(), { ...REAL, acknowledgedSender: false });
    made.returns.cancelRefusal = 'rtn_1 was signed and may land';
    expect(refusalOf(await inbox.undo(await found(), REAL))).toBe('rtn_1 was signed and may land');
    expect(await state()).toBe('returning');
  });
});

describe('two operators', () => {
  it('who attach and return at the same time from two processes: one wins, the other gets an error', async () => {
    const { made } = await world();
    const [one, other] = [made.process(), made.process()];
    const outcomes = await Promise.all([
      one.inbox.attach(await one.found(), TARGET, REAL),
      other.inbox.giveBack(await other.found(), { ...REAL, acknowledgedSender: false }),
    ]);
    expect(outcomes.filter(({ ok }) => ok)).toHaveLength(1);
    const held = (await made.process().context(TARGET)).paid !== null;
    expect([held, made.returns.requests.length]).toEqual(outcomes[0].ok ? [true, 0] : [false, 1]);
    expect(made.balance('unmatched')).toBe(outcomes[0].ok ? '0' : '-10');
  });
});

describe('a process that is killed while it carries out a decision', () => {
  const acts = {
    attach: (process: ReturnType<World['process']>, found: FoundTransfer) => process.inbox.attach(found, TARGET, REAL),
    return: (process: ReturnType<World['process']>, found: FoundTransfer) =>
      process.inbox.giveBack(found, { ...REAL, acknowledgedSender: false }),
  };

  it.each(
    Object.keys(acts).flatMap((act) =>
      [1, 2, 3, 4].flatMap((append) =>
        [true, false].map((durable) => [act as keyof typeof acts, append, durable] as const),
      ),
    ),
  )('at %s, append %i (durable: %s), leaves one whole decision or none', async (act, append, durable) => {
    const { made } = await world({ dueAmount: '25.00', amount: '25.00' });
    const first = made.process();
    const found = await first.found();
    made.store.arm({ append, durable });
    await acts[act](first, found).catch(() => undefined);
    made.store.arm(null);
    const second = made.process();
    await second.settlement.settle('test', KEY);
    const value = (await second.transfers.read(transferStream('test', KEY)))?.value ?? 'absent';
    const [source, target] = [await second.context(SOURCE), await second.context(TARGET)];
    const units = 10n * 10n ** 18n;
    const expected = { attached: [0n, units], returning: [0n, 0n], absent: [units, 0n] } as const;
    expect([value, finalOf(source, 'USDT'), arrived(target)]).toEqual([
      value,
      ...expected[value as keyof typeof expected],
    ]);
    expect(made.returns.requests.length).toBe(value === 'returning' ? 1 : 0);
    made.books();
  });

  it.each([1, 2, 3, 4].flatMap((append) => [true, false].map((durable) => [append, durable] as const)))(
    'at undo, append %i (durable: %s), gives the money back once',
    async (append, durable) => {
      const { made, inbox, found } = await world({ dueAmount: '25.00', amount: '25.00' });
      await inbox.attach(await found(), TARGET, REAL);
      const first = made.process();
      const again = await first.found();
      made.store.arm({ append, durable });
      await first.inbox.undo(again, REAL).catch(() => undefined);
      made.store.arm(null);
      const second = made.process();
      await second.settlement.settle('test', KEY);
      const value = (await second.transfers.read(transferStream('test', KEY)))!.value;
      const [source, target] = [await second.context(SOURCE), await second.context(TARGET)];
      const units = 10n * 10n ** 18n;
      expect([finalOf(source, 'USDT'), arrived(target)]).toEqual(value === 'attached' ? [0n, units] : [units, 0n]);
      expect(['attached', 'open']).toContain(value);
      made.books();
    },
  );
});
