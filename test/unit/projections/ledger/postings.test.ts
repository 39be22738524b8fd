import type { SessionId } from '../../../../src/domain/values/ids.ts';
import { describe, expect, it } from 'vitest';
import { fiatValueOf } from '../../../../projections/ledger/fiat-value.ts';
import { LEDGER_NEWEST_BLOCKS_TABLE } from '../../../../projections/ledger/rows.ts';
import { openSessionBooks } from '../../../../projections/ledger/session-books.ts';
import { bookTreasuryEvent } from '../../../../projections/ledger/treasury-postings.ts';
import type { DomainEventType } from '../../../../src/domain/events/domain-event.ts';
import type { DepositKind, SessionEvent } from '../../../../src/domain/events/session-events.ts';
import type { MoveCompleted, MoveFailed, OutflowFacts } from '../../../../src/domain/events/treasury-move-events.ts';
import type { TreasuryEvent } from '../../../../src/domain/events/treasury-events.ts';
import { imbalanceOf, type Posting } from '../../../../src/domain/money/ledger.ts';
import { formatAmount } from '../../../../src/domain/money/money.ts';
import { EVENT_TYPES } from '../../../../src/runtime/commands/event-versions.ts';
import { MemoryBooks } from '../../../support/books.ts';
import {
  createdFacts,
  depositFacts,
  CREATED_AT,
  MERCHANT_ID,
  sessionPaid,
  depositReverted,
  depositDetected,
  depositConfirmed,
} from '../../../support/session-facts.ts';
import { sessionIdOf } from '../../../support/random-history.ts';

const HOUR_MS = 3_600_000;
const AT_MS = CREATED_AT * 1000;

/**
 * Where each event of the ledger is booked. A new event does not compile until somebody says here what it does to
 * money.
 */
const BOOKED_BY = {
  SessionCreated: 'session',
  DepositDetected: 'session',
  DepositConfirmed: 'session',
  DepositReverted: 'session',
  SessionPaid: 'session',
  ...{ CoinChosen: 'session' },
  SessionExpired: 'session',
  SessionFailed: 'session',
  SessionCancelled: 'session',
  SessionDeadlineMoved: 'session',
  RefundRequested: 'session',
  RefundPayoutSigned: 'session',
  RefundPayoutReplaced: 'session',
  RefundPayoutLanded: 'session',
  RefundPayoutReverted: 'session',
  RefundPayoutFailed: 'session',
  ...{ RefundCompleted: 'session', RefundFailed: 'session' },
  MerchantRegistered: 'nothing',
  ApiKeyIssued: 'nothing',
  ApiKeyRestricted: 'nothing',
  ApiKeyUsed: 'nothing',
  ApiKeyRevoked: 'nothing',
  WebhookEndpointSet: 'nothing',
  WebhookSecretRotated: 'nothing',
  WebhookEndpointSuspended: 'nothing',
  WebhookEndpointResumed: 'nothing',
  DomainAdded: 'nothing',
  DomainRemoved: 'nothing',
  PolicySet: 'nothing',
  LogoSet: 'nothing',
  MerchantChangeScheduled: 'nothing',
  MerchantChangeWithdrawn: 'nothing',
  MerchantChangeApplied: 'nothing',
  ChangeDelaySet: 'nothing',
  SettlementAddressSet: 'nothing',
  DeliveryScheduled: 'nothing',
  DeliveryAttempted: 'nothing',
  DeliverySucceeded: 'nothing',
  DeliveryExhausted: 'nothing',
  DeliveryRejected: 'nothing',
  DeliveryBlocked: 'nothing',
  RedeliveryRequested: 'nothing',
  SecretGenerated: 'nothing',
  AddressRangeLeased: 'nothing',
  AddressSourceDeclared: 'nothing',
  AddressSourceJudged: 'nothing',
  RangeScanned: 'nothing',
  ChainReplaced: 'nothing',
  RequestAccepted: 'nothing',
  ...{ RequestAnswered: 'nothing', OperatorActed: 'nothing', EventLogRestored: 'nothing' },
  CheckpointSigned: 'nothing',
  PeriodClosed: 'period',
  DocumentIssued: 'nothing',
  StatementIssued: 'nothing',
  BookRatesRecorded: 'nothing',
  PaymentLinkCreated: 'nothing',
  PaymentLinkUsed: 'nothing',
  PaymentLinkUseEnded: 'nothing',
  PaymentLinkSwitchedOff: 'nothing',
  ...{ CanaryPaymentStarted: 'nothing', CanaryPaymentEnded: 'nothing' },
  ...{ AdjustmentProposed: 'adjustment', AdjustmentPosted: 'adjustment', AdjustmentRejected: 'adjustment' },
  PayoutSequenceReserved: 'treasury',
  PayoutSequenceReleased: 'treasury',
  PayoutSequenceSigned: 'treasury',
  JournalPlaceMoved: 'treasury',
  MoveSequenceReserved: 'treasury',
  MoveSequenceReleased: 'treasury',
  SweepRequested: 'treasury',
  SweepSigned: 'treasury',
  SweepCompleted: 'treasury',
  SweepFailed: 'treasury',
  GasTopUpRequested: 'treasury',
  GasTopUpSigned: 'treasury',
  GasTopUpCompleted: 'treasury',
  GasTopUpFailed: 'treasury',
  WithdrawalRequested: 'treasury',
  WithdrawalApproved: 'treasury',
  WithdrawalSigned: 'treasury',
  WithdrawalCompleted: 'treasury',
  WithdrawalFailed: 'treasury',
  SettlementRequested: 'treasury',
  SettlementApproved: 'treasury',
  SettlementSigned: 'treasury',
  SettlementCompleted: 'treasury',
  SettlementFailed: 'treasury',
  TreasuryFunded: 'treasury',
  NativeCoinFound: 'treasury',
  UnknownOutflowFound: 'treasury',
  UnknownOutflowAcknowledged: 'treasury',
  TreasuryReconciled: 'treasury',
  ReturnRequested: 'treasury',
  ReturnApproved: 'treasury',
  ReturnSigned: 'treasury',
  ReturnCompleted: 'treasury',
  ReturnFailed: 'treasury',
  NonceAccountRequested: 'treasury',
  NativeReturnRequested: 'treasury',
  NativeReturnApproved: 'treasury',
  NativeReturnSigned: 'treasury',
  NativeReturnCompleted: 'treasury',
  ...{ NativeReturnFailed: 'treasury' },
  ...{ NonceAccountSigned: 'treasury', NonceAccountCompleted: 'treasury', NonceAccountFailed: 'treasury' },
  DepositSetAside: 'session',
  DepositPutBack: 'session',
  TransferCredited: 'session',
  TransferCreditReversed: 'session',
  ...{ TransferGivenUp: 'nothing' },
  TransferRecorded: 'transfer',
  TransferAttachRequested: 'transfer',
  TransferAttached: 'transfer',
  TransferReturnRequested: 'transfer',
  TransferReturned: 'transfer',
  TransferUndoRequested: 'transfer',
  TransferUndoRefused: 'transfer',
  TransferReopened: 'transfer',
  PersonInvited: 'nothing',
  JoinLinkIssued: 'nothing',
  PersonProvisioned: 'nothing',
  SignedInBySso: 'nothing',
  RecoveryRequested: 'nothing',
  RecoveryRefused: 'nothing',
  PasskeyAdded: 'nothing',
  PasskeyRemoved: 'nothing',
  RolesChanged: 'nothing',
  PersonSuspended: 'nothing',
  PersonReinstated: 'nothing',
  SignedIn: 'nothing',
  SignedOut: 'nothing',
  ActionTaken: 'nothing',
} as const satisfies Record<DomainEventType, 'session' | 'treasury' | 'transfer' | 'adjustment' | 'period' | 'nothing'>;

const shown = (postings: readonly Posting[]): string[] =>
  postings.map(
    ({ account, network, coin, units, address }) =>
      `${account} ${network} ${formatAmount(units)} ${coin}${address ? ` @${address}` : ''}`,
  );

class Story {
  readonly books = new MemoryBooks();
  #atMs = AT_MS;

  add(...events: readonly SessionEvent[]): this {
    for (const event of events) this.books.takeEntry({ session: 0, event, atMs: (this.#atMs += HOUR_MS) });
    return this;
  }

  /** The last entry's lines, without the merchant's long name. */
  last(): string[] {
    const { kind, lines } = this.books.entries('test').at(-1)!;
    return [
      kind,
      ...lines.map(
        ({ account, network, coin, amount }) =>
          `${account.replace(`liabilities:merchants:${MERCHANT_ID}:`, '')} ${network} ${amount} ${coin}`,
      ),
    ];
  }

  balance(account: string, coin = 'USDT'): string {
    return this.books.balances().find((row) => row.account.endsWith(account) && row.coin === coin)?.balance ?? '0';
  }
}

const created: SessionEvent = { type: 'SessionCreated', data: createdFacts({ sessionId: sessionIdOf(0) }) };
const detected = (change: Parameters<typeof depositFacts>[0] = {}, kind: DepositKind = 'on_time'): SessionEvent =>
  depositDetected(depositFacts(change), kind);
const confirmed = (change: Parameters<typeof depositFacts>[0] = {}): SessionEvent =>
  depositConfirmed(depositFacts(change));
const paid = (received: string): SessionEvent => sessionPaid({ received, paidAtSec: CREATED_AT + 90 });
const refund = (amount: string, refundId = 're_1', { depositKey } = depositFacts()): SessionEvent => ({
  type: 'RefundRequested',
  data: {
    refundId: refundId as never,
    coin: 'USDT',
    amount,
    asked: null,
    namedDeposit: null,
    refundType: 'partial',
    legs: [
      {
        legId: 'leg-1',
        network: 'ethereum',
        coin: 'USDT',
        toAddress: '0xPayer',
        amount,
        takenFrom: [{ depositKey, amount }],
      },
    ],
    requestedAtSec: CREATED_AT + 100,
    reason: null,
    idempotencyStream: null,
    acknowledgedSender: false,
  },
});
const leg = { refundId: 're_1' as never, legId: 'leg-1' };
const signed: SessionEvent = {
  type: 'RefundPayoutSigned',
  data: {
    ...leg,
    attempt: 1,
    txHash: '0xout',
    signedBytes: '0x',
    fromAddress: '0xTreasury',
    validity: { kind: 'evm-nonce', nonce: 1, maxFeePerGas: '1' },
    signedAtSec: CREATED_AT,
  },
};
const landed: SessionEvent = {
  type: 'RefundPayoutLanded',
  data: {
    ...leg,
    txHash: '0xout',
    blockNumber: 7,
    blockHash: '0xb',
    blockTimeSec: CREATED_AT + 200,
    networkFee: '0.002',
    landedAtSec: CREATED_AT + 210,
  },
};

it('money from an address of ours is the operator’s, not the merchant’s, and goes again with its block', () => {
  const story = new Story().add(created, detected({}, 'own'), confirmed());
  expect(story.last()).toEqual([
    'deposit',
    'assets:deposit-wallets ethereum 10 USDT',
    'equity:operator-funding ethereum -10 USDT',
  ]);
  story.add(depositReverted(depositFacts().depositKey));
  expect([story.balance('assets:deposit-wallets'), story.balance('operator-funding')]).toEqual(['0', '0']);
  const other = depositFacts({ depositKey: 'ethereum:0x9:0', amount: '3.00' });
  story.add(detected({}, 'own'), confirmed(), depositDetected(other, 'late'), depositConfirmed(other));
  story.add(refund('3.00', 're_1', other));
  expect(story.balance(':unapplied')).toBe('0');
});

describe('a posting rule', () => {
  it('exists for every event in the log', () => {
    expect(Object.keys(BOOKED_BY).sort()).toEqual([...EVENT_TYPES].sort());
  });

  it('books a deposit when it is final, and applies to the order only what is due', () => {
    const story = new Story().add(created, detected({ amount: '12.00' }));
    expect(story.last()).toEqual(['deposit_seen']);
    expect(story.add(confirmed({ amount: '12.00' })).last()).toEqual([
      'deposit',
      'assets:deposit-wallets ethereum 12 USDT',
      'unapplied ethereum -12 USDT',
    ]);
    expect(story.add(paid('12.00')).last()).toEqual([
      'payment',
      'payable ethereum -10 USDT',
      'unapplied ethereum 10 USDT',
    ]);
    expect([story.balance('payable'), story.balance('unapplied')]).toEqual(['-10', '-2']);
  });

  it('remembers the newest block with booked money of each network, not one that was only seen', () => {
    const bsc = { network: 'bsc', txHash: '0x02', blockNumber: 80 } as const;
    const story = new Story().add(created, detected({ blockNumber: 999 }), confirmed({ blockNumber: 100 }));
    story.add(
      detected(bsc),
      confirmed(bsc),
      detected({ txHash: '0x03' }),
      confirmed({ txHash: '0x03', blockNumber: 90 }),
    );
    story.add(depositReverted('bsc:0x02:0', { headNumber: 99, revertedAtSec: CREATED_AT }));
    const newest = story.books.tables.get(LEDGER_NEWEST_BLOCKS_TABLE)!;
    expect(Object.fromEntries(newest)).toEqual({
      'test/ethereum': { blockNumber: 100 },
      'test/bsc': { blockNumber: 80 },
    });
  });

  it('books an order that was paid on two networks from both', () => {
    const bsc = { network: 'bsc', txHash: '0x02', amount: '4.00' } as const;
    const story = new Story().add(
      created,
      detected({ amount: '6.00' }),
      confirmed({ amount: '6.00' }),
      detected(bsc),
      confirmed(bsc),
      paid('10.00'),
    );
    expect(story.last()).toEqual([
      'payment',
      ...['payable ethereum -6 USDT', 'unapplied ethereum 6 USDT', 'payable bsc -4 USDT', 'unapplied bsc 4 USDT'],
    ]);
  });

  it('never applies late money or another coin', () => {
    const late = { txHash: '0x02', amount: '5.00' };
    const other = { txHash: '0x03', amount: '7.00', coin: 'USDC' } as const;
    const story = new Story().add(
      created,
      detected(late, 'late'),
      confirmed(late),
      detected(other, 'wrong_coin'),
      confirmed(other),
    );
    story.add(detected(), confirmed(), paid('10.00'));
    expect([story.balance('payable'), story.balance('unapplied'), story.balance('unapplied', 'USDC')]).toEqual([
      '-10',
      '-5',
      '-7',
    ]);
  });

  it('takes a refund first from what pays no order, and its gas from the operator', () => {
    const story = new Story().add(
      created,
      detected({ amount: '12.00' }),
      confirmed({ amount: '12.00' }),
      paid('12.00'),
      refund('3.00'),
    );
    expect(story.last()).toEqual([
      'refund_reserved',
      'unapplied ethereum 2 USDT',
      'payable ethereum 1 USDT',
      'refunds-reserved ethereum -3 USDT',
    ]);
    expect(story.add(signed, landed).last()).toEqual([
      'refund_paid',
      ...[
        'refunds-reserved ethereum 3 USDT',
        'assets:treasury ethereum -3 USDT',
        'expenses:network-fees ethereum 0.002 ETH',
        'assets:treasury ethereum -0.002 ETH',
      ],
    ]);
  });

  it('gives back to where it came from what a refund could not pay out, and keeps the fee of the attempt', () => {
    const story = new Story().add(
      created,
      detected({ amount: '12.00' }),
      confirmed({ amount: '12.00' }),
      paid('12.00'),
      refund('3.00'),
      signed,
    );
    story.add({
      type: 'RefundPayoutFailed',
      data: { ...leg, reason: 'execution_reverted', networkFee: '0.001', failedAtSec: CREATED_AT + 300 },
    });
    expect(story.last()).toEqual([
      'refund_released',
      ...['unapplied ethereum -2 USDT', 'payable ethereum -1 USDT', 'refunds-reserved ethereum 3 USDT'],
      ...['expenses:network-fees ethereum 0.001 ETH', 'assets:treasury ethereum -0.001 ETH'],
    ]);
  });

  it('reverses a refund that left the chain, including the fee, and names the entry', () => {
    const story = new Story().add(created, detected(), confirmed(), paid('10.00'), refund('3.00'), signed, landed);
    const original = story.books.entries('test').at(-1)!;
    story.add({ type: 'RefundPayoutReverted', data: { ...leg, txHash: '0xout', headNumber: 9 } });
    expect(story.books.entries('test').at(-1)).toMatchObject({ kind: 'refund_unpaid', reverses: original.id });
    expect([story.balance('refunds-reserved'), story.balance(':treasury'), story.balance(':treasury', 'ETH')]).toEqual([
      '-3',
      '0',
      '0',
    ]);
  });
});

describe('the money of a paid order', () => {
  const bsc = { network: 'bsc', txHash: '0x02', amount: '12.00' } as const;
  const final = (
    change: Parameters<typeof depositFacts>[0] = {},
    kind: 'on_time' | 'late' = 'on_time',
  ): SessionEvent[] => [detected(change, kind), confirmed(change)];
  const reverted = (change: Parameters<typeof depositFacts>[0] = {}): SessionEvent =>
    depositReverted(depositFacts(change).depositKey);
  const owed = (story: Story): Record<string, string> =>
    Object.fromEntries(
      story.books
        .balances()
        .filter(({ account, balance }) => account.startsWith('liabilities:') && balance !== '0')
        .map(({ account, network, balance }) => [`${account.split(':').at(-1)} ${network}`, balance]),
    );

  it('leaves the order when the chain reverts it, and is the order’s again when it is back', () => {
    const story = new Story().add(created, ...final({ amount: '12.00' }), paid('12.00'), reverted());
    expect(story.last()).toEqual([
      'deposit_reversed',
      ...[
        'assets:deposit-wallets ethereum -12 USDT',
        'unapplied ethereum 12 USDT',
        'payable ethereum 10 USDT',
        'unapplied ethereum -10 USDT',
      ],
    ]);
    expect(owed(story)).toEqual({});
    story.add(...final({ amount: '12.00' }));
    expect(story.last()).toEqual(['payment_restored', 'payable ethereum -10 USDT', 'unapplied ethereum 10 USDT']);
    const [deposit, restored] = story.books.entries('test').slice(-2);
    expect(deposit).toMatchObject({
      kind: 'deposit',
      id: restored!.id,
      chainTimeSec: restored!.chainTimeSec,
      days: restored!.days,
    });
    expect(owed(story)).toEqual({ 'payable ethereum': '-10', 'unapplied ethereum': '-2' });
  });

  it('is made up by whichever transfer comes in time, up to what is due and not a unit more', () => {
    const story = new Story().add(created, ...final({ amount: '10.00' }), paid('10.00'), reverted(), ...final(bsc));
    expect(owed(story)).toEqual({ 'payable bsc': '-10', 'unapplied bsc': '-2' });
    story.add(...final());
    expect(story.last()).toEqual(['deposit', 'assets:deposit-wallets ethereum 10 USDT', 'unapplied ethereum -10 USDT']);
  });

  it('is made up at once by what was over on another network', () => {
    const story = new Story().add(created, ...final(), ...final(bsc), paid('22.00'), reverted());
    expect(story.books.entries('test').at(-2)).toMatchObject({ kind: 'deposit_reversed' });
    expect(story.last()).toEqual(['payment_restored', 'payable bsc -10 USDT', 'unapplied bsc 10 USDT']);
  });

  it('is never made up by late money, nor taken from it', () => {
    const late = { txHash: '0x02', amount: '4.00' };
    const story = new Story().add(created, ...final(), paid('10.00'), ...final(late, 'late'), reverted());
    expect(owed(story)).toEqual({ 'unapplied ethereum': '-4' });
    expect(owed(story.add(...final()))).toEqual({ 'payable ethereum': '-10', 'unapplied ethereum': '-4' });
  });

  it('includes what a tolerance allowed to be missing once more money arrives', () => {
    const story = new Story().add(
      created,
      ...final({ amount: '9.99' }),
      paid('9.99'),
      ...final({ txHash: '0x02', amount: '1.00' }),
    );
    expect(owed(story)).toEqual({ 'payable ethereum': '-10', 'unapplied ethereum': '-0.99' });
  });

  it('that a refund paid out is owed by the merchant when the chain reverts the payment, until it is back', () => {
    const story = new Story().add(created, ...final(), paid('10.00'), refund('4.00'), signed, landed, reverted());
    expect(owed(story)).toEqual({ 'unapplied ethereum': '4' });
    expect(owed(story.add(...final()))).toEqual({ 'payable ethereum': '-6' });
  });
});

describe('a refund', () => {
  const first = { txHash: '0x02', amount: '5.00' };
  const second = { txHash: '0x03', amount: '5.00' };
  const { depositKey } = depositFacts(first);
  /**
   * Late money that an operator set aside and the chain then took back: it is owed to the inbox, and by nobody else.
   */
  const lostAside: readonly SessionEvent[] = [
    detected(first, 'late'),
    confirmed(first),
    { type: 'DepositSetAside', data: { depositKey, operation: 1, setAsideAtSec: CREATED_AT + 50 } },
    depositReverted(depositKey),
  ];

  it('of other money of the session takes nothing from the order for what was set aside and lost', () => {
    const story = new Story().add(
      created,
      detected(),
      confirmed(),
      paid('10.00'),
      ...lostAside,
      detected(second, 'late'),
      confirmed(second),
    );
    story.add(refund('5.00', 're_1', depositFacts(second)));
    expect(story.last()).toEqual(['refund_reserved', 'unapplied ethereum 5 USDT', 'refunds-reserved ethereum -5 USDT']);
    expect(story.balance('payable')).toBe('-10');
  });

  it("of the order's payer does not touch the money of others, which is never settled to the merchant", () => {
    const story = new Story().add(
      created,
      detected(),
      confirmed(),
      paid('10.00'),
      detected(second, 'late'),
      confirmed(second),
      refund('5.00'),
    );
    expect(story.last()).toEqual(['refund_reserved', 'payable ethereum 5 USDT', 'refunds-reserved ethereum -5 USDT']);
    expect([story.balance('payable'), story.balance('unapplied')]).toEqual(['-5', '-5']);
    story.add(refund('5.00', 're_2', depositFacts(second)));
    expect(story.last()).toEqual(['refund_reserved', 'unapplied ethereum 5 USDT', 'refunds-reserved ethereum -5 USDT']);
    expect([story.balance('payable'), story.balance('unapplied')]).toEqual(['-5', '0']);
    const failed = { ...leg, reason: 'execution_reverted', networkFee: null, failedAtSec: CREATED_AT + 300 } as const;
    story.add({ type: 'RefundPayoutFailed', data: failed });
    expect([story.balance('payable'), story.balance('unapplied')]).toEqual(['-10', '0']);
    expect(story.add(refund('6.00', 're_3')).last()).toEqual([
      'refund_reserved',
      'payable ethereum 6 USDT',
      'refunds-reserved ethereum -6 USDT',
    ]);
  });

  it("takes the excess before the order's money, and neither from late money", () => {
    const over = { amount: '12.00' };
    const story = new Story().add(
      created,
      detected(over),
      confirmed(over),
      paid('12.00'),
      detected(second, 'late'),
      confirmed(second),
      refund('3.00'),
    );
    expect(story.last()).toEqual([
      'refund_reserved',
      'unapplied ethereum 2 USDT',
      'payable ethereum 1 USDT',
      'refunds-reserved ethereum -3 USDT',
    ]);
    expect([story.balance('payable'), story.balance('unapplied')]).toEqual(['-9', '-5']);
  });

  it('takes nothing from payable if no order was paid: that would be money owed for other orders', () => {
    const story = new Story().add(
      created,
      ...lostAside,
      detected(second, 'late'),
      confirmed(second),
      refund('5.00', 're_1', depositFacts(second)),
    );
    expect(story.last()).toEqual(['refund_reserved', 'unapplied ethereum 5 USDT', 'refunds-reserved ethereum -5 USDT']);
    story.add({
      type: 'RefundPayoutFailed',
      data: { ...leg, reason: 'execution_reverted', networkFee: null, failedAtSec: CREATED_AT + 300 },
    });
    expect(story.last()).toEqual(['refund_released', 'unapplied ethereum -5 USDT', 'refunds-reserved ethereum 5 USDT']);
    expect(story.balance('payable')).toBe('0');
  });

  it('is owed from unapplied where an earlier one was paid out of money that is gone since', () => {
    const gone: SessionEvent = depositReverted(depositKey);
    const bsc = { network: 'bsc', txHash: '0x04', amount: '5.00' } as const;
    const story = new Story().add(
      created,
      detected(first, 'late'),
      confirmed(first),
      refund('5.00', 're_1', depositFacts(first)),
      signed,
      landed,
      gone,
    );
    story.add(
      detected(second, 'late'),
      confirmed(second),
      detected(bsc, 'late'),
      confirmed(bsc),
      refund('5.00', 're_2', depositFacts(second)),
    );
    expect(story.last()).toEqual(['refund_reserved', 'unapplied ethereum 5 USDT', 'refunds-reserved ethereum -5 USDT']);
    expect(story.balance('payable')).toBe('0');
  });
});

describe('the service fee', () => {
  const FEE_KINDS = ['service_fee', 'service_fee_reversed'];
  const ofMerchant = (basisPoints: number, change: Parameters<typeof createdFacts>[0] = {}): SessionEvent => ({
    type: 'SessionCreated',
    data: createdFacts({
      sessionId: sessionIdOf(0),
      policy: { tolerance: '0.05', dustLimit: '0.01', serviceFeeBasisPoints: basisPoints },
      ...change,
    }),
  });
  const bsc = (amount: string) => ({ network: 'bsc', txHash: '0x02', amount }) as const;
  const reverted = (change: Parameters<typeof depositFacts>[0] = {}): SessionEvent =>
    depositReverted(depositFacts(change).depositKey);
  const final = (change: Parameters<typeof depositFacts>[0] = {}): SessionEvent[] => [
    detected(change),
    confirmed(change),
  ];
  const feesOf = (story: Story) => story.books.entries('test').filter(({ kind }) => FEE_KINDS.includes(kind));

  it('is a separate entry next to the payment, on the amount due and not on the excess', () => {
    const story = new Story().add(ofMerchant(75), ...final({ amount: '12.00' }), paid('12.00'));
    expect(story.last()).toEqual([
      'service_fee',
      'payable ethereum 0.075 USDT',
      'income:service-fees ethereum -0.075 USDT',
    ]);
    const [payment, fee] = story.books.entries('test').slice(-2);
    expect(payment).toMatchObject({
      kind: 'payment',
      number: fee!.number - 1,
      id: fee!.id,
      chainTimeSec: fee!.chainTimeSec,
      days: fee!.days,
    });
    expect(fee).toMatchObject({ merchantId: MERCHANT_ID, orderId: 'order-1', sessionId: sessionIdOf(0) });
    expect([story.balance('payable'), story.balance('unapplied'), story.balance('service-fees')]).toEqual([
      '-9.925',
      '-2',
      '-0.075',
    ]);
  });

  it('is nothing, and leaves nothing behind, where none is set or it rounds down to nothing', () => {
    const without = new Story().add(created, ...final(), paid('10.00'), reverted(), ...final());
    expect(feesOf(without)).toEqual([]);
    expect(JSON.stringify([...without.books.tables].map(([name, rows]) => [name, [...rows]]))).not.toMatch(/service/i);
    const tiny = { amount: '0.0001' };
    const dust = new Story().add(ofMerchant(1, { dueAmount: '0.0001' }), ...final(tiny));
    dust.add(
      { ...paid('0.0001'), data: { ...(paid('0.0001') as { data: object }).data, due: '0.0001' } } as SessionEvent,
      reverted(tiny),
    );
    expect(dust.last()[0]).toBe('deposit_reversed');
    expect(feesOf(dust)).toEqual([]);
  });

  it('is on what was received when that was a little less than what was due', () => {
    const story = new Story().add(ofMerchant(1_000), ...final({ amount: '9.970001' }), paid('9.970001'));
    expect(story.last()).toEqual([
      'service_fee',
      'payable ethereum 0.997 USDT',
      'income:service-fees ethereum -0.997 USDT',
    ]);
  });

  it('is shared exactly between the networks that the money came on, with what rounding leaves where most of it is', () => {
    // 0.33% of 10.00 is 0.033; of 4.000005 it is 0.013200(0165), of 5.999995 it is 0.019799(9835).
    const story = new Story().add(
      ofMerchant(33),
      ...final({ amount: '4.000005' }),
      ...final(bsc('5.999995')),
      paid('10.00'),
    );
    expect(story.last()).toEqual([
      'service_fee',
      ...['payable ethereum 0.0132 USDT', 'income:service-fees ethereum -0.0132 USDT'],
      ...['payable bsc 0.0198 USDT', 'income:service-fees bsc -0.0198 USDT'],
    ]);
  });

  it('never takes more from a network than the payment brought there', () => {
    const story = new Story().add(
      ofMerchant(1_000),
      ...final({ amount: '9.999999' }),
      ...final(bsc('0.000000999999999999')),
      paid('9.999999999999999999'),
    );
    expect(story.last()).toEqual([
      'service_fee',
      'payable ethereum 0.999999 USDT',
      'income:service-fees ethereum -0.999999 USDT',
    ]);
  });

  it('has no more decimals than every token of the order', () => {
    const [option] = createdFacts().paymentOptions;
    const coarse = ofMerchant(33, { paymentOptions: [option!, { ...option!, network: 'bsc', decimals: 3 }] });
    const story = new Story().add(coarse, ...final({ amount: '9.99' }), paid('9.99'));
    expect(story.last()[1]).toBe('payable ethereum 0.032 USDT');
  });

  it('is not given back with a refund', () => {
    const story = new Story().add(ofMerchant(100), ...final(), paid('10.00'), refund('10.00'), signed, landed);
    expect(feesOf(story).map(({ kind }) => kind)).toEqual(['service_fee']);
    expect([story.balance('payable'), story.balance('service-fees')]).toEqual(['0.1', '-0.1']);
  });

  it('is given back when the chain takes the payment back, and charged again, once, when the money is there again', () => {
    const story = new Story().add(ofMerchant(100), ...final(), paid('10.00'));
    const charged = story.books.entries('test').at(-1)!;
    story.add(reverted());
    expect(story.last()).toEqual([
      'service_fee_reversed',
      'payable ethereum -0.1 USDT',
      'income:service-fees ethereum 0.1 USDT',
    ]);
    expect(story.books.entries('test').at(-1)).toMatchObject({ reverses: charged.id });
    expect([story.balance('payable'), story.balance('service-fees')]).toEqual(['0', '0']);
    story.add(...final(), ...final(bsc('3.00')));
    expect(feesOf(story).map(({ kind }) => kind)).toEqual(['service_fee', 'service_fee_reversed', 'service_fee']);
    expect(story.balance('service-fees')).toBe('-0.1');
    const again = feesOf(story).at(-1)!;
    story.add(reverted());
    expect(feesOf(story).at(-1)).toMatchObject({ kind: 'service_fee_reversed', reverses: again.id });
  });

  it('stays while the rest is still enough, and is not charged before the order is paid', () => {
    const story = new Story().add(ofMerchant(100), ...final(), ...final(bsc('9.95')));
    expect(feesOf(story)).toEqual([]);
    story.add(paid('19.95'), reverted());
    expect(feesOf(story).map(({ kind }) => kind)).toEqual(['service_fee']);
    story.add(reverted(bsc('9.95')));
    expect(feesOf(story).map(({ kind }) => kind)).toEqual(['service_fee', 'service_fee_reversed']);
  });

  it('is given back with the last of the money, however little is enough', () => {
    const policy = { tolerance: '10.00', dustLimit: '0.01', serviceFeeBasisPoints: 100 };
    const story = new Story().add(ofMerchant(100, { policy }), ...final(), paid('10.00'), reverted());
    expect(story.last()[0]).toBe('service_fee_reversed');
  });
});

describe("the treasury's rules", () => {
  const terms: MoveCompleted = {
    moveId: 'mov_1',
    mode: 'live',
    network: 'ethereum',
    coin: 'USDT',
    amount: '100',
    fromAddress: '0xFrom',
    toAddress: '0xTo',
    derivationIndex: null,
    merchantId: null,
    forMoveId: null,
    txHash: '0x1',
    blockNumber: 1,
    blockHash: '0xb',
    blockTimeSec: CREATED_AT,
    networkFee: '0.01',
    feeCoin: 'ETH',
    feeAddress: '0xFrom',
    completedAtSec: CREATED_AT,
  };
  const lines = (event: TreasuryEvent, heldThere: bigint | null = null): string[] | undefined => {
    const booking = bookTreasuryEvent(event, () => heldThere);
    expect([...imbalanceOf(booking?.draft.postings ?? [])]).toEqual([]);
    return booking ? shown(booking.draft.postings) : undefined;
  };

  it('book what a sweep brought to the treasury, and charge the fee to whoever paid it', () => {
    expect(lines({ type: 'SweepCompleted', data: { ...terms, derivationIndex: 4 } })).toEqual([
      ...['assets:treasury ethereum 100.00 USDT @0xTo', 'assets:deposit-wallets ethereum -100.00 USDT @0xFrom'],
      ...['expenses:network-fees ethereum 0.01 ETH', 'assets:deposit-wallets ethereum -0.01 ETH @0xFrom'],
    ]);
    expect(lines({ type: 'SweepCompleted', data: { ...terms, derivationIndex: 4, feeAddress: '0xTo' } })?.at(-1)).toBe(
      'assets:treasury ethereum -0.01 ETH @0xTo',
    );
  });

  it('book native coin from unknown senders as owed to them, including what the fee of a sweep used before it was found', () => {
    const { mode, network } = terms;
    const place = { mode, network, coin: 'ETH', address: '0xFrom' } as const;
    expect(
      lines({
        type: 'NativeCoinFound',
        data: { ...place, amount: '0.03', sessionId: 'cs_1' as SessionId, blockNumber: 1, foundAtSec: 1 },
      }),
    ).toEqual([...['assets:deposit-wallets ethereum 0.03 ETH @0xFrom', 'liabilities:suspense ethereum -0.03 ETH']]);
    const before = (event: TreasuryEvent, held: bigint | null): string[] =>
      shown(bookTreasuryEvent(event, (asked) => (expect(asked).toEqual(place), held))?.before?.postings ?? []);
    const sweep: TreasuryEvent = { type: 'SweepCompleted', data: { ...terms, derivationIndex: 4 } };
    const lacking = (units: string): string[] => [
      ...[`assets:deposit-wallets ethereum ${units} ETH @0xFrom`, `liabilities:suspense ethereum -${units} ETH`],
    ];
    expect(before(sweep, null)).toEqual(lacking('0.01'));
    expect(before(sweep, 4n * 10n ** 15n)).toEqual(lacking('0.006'));
    expect(before(sweep, 10n ** 16n)).toEqual([]);
    const failed: TreasuryEvent = {
      type: 'SweepFailed',
      data: { ...terms, derivationIndex: 4, reason: 'execution_reverted', failedAtSec: 1 },
    };
    expect(before(failed, null)).toEqual(lacking('0.01'));
    expect(
      shown(
        bookTreasuryEvent({ type: 'SweepCompleted', data: { ...terms, feeAddress: '0xTo' } }, () => 0n)?.before
          ?.postings ?? [],
      ),
    ).toEqual([]);
  });

  it('take returned native coin and the fee of the return from what is owed to unknown senders; the operator pays for failed returns', () => {
    const ofReturn = { ...terms, coin: 'ETH', amount: '0.5' } as const;
    expect(lines({ type: 'NativeReturnCompleted', data: ofReturn })).toEqual([
      ...['liabilities:suspense ethereum 0.50 ETH', 'assets:treasury ethereum -0.50 ETH @0xFrom'],
      ...['liabilities:suspense ethereum 0.01 ETH', 'assets:treasury ethereum -0.01 ETH @0xFrom'],
    ]);
    expect(
      lines({ type: 'NativeReturnFailed', data: { ...ofReturn, reason: 'execution_reverted', failedAtSec: 1 } }),
    ).toEqual([...['expenses:network-fees ethereum 0.01 ETH', 'assets:treasury ethereum -0.01 ETH @0xFrom']]);
  });

  it('move gas to a collection address, coins to cold storage and what is payable to its merchant', () => {
    expect(
      lines({ type: 'GasTopUpCompleted', data: { ...terms, coin: 'ETH', amount: '0.5', derivationIndex: 4 } }),
    ).toEqual([
      ...['assets:deposit-wallets ethereum 0.50 ETH @0xTo', 'assets:treasury ethereum -0.50 ETH @0xFrom'],
      ...['expenses:network-fees ethereum 0.01 ETH', 'assets:treasury ethereum -0.01 ETH @0xFrom'],
    ]);
    expect(
      lines({
        type: 'NonceAccountCompleted',
        data: { ...terms, coin: 'SOL', amount: '0.002', derivationIndex: 0 },
      })?.slice(0, 2),
    ).toEqual([...['expenses:network-fees ethereum 0.002 SOL', 'assets:treasury ethereum -0.002 SOL @0xFrom']]);
    expect(lines({ type: 'WithdrawalCompleted', data: terms })?.[0]).toBe(
      'assets:cold-storage ethereum 100.00 USDT @0xTo',
    );
    expect(lines({ type: 'SettlementCompleted', data: { ...terms, merchantId: MERCHANT_ID } })?.[0]).toBe(
      `liabilities:merchants:${MERCHANT_ID}:payable ethereum 100.00 USDT`,
    );
  });

  it('book funding as capital, a failed move as its fee alone, and an acknowledged outflow as a loss of the account it left', () => {
    const { mode, network, coin, amount } = terms;
    const funded = {
      mode,
      network,
      coin,
      amount,
      address: '0xT',
      fromAddress: null,
      txHash: null,
      logIndex: null,
      blockNumber: 1,
      recordedAtSec: 1,
    };
    expect(lines({ type: 'TreasuryFunded', data: funded })).toEqual([
      'assets:treasury ethereum 100.00 USDT @0xT',
      'equity:operator-funding ethereum -100.00 USDT',
    ]);
    const failed: MoveFailed = { ...terms, reason: 'execution_reverted', networkFee: '0.01', failedAtSec: 1 };
    expect(lines({ type: 'WithdrawalFailed', data: failed })).toEqual([
      'expenses:network-fees ethereum 0.01 ETH',
      'assets:treasury ethereum -0.01 ETH @0xFrom',
    ]);
    expect(lines({ type: 'WithdrawalFailed', data: { ...failed, networkFee: null } })).toBeUndefined();
    const ofAddress4 = { ...failed, derivationIndex: 4 };
    expect(lines({ type: 'GasTopUpFailed', data: ofAddress4 })?.at(-1)).toBe(
      'assets:treasury ethereum -0.01 ETH @0xFrom',
    );
    expect(lines({ type: 'SweepFailed', data: ofAddress4 })?.at(-1)).toBe(
      'assets:deposit-wallets ethereum -0.01 ETH @0xFrom',
    );
    const outflow: OutflowFacts = {
      mode,
      network,
      outflowKey: 'k',
      address: '0xA',
      coin,
      amount,
      toAddress: null,
      txHash: null,
      blockNumber: null,
    };
    const acknowledged = { ...outflow, actor: 'operator', reason: 'known', acknowledgedAtSec: 1 };
    expect(lines({ type: 'UnknownOutflowAcknowledged', data: acknowledged })?.[1]).toBe(
      'assets:treasury ethereum -100.00 USDT @0xA',
    );
    expect(lines({ type: 'UnknownOutflowAcknowledged', data: acknowledged }, 100n)?.[1]).toBe(
      'assets:deposit-wallets ethereum -100.00 USDT @0xA',
    );
    expect(lines({ type: 'UnknownOutflowFound', data: { ...outflow, foundAtSec: 1 } })).toBeUndefined();
  });
});

describe('the fiat value', () => {
  const rateLock = { rate: '1.08', lockedAtSec: CREATED_AT, rule: 'median-1', quotes: [] };
  const books = openSessionBooks(createdFacts({ currency: 'EUR', rateLock }));
  const quote = (currency: string, rate: string) => ({ currency, coin: 'USDT' as const, rate, quotedAtMs: 1 });
  const UNIT = 10n ** 18n;

  it("is shown at the locked rate and at the quote of settlement, with the difference, in the currency's minor unit", () => {
    expect(fiatValueOf(books, (27n * UNIT) / 2n, quote('EUR', '1.1'))).toEqual({
      currency: 'EUR',
      atLockedRate: '12.50',
      atSettlementQuote: '12.27',
      difference: '-0.23',
    });
    expect(fiatValueOf(books, (-27n * UNIT) / 2n, quote('EUR', '1.1'))).toMatchObject({
      atLockedRate: '-12.50',
      atSettlementQuote: '-12.27',
      difference: '0.23',
    });
    const yen = openSessionBooks(createdFacts({ currency: 'JPY', rateLock: { ...rateLock, rate: '0.0067' } }));
    expect(fiatValueOf(yen, 10n * UNIT, null)).toEqual({
      currency: 'JPY',
      atLockedRate: '1493',
      atSettlementQuote: null,
      difference: null,
    });
  });

  it('does not exist for an order in the coin itself, and uses no quote of another currency', () => {
    expect(fiatValueOf(openSessionBooks(createdFacts()), UNIT, null)).toBeNull();
    expect(fiatValueOf(books, UNIT, quote('USD', '1'))?.atSettlementQuote).toBeNull();
  });
});
