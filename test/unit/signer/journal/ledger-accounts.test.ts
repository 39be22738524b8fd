import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LEDGER_BALANCES_TABLE } from '../../../../projections/ledger/rows.ts';
import { payableTo } from '../../../../src/domain/money/ledger.ts';
import { formatAmount, signedAmountOf } from '../../../../src/domain/money/money.ts';
import type { DomainEvent } from '../../../../src/domain/events/domain-event.ts';
import type { MoveRequested } from '../../../../src/domain/events/treasury-move-events.ts';
import { adjustmentTerms, hashOf } from '../../../../src/signer/approvals/text.ts';
import { adjustmentsStream, sessionStream, treasuryStream } from '../../../../src/domain/values/streams.ts';
import { orderOf } from '../../../../src/features/payouts/moves/order.ts';
import type { AuditAnchor } from '../../../../src/ports/event-log/audit.ts';
import type { RecordedEvent } from '../../../../src/ports/event-log/event-store.ts';
import type { OutgoingTransaction } from '../../../../src/ports/outgoing/transaction.ts';
import { LedgerAccounts } from '../../../../src/signer/journal/ledger-accounts.ts';
import type { JournalEntry } from '../../../../src/signer/journal/journal.ts';
import { MemoryBooks } from '../../../support/books.ts';
import { historyOf, ownerOf, sessionIdOf, steps } from '../../../support/random-history.ts';
import { MERCHANT_ID } from '../../../support/session-facts.ts';
import { rootOf } from '../../../support/signed-export.ts';
import {
  paidOrder,
  recorded,
  settlementEvent,
  settlementTerms,
  type StreamEvent,
} from '../../../support/settlement-log.ts';

/* What the signer lets merchants have, from events alone. */

const anchorOf = (events: readonly RecordedEvent[]): AuditAnchor => ({
  size: events.length,
  rootHash: rootOf(events).toString('base64'),
  checkpoint: '',
});

function accountsOf(events: readonly StreamEvent[], anchors: readonly AuditAnchor[] = []): LedgerAccounts {
  const accounts = new LedgerAccounts(() => anchors);
  expect(accounts.take(0, recorded(events))).toEqual({ size: events.length, fault: null });
  return accounts;
}

const order = (amount: string, change: Partial<OutgoingTransaction> = {}): OutgoingTransaction => {
  return { ...orderOf({ kind: 'settlement', terms: settlementTerms('stl_1', amount) }), ...change };
};
const signed = (moveId: string): JournalEntry =>
  ({
    kind: 'signed',
    purpose: 'settlement',
    network: 'ethereum',
    id: moveId,
    coin: 'USDT',
    units: '1',
  }) as unknown as JournalEntry;

describe('the debt to unknown senders of native coin', () => {
  const treasury = treasuryStream('test', 'ethereum');
  const event = (type: string, data: object): StreamEvent => [treasury, { type, data } as unknown as DomainEvent];
  const found = (amount: string): StreamEvent =>
    event('NativeCoinFound', {
      mode: 'test',
      network: 'ethereum',
      coin: 'ETH',
      amount,
      address: '0xA',
      sessionId: 'cs_a',
      blockNumber: 1,
      foundAtSec: 1,
    });
  const moveTerms = (moveId: string, change: Partial<MoveRequested>): MoveRequested =>
    settlementTerms(moveId, '0.5', { coin: 'ETH', merchantId: null, ...change });
  const transfer = { txHash: '0xcame', toAddress: '0xA', derivationIndex: 1 };
  const back = (amount: string): OutgoingTransaction =>
    orderOf({ kind: 'native_return', terms: moveTerms('nrt_1', { amount, transfer }) });
  const block = { txHash: '0xs', blockNumber: 2, blockHash: '0xb', blockTimeSec: 2, completedAtSec: 2, feeCoin: 'ETH' };

  it('is what was found, less what was returned or is being returned, with its fee', () => {
    expect(accountsOf([]).refusal(back('0.1'), [])).toMatchObject({ code: 'exceeds_account' });
    expect(accountsOf([found('1')]).refusal(back('1'), [])).toBeNull();
    const asked = event('NativeReturnRequested', moveTerms('nrt_0', { amount: '0.4', transfer }));
    const done = event('NativeReturnCompleted', {
      ...moveTerms('nrt_0', { amount: '0.4', transfer }),
      ...block,
      networkFee: '0.1',
      feeAddress: '0xT',
    });
    expect(accountsOf([found('1'), asked]).refusal(back('0.61'), [])).toMatchObject({ code: 'exceeds_account' });
    const after = accountsOf([found('1'), asked, done]);
    expect([after.refusal(back('0.5'), []), after.refusal(back('0.51'), [])?.code]).toEqual([null, 'exceeds_account']);
  });

  it('holds what the fee of a sweep burnt before it was found', () => {
    const sweep = (networkFee: string): StreamEvent =>
      event('SweepCompleted', {
        ...settlementTerms('swp_1', '5', { merchantId: null, fromAddress: '0xA', derivationIndex: 1 }),
        ...block,
        networkFee,
        feeAddress: '0xA',
      });
    expect(accountsOf([sweep('0.2')]).refusal(back('0.2'), [])).toBeNull();
    const burnt = accountsOf([found('0.15'), sweep('0.2')]);
    expect([burnt.refusal(back('0.2'), []), burnt.refusal(back('0.21'), [])?.code]).toEqual([null, 'exceeds_account']);
  });

  it('stops if the log lacks a signed return', () => {
    expect(
      accountsOf([found('1')]).refusal(back('0.1'), [{ ...signed('nrt_0'), purpose: 'native_return' } as JournalEntry]),
    ).toMatchObject({
      ...{ kind: 'stopped', code: 'ledger_disagrees' },
    });
  });
});

describe('a manual entry', () => {
  const terms = (amount: string, account = payableTo(MERCHANT_ID)) => ({
    ...({
      adjustmentId: 'adj_1',
      mode: 'test',
      network: 'ethereum',
      coin: 'USDT',
      reason: 'goodwill',
      attachment: null,
      reverses: null,
    } as const),
    lines: [
      { account: 'expenses:other', amount },
      { account, amount: amount.startsWith('-') ? amount.slice(1) : `-${amount}` },
    ],
  });
  const posted = (adjustment: ReturnType<typeof terms>): StreamEvent => {
    const data = { ...adjustment, proposedBy: 'ada', approvers: ['ben', 'cleo'], reversesEvent: null, postedAtSec: 1 };
    return [adjustmentsStream('test'), { type: 'AdjustmentPosted', data }];
  };
  const agreed = (adjustment: ReturnType<typeof terms>, ...names: string[]): JournalEntry[] => {
    const hash = hashOf(adjustmentTerms(adjustment));
    const approved = names.map((approver) => ({ kind: 'approved', terms: hash, proposedBy: 'ada', approver }));
    const entries = names.length < 2 ? approved : [...approved, { kind: 'agreed', terms: hash, approvers: names }];
    return entries as unknown as JournalEntry[];
  };

  it('gives to a merchant only what two people agreed to before this signer, whatever the log says', () => {
    const accounts = accountsOf([...paidOrder(0), posted(terms('5'))]);
    expect(accounts.refusal(order('10'), [])).toBeNull();
    expect(accounts.refusal(order('10.01'), [])).toMatchObject({ code: 'exceeds_account' });
    expect(accounts.refusal(order('15'), agreed(terms('5'), 'ben'))).toMatchObject({ code: 'exceeds_account' });
    expect(accounts.refusal(order('15'), agreed(terms('6'), 'ben', 'cleo'))).toMatchObject({ code: 'exceeds_account' });
    expect(accounts.refusal(order('15'), agreed(terms('5'), 'ben', 'cleo'))).toBeNull();
    expect(accounts.refusal(order('15.01'), agreed(terms('5'), 'ben', 'cleo'))).toMatchObject({
      code: 'exceeds_account',
    });
  });

  it('takes from a merchant at once, and does not change other accounts', () => {
    const less = accountsOf([...paidOrder(0), posted(terms('-5'))]);
    expect([less.refusal(order('5'), []), less.refusal(order('5.01'), [])?.code]).toEqual([null, 'exceeds_account']);
    const others = accountsOf([...paidOrder(0), posted(terms('-5', 'income:other'))]);
    expect(others.refusal(order('10'), [])).toBeNull();
  });
});

describe("a merchant's account", () => {
  it('holds what the events say, and not a unit more', () => {
    const accounts = accountsOf([...paidOrder(0), ...paidOrder(1)]);
    expect(accounts.refusal(order('20'), [])).toBeNull();
    expect(accounts.refusal(order('20.000000000000000001'), [])).toMatchObject({ code: 'exceeds_account' });
    expect(accounts.refusal(order('1100'), [])?.message).toContain('the books owe the merchant 20.00 USDT on ethereum');
  });

  it.each([
    ['another merchant', { merchantId: 'mer_bbbbbbbbbbbbbbbbbbbb' as never }],
    ['another mode', { mode: 'live' as const }],
    ['another network', { network: 'bsc' as const }],
    ['another coin', { coin: 'USDC' as const }],
  ])('pays nothing for %s', (_, change) => {
    expect(accountsOf(paidOrder(0)).refusal(order('0.01', change), [])).toMatchObject({ code: 'exceeds_account' });
  });

  it('does not pay what is already on its way to the merchant, but does not count a settlement against itself', () => {
    const asked = (id: string, amount: string) => settlementEvent('SettlementRequested', settlementTerms(id, amount));
    const accounts = accountsOf([...paidOrder(0), asked('stl_1', '6'), asked('stl_2', '4')]);
    expect(accounts.refusal(order('6'), [])).toBeNull();
    expect(accounts.refusal(order('6.01'), [])).toMatchObject({ code: 'exceeds_account' });
    expect(accounts.refusal(order('0.01', { id: 'stl_3' }), [])).toMatchObject({ code: 'exceeds_account' });
  });

  it('is less by what was settled, and whole again after what failed', () => {
    const terms = settlementTerms('stl_0', '7');
    const asked = settlementEvent('SettlementRequested', terms);
    const settled = accountsOf([...paidOrder(0), asked, settlementEvent('SettlementCompleted', terms)]);
    expect([settled.refusal(order('3'), []), settled.refusal(order('3.01'), [])?.code]).toEqual([
      null,
      'exceeds_account',
    ]);
    expect(
      accountsOf([...paidOrder(0), asked, settlementEvent('SettlementFailed', terms)]).refusal(order('10'), []),
    ).toBeNull();
  });

  it('stops if the log lacks a signed settlement', () => {
    expect(accountsOf(paidOrder(0)).refusal(order('1'), [signed('stl_0')])).toMatchObject({
      kind: 'stopped',
      code: 'ledger_disagrees',
    });
    const known = accountsOf([...paidOrder(0), settlementEvent('SettlementRequested', settlementTerms('stl_0', '7'))]);
    expect(known.refusal(order('3'), [signed('stl_0')])).toBeNull();
  });

  it('stops if events differ from those under a signed checkpoint, or are missing', () => {
    const genuine = recorded(paidOrder(0));
    const forged = recorded([...paidOrder(0).slice(0, 3), ...paidOrder(1)]);
    const accounts = new LedgerAccounts(() => [anchorOf(genuine)]);
    expect(accounts.take(0, forged).fault).toContain('the first 4 events of the event log are not the signed ones');
    expect(accounts.refusal(order('1'), [])).toMatchObject({ kind: 'stopped', code: 'ledger_disagrees' });
    const behind = new LedgerAccounts(() => [anchorOf(genuine)]);
    behind.take(0, genuine.slice(0, 3));
    expect(behind.refusal(order('1'), [])).toMatchObject({ kind: 'later', code: 'ledger_behind' });
    behind.take(3, genuine.slice(3));
    expect(behind.refusal(order('10'), [])).toBeNull();
  });

  it('stops if a later checkpoint contradicts it', () => {
    let anchors: readonly AuditAnchor[] = [];
    const accounts = new LedgerAccounts(() => anchors);
    accounts.take(0, recorded([...paidOrder(1), ...paidOrder(2)]));
    expect(accounts.refusal(order('20'), [])).toBeNull();
    anchors = [anchorOf(recorded(paidOrder(0)))];
    expect(accounts.refusal(order('1'), [])).toMatchObject({ code: 'ledger_disagrees' });
  });

  it('accepts each event once, in order', () => {
    const accounts = accountsOf(paidOrder(0));
    expect(accounts.take(0, recorded(paidOrder(0)))).toEqual({ size: 4, fault: null });
    expect(accounts.take(5, recorded(paidOrder(1)))).toEqual({ size: 4, fault: null });
    expect(accounts.refusal(order('10.01'), [])).toMatchObject({ code: 'exceeds_account' });
  });

  it('stops at a history that cannot be booked', () => {
    const accounts = new LedgerAccounts();
    expect(accounts.take(0, recorded(paidOrder(0).slice(1))).fault).toContain(
      'event 1 of the event log cannot be booked',
    );
    expect(accounts.refusal(order('1'), [])).toMatchObject({ kind: 'stopped' });
  });

  it('agrees with the books, whatever happens to sessions', () => {
    fc.assert(
      fc.property(steps, (drawn) => {
        const { entries } = historyOf(drawn);
        const books = new MemoryBooks();
        for (const entry of entries) books.takeEntry(entry);
        const accounts = new LedgerAccounts();
        accounts.take(
          0,
          recorded(entries.map(({ session, event }): StreamEvent => [sessionStream(sessionIdOf(session)), event])),
        );
        for (const index of [0, 1, 2]) {
          const { merchantId, mode } = ownerOf(index);
          for (const [key, row] of books.tables.get(LEDGER_BALANCES_TABLE) ?? []) {
            const [of, account, network, coin] = [row['mode'], row['account'], row['network'], row['coin']] as string[];
            if (of !== mode || account !== payableTo(merchantId)) continue;
            const owed = -signedAmountOf(row['balance'] as string);
            const ask = (units: bigint) =>
              accounts.refusal(
                order(formatAmount(units), { mode, merchantId, network: network as never, coin: coin as never }),
                [],
              );
            if (owed > 0n) expect(ask(owed), key).toBeNull();
            expect(ask((owed > 0n ? owed : 0n) + 1n), key).toMatchObject({ code: 'exceeds_account' });
          }
        }
      }),
      { numRuns: 40 },
    );
  });

  it('is that of the merchant who is named', () => {
    expect(accountsOf(paidOrder(0, MERCHANT_ID)).refusal(order('1', { merchantId: null }), [])).toMatchObject({
      code: 'no_merchant',
    });
  });
});
