import { hash } from 'node:crypto';
import fc from 'fast-check';
import type { DepositFacts, SessionEvent } from '../../src/domain/events/session-events.ts';
import type { MerchantId, Mode, RefundId, SessionId } from '../../src/domain/values/ids.ts';
import { sessionStream } from '../../src/domain/values/streams.ts';
import { encodeEvent } from '../../src/runtime/commands/codec.ts';
import { sessionTable } from '../../src/features/shared/handlers/session-handler.ts';
import {
  decideSession,
  type SessionCommand,
  type SessionState,
} from '../../state-machines/checkout-session/session.decider.ts';
import type { EventStore } from '../../src/ports/event-log/event-store.ts';
import {
  addressOfSession,
  choiceFacts,
  createdFacts,
  depositFacts,
  EXPIRES_AT,
  refundCommand,
} from './session-facts.ts';

/** Sessions of three owners; the first two are one merchant in two modes. The last two are charged a service fee. */
const OWNERS: readonly { merchantId: MerchantId; mode: Mode }[] = [
  { merchantId: 'mer_aaaaaaaaaaaaaaaaaaaa' as MerchantId, mode: 'test' },
  { merchantId: 'mer_aaaaaaaaaaaaaaaaaaaa' as MerchantId, mode: 'live' },
  { merchantId: 'mer_bbbbbbbbbbbbbbbbbbbb' as MerchantId, mode: 'test' },
];
/** By owner. */
const SERVICE_FEES = [0, 33, 250] as const;
const SESSIONS = 4;
export const sessionIdOf = (index: number): SessionId =>
  `cs_${String.fromCharCode(97 + index).repeat(32)}` as SessionId;
export const ownerOf = (index: number) => OWNERS[index % OWNERS.length]!;
export const serviceFeeOf = (index: number) => SERVICE_FEES[index % SERVICE_FEES.length]!;

export interface Step {
  readonly session: number;
  readonly kind:
    | 'create'
    | 'detect'
    | 'confirm'
    | 'revert'
    | 'cancel'
    | 'expire'
    | 'refund'
    | 'sign'
    | 'replace'
    | 'land'
    | 'unland'
    | 'fail'
    | 'finish'
    | 'set-aside'
    | 'put-back'
    | 'credit'
    | 'uncredit';
  readonly tx: number;
  readonly network: 'ethereum' | 'bsc' | 'tron';
  readonly coin: 'USDT' | 'USDC';
  readonly cents: number;
  readonly late: boolean;
  readonly secondsLater: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  session: fc.nat({ max: SESSIONS - 1 }),
  kind: fc.oneof(
    ...(
      Object.entries({
        create: 4,
        detect: 8,
        confirm: 8,
        revert: 2,
        cancel: 1,
        expire: 1,
        refund: 4,
        sign: 6,
        replace: 2,
        land: 6,
        unland: 1,
        fail: 2,
        finish: 6,
        'set-aside': 3,
        'put-back': 2,
        credit: 2,
        uncredit: 1,
      }) as [Step['kind'], number][]
    ).map(([kind, weight]) => ({ arbitrary: fc.constant(kind), weight })),
  ),
  tx: fc.nat({ max: 2 }),
  network: fc.constantFrom('ethereum', 'ethereum', 'ethereum', 'bsc', 'tron'),
  coin: fc.constantFrom('USDT', 'USDT', 'USDC'),
  cents: fc.constantFrom(1, 400, 601, 999, 999, 1000, 1001, 1202),
  late: fc.oneof({ arbitrary: fc.constant(false), weight: 3 }, { arbitrary: fc.constant(true), weight: 1 }),
  secondsLater: fc.integer({ min: -2, max: 3 }),
});

/** Long enough for refunds to run their course. */
export const steps = fc.array(step, { minLength: 50, maxLength: 250, size: 'max' });

export interface HistoryEntry {
  readonly session: number;
  readonly event: SessionEvent;
  readonly atMs: number;
}

/**
 * A legal history of several sessions: every event that the steps ask for, and that the session's machine and `happens`
 * allow.
 */
export function historyOf(
  drawnSteps: readonly Step[],
  happens: (session: number, event: SessionEvent, before: SessionState) => boolean = () => true,
): { entries: HistoryEntry[]; states: Map<number, SessionState> } {
  const entries: HistoryEntry[] = [];
  const states = new Map<number, SessionState>();
  let nowSec = EXPIRES_AT - 100;
  for (const drawn of drawnSteps) {
    nowSec += drawn.secondsLater;
    let state: SessionState = states.get(drawn.session) ?? sessionTable.initial;
    for (const event of eventsOf(drawn, state, nowSec)) {
      const next = sessionTable.next(state, event);
      if (!next || !happens(drawn.session, event, state)) break;
      state = next;
      entries.push({ session: drawn.session, event, atMs: nowSec * 1000 + 7 });
    }
    if (state.value !== 'absent') states.set(drawn.session, state);
  }
  return { entries, states };
}

export async function appendHistory(
  store: Pick<EventStore, 'append' | 'lastOfStream'>,
  entries: readonly HistoryEntry[],
  only?: SessionId,
): Promise<void> {
  for (const { session, event, atMs } of entries) {
    const stream = sessionStream(only ?? sessionIdOf(session));
    const last = await store.lastOfStream(stream);
    const revision = last?.revision ?? -1;
    const metadata = { correlationId: 'test', actor: 'test', prev: last?.hash ?? '' };
    const encoded = encodeEvent({
      id: uuidOf(`${stream}:${revision + 1}`),
      stream,
      revision: revision + 1,
      atMs,
      event,
      metadata,
    });
    await store.append({ stream, expected: revision < 0 ? 'no-stream' : revision, events: [encoded] });
  }
}

/** The same for the same text: a replayed history has the same ids. */
const uuidOf = (text: string): string => hash('md5', text, 'hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');

function eventsOf(drawn: Step, state: SessionState, nowSec: number): readonly SessionEvent[] {
  const command = commandOf(drawn, state, nowSec);
  if (command) {
    const decision = decideSession(command, state);
    return decision.ok ? decision.events : [];
  }
  return payoutEventOf(drawn, state, nowSec);
}

/** Every other session can be paid in either coin. */
const factsOf = (session: number): typeof createdFacts => (session % 2 === 1 ? choiceFacts : createdFacts);

/** Confirmations and reverts are of a deposit that is there, whichever the draw points at. */
function commandOf(drawn: Step, state: SessionState, nowSec: number): SessionCommand | null {
  const { session, tx, network, coin, cents, late } = drawn;
  const amount = `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`;
  const blockTimeSec = EXPIRES_AT + (late ? 5 : -5);
  const facts = depositFacts({
    toAddress: addressOfSession(sessionIdOf(drawn.session)),
    txHash: `0x${tx}`,
    network,
    coin,
    amount,
    blockTimeSec,
    fromAddress: tx === 0 ? null : `0xPayer${tx % 2}`,
    blockNumber: 100 + tx,
  });
  const known = [...state.context.deposits];
  const depositKey = known[cents % Math.max(1, known.length)]?.facts.depositKey ?? '';
  const serviceFee = serviceFeeOf(session);
  switch (drawn.kind) {
    case 'create':
      return {
        type: 'CreateSession',
        data: factsOf(session)({
          ...ownerOf(session),
          sessionId: sessionIdOf(session),
          orderId: `order-${session}`,
          createdAtSec: nowSec,
          policy: {
            tolerance: '0.01',
            dustLimit: '0.02',
            ...(serviceFee > 0 && { serviceFeeBasisPoints: serviceFee }),
          },
          personal: 'sealed',
        }),
      };
    case 'detect':
      return { type: 'RecordDeposit', facts };
    case 'confirm':
      return {
        type: 'ConfirmDeposit',
        data: {
          depositKey,
          rule: { kind: 'finalized' },
          blockNumber: 200 + tx,
          blockHash: '0xfinal',
          blockTimeSec,
          headNumber: 300,
        },
        nowSec,
        valuation: null,
      };
    case 'revert':
      return {
        type: 'RevertDeposit',
        depositKey,
        reason: late ? 'failed' : 'reorg',
        headNumber: 300,
        revertedAtSec: 1_800_000_500,
      };
    case 'cancel':
      return { type: 'CancelSession', nowSec };
    case 'expire':
      return { type: 'ExpireSession', nowSec: EXPIRES_AT + 1, scannedToSec: {} };
    case 'refund':
      return refundCommand({
        ...{ refundId: `re_${tx}of${session}` as RefundId, coin, units: late ? null : BigInt(cents) * 10n ** 16n },
        ...{ reason: 'sealed reason', nowSec },
      });
    default:
      return transferCommandOf(drawn, state, depositKey, facts, nowSec);
  }
}

/** What operators decide about money that pays no order. */
function transferCommandOf(
  { kind, tx, session }: Step,
  { context }: SessionState,
  depositKey: string,
  facts: DepositFacts,
  nowSec: number,
): SessionCommand | null {
  const deposit = context.deposits.get(depositKey);
  const next = (context.operations[depositKey] ?? 0) + 1;
  switch (kind) {
    case 'set-aside':
      return { type: 'SetDepositAside', depositKey, operation: next, nowSec };
    case 'put-back':
      return {
        type: 'GiveUpTransfer',
        depositKey,
        operation: deposit?.aside?.operation ?? next,
        nowSec,
        valuation: null,
      };
    case 'credit': {
      const unmatched = {
        ...facts,
        depositKey: `${facts.network}:0xstray${tx}:0`,
        txHash: `0xstray${tx}`,
        toAddress: '0xElsewhere',
      };
      const operation = (context.operations[unmatched.depositKey] ?? 0) + 1;
      const transfer = { ...unmatched, operation, derivationIndex: 7, sender: null };
      return {
        type: 'CreditTransfer',
        transfer,
        mode: ownerOf(session).mode,
        merchantId: null,
        nowSec,
        valuation: null,
      };
    }
    case 'uncredit':
      return { type: 'ReverseTransferCredit', depositKey, operation: deposit?.credit?.operation ?? 0, nowSec };
    default:
      return null;
  }
}

/** What the payout process would record; most of it is illegal at the moment and then left out. */
function payoutEventOf({ kind, tx, cents }: Step, state: SessionState, nowSec: number): SessionEvent[] {
  const refunds = Object.values(state.context.refunds);
  const refund = refunds[tx % Math.max(1, refunds.length)];
  const legs = Object.values(refund?.legs ?? {});
  const leg = legs[cents % Math.max(1, legs.length)];
  if (!refund || !leg) return [];
  const { legId } = leg.leg;
  const refundId = refund.requested.refundId;
  const attempt = leg.txHashes.length + 1;
  const signed = {
    refundId,
    legId,
    attempt,
    txHash: `0xout${legId}${attempt}`,
    signedBytes: '0x',
    fromAddress: '0xTreasury',
    signedAtSec: nowSec,
  } as const;
  const validity = { kind: 'evm-nonce', nonce: attempt, maxFeePerGas: '1' } as const;
  switch (kind) {
    case 'sign':
      return [{ type: 'RefundPayoutSigned', data: { ...signed, validity } }];
    case 'replace':
      return [
        {
          type: 'RefundPayoutReplaced',
          data: { ...signed, validity, replaces: leg.txHashes.at(-1) ?? '', why: 'fee_bump' },
        },
      ];
    case 'land':
      return [
        {
          type: 'RefundPayoutLanded',
          data: {
            refundId,
            legId,
            txHash: leg.txHashes[0] ?? '',
            blockNumber: 500,
            blockHash: '0xb',
            blockTimeSec: nowSec,
            networkFee: cents === 1 ? '0' : '0.0021',
            landedAtSec: nowSec,
          },
        },
      ];
    case 'unland':
      return [
        { type: 'RefundPayoutReverted', data: { refundId, legId, txHash: leg.landedTxHash ?? '', headNumber: 501 } },
      ];
    case 'fail':
      return [
        {
          type: 'RefundPayoutFailed',
          data: {
            refundId,
            legId,
            reason: 'execution_reverted',
            networkFee: cents === 1 ? null : '0.001',
            failedAtSec: nowSec,
          },
        },
      ];
    case 'finish':
      return legs.every((other) => other.status === 'COMPLETED')
        ? [
            {
              type: 'RefundCompleted',
              data: {
                refundId,
                coin: refund.requested.coin,
                amount: refund.requested.amount,
                completedAtSec: nowSec,
                valuation: null,
              },
            },
          ]
        : [
            {
              type: 'RefundFailed',
              data: {
                refundId,
                coin: refund.requested.coin,
                amount: refund.requested.amount,
                amountReturned: '0.00',
                reason: 'execution_reverted',
                failedAtSec: nowSec,
              },
            },
          ];
    default:
      return [];
  }
}
