import { NOBODY } from '../chain/block.ts';
import { accountOf, treasuryOn } from '../networks.ts';
import type { ModelledNetwork } from '../plan/plan.ts';
import { type Data, type Fact, unitsOf } from './truth.ts';

export interface SeenDeposit {
  readonly depositKey: string;
  readonly network: string;
  readonly coin: string;
  readonly units: bigint;
  readonly from: string;
  readonly to: string;
  readonly txHash: string;
  readonly kind: string;
  /** It came from the treasury, whatever the event says. */
  readonly isOwn: boolean;
  /** Where it was seen last. */
  blockNumber: number;
  status: 'detected' | 'confirmed' | 'reverted';
  confirmations: number;
}

export interface SeenLeg {
  readonly legId: string;
  readonly network: string;
  readonly coin: string;
  readonly to: string;
  readonly units: bigint;
  readonly takenFrom: readonly { readonly depositKey: string; readonly amount: string }[];
  status: 'open' | 'landed' | 'failed';
  readonly txHashes: Set<string>;
}

export interface SeenRefund {
  readonly refundId: string;
  readonly requestedMs: number;
  readonly legs: Map<string, SeenLeg>;
  ended: 'completed' | 'failed' | null;
}

/** A session as its events tell it, by the oracle's own reading. */
export interface SeenSession {
  readonly sessionId: string;
  readonly created: Data;
  readonly due: bigint;
  readonly tolerance: bigint;
  readonly dust: bigint;
  readonly coin: string;
  readonly addresses: ReadonlySet<string>;
  readonly networks: ReadonlySet<string>;
  expiresAtSec: number;
  status: 'open' | 'paid' | 'expired' | 'failed' | 'cancelled';
  readonly deposits: Map<string, SeenDeposit>;
  /** On-time money that would have paid it was seen while it was open, final or not. */
  hadEnough: boolean;
  readonly refunds: Map<string, SeenRefund>;
  /** A deposit was taken back by the chain after it had been confirmed. */
  wasReversed: boolean;
  /** Types in their order. */
  readonly history: string[];
}

interface Option {
  readonly network: string;
  readonly address: string;
}

export function sessionOf(fact: Fact): SeenSession {
  const { data } = fact;
  const options = data['paymentOptions'] as readonly Option[];
  const policy = data['policy'] as { readonly tolerance: string; readonly dustLimit: string };
  return {
    ...{ sessionId: String(data['sessionId']), created: data, coin: String(data['dueCoin']) },
    ...{ due: unitsOf(data['dueAmount']), tolerance: unitsOf(policy.tolerance), dust: unitsOf(policy.dustLimit) },
    addresses: new Set(options.map(({ address }) => accountOf(address))),
    networks: new Set(options.map(({ network }) => network)),
    expiresAtSec: Number(data['expiresAtSec']),
    status: 'open',
    ...{ wasReversed: false, hadEnough: false },
    ...{ deposits: new Map(), refunds: new Map(), history: ['SessionCreated'] },
  };
}

/** Takes an event in; answers what is wrong with its coming now. */
export function take(session: SeenSession, { type, data, committedMs }: Fact): string | null {
  session.history.push(type);
  const deposit = session.deposits.get(String(data['depositKey']));
  const refund = session.refunds.get(String(data['refundId']));
  const leg = refund?.legs.get(String(data['legId']));
  session.hadEnough ||= session.status === 'open' && onTimeIn(session) >= session.due - session.tolerance;
  switch (type) {
    case 'DepositDetected':
      if (deposit && deposit.status !== 'reverted') return 'a transfer was detected that is known already';
      session.deposits.set(String(data['depositKey']), {
        depositKey: String(data['depositKey']),
        network: String(data['network']),
        coin: String(data['coin']),
        units: unitsOf(data['amount']),
        from: typeof data['fromAddress'] === 'string' ? accountOf(data['fromAddress']) : NOBODY,
        to: accountOf(String(data['toAddress'])),
        txHash: String(data['txHash']),
        kind: String(data['kind']),
        isOwn:
          typeof data['fromAddress'] === 'string' &&
          accountOf(data['fromAddress']) === treasuryOn(data['network'] as ModelledNetwork),
        blockNumber: Number(data['blockNumber']),
        status: 'detected',
        confirmations: deposit?.confirmations ?? 0,
      });
      return null;
    case 'DepositConfirmed':
      if (deposit?.status !== 'detected') return 'a transfer was confirmed that was not just detected';
      Object.assign(deposit, {
        status: 'confirmed',
        confirmations: deposit.confirmations + 1,
        blockNumber: Number(data['blockNumber']),
        ...(data['kind'] !== undefined && { kind: data['kind'] }),
      });
      return null;
    case 'DepositReverted':
      if (!deposit || deposit.status === 'reverted') return 'a transfer was reverted that does not stand';
      session.wasReversed ||= deposit.status === 'confirmed';
      deposit.status = 'reverted';
      return null;
    case 'SessionPaid':
      if (session.status === 'paid' || session.status === 'cancelled') return `paid although it is ${session.status}`;
      session.status = 'paid';
      return null;
    case 'SessionExpired':
    case 'SessionFailed':
      if (session.status !== 'open') return `${type} although it is ${session.status}`;
      session.status = type === 'SessionExpired' ? 'expired' : 'failed';
      return null;
    case 'SessionCancelled':
      if (session.status !== 'open') return `cancelled although it is ${session.status}`;
      session.status = 'cancelled';
      session.expiresAtSec = Math.min(session.expiresAtSec, Number(data['cancelledAtSec']));
      return null;
    case 'RefundRequested':
      if (refund) return 'one refund was requested twice';
      session.refunds.set(String(data['refundId']), {
        ...{ refundId: String(data['refundId']), requestedMs: committedMs, ended: null },
        legs: new Map(
          (data['legs'] as readonly Data[]).map((requested) => [String(requested['legId']), legOf(requested)]),
        ),
      });
      return null;
    case 'RefundPayoutSigned':
    case 'RefundPayoutReplaced':
      if (!leg || leg.status === 'failed') return 'a payout was signed for a leg that is not open';
      leg.txHashes.add(String(data['txHash']));
      return null;
    case 'RefundPayoutLanded':
      if (leg?.status !== 'open') return 'a payout landed whose leg is not open';
      if (!leg.txHashes.has(String(data['txHash']))) return 'a payout landed that was not signed';
      leg.status = 'landed';
      return null;
    case 'RefundPayoutReverted':
      if (leg?.status !== 'landed') return 'a payout was reverted that had not landed';
      leg.status = 'open';
      return null;
    case 'RefundPayoutFailed':
      if (leg?.status !== 'open') return 'a payout failed whose leg is not open';
      leg.status = 'failed';
      return null;
    case 'RefundCompleted':
    case 'RefundFailed':
      if (!refund || (refund.ended !== null && !hasFailedSince(refund, type)))
        return `${type} of a refund that is not open`;
      refund.ended = type === 'RefundCompleted' ? 'completed' : 'failed';
      if (refund.ended === 'completed' && [...refund.legs.values()].some(({ status }) => status !== 'landed'))
        return 'a refund was completed that is not paid';
      return null;
    default:
      return null;
  }
}

/** A fork may take back what was paid, and the payout fails in its other block. */
const hasFailedSince = ({ ended, legs }: SeenRefund, type: string): boolean =>
  type === 'RefundFailed' && ended === 'completed' && [...legs.values()].some(({ status }) => status === 'failed');

/** Money that came in time from somebody else. */
const isPaying = ({ kind, isOwn, coin: of }: SeenDeposit, coin: string): boolean =>
  kind === 'on_time' && !isOwn && of === coin;

/** On-time money of a session that has given nothing back; what was given back is left to other promises. */
function onTimeIn({ deposits, refunds, coin }: SeenSession): bigint {
  if (refunds.size > 0) return 0n;
  const onTime = [...deposits.values()].filter((deposit) => isPaying(deposit, coin) && deposit.status !== 'reverted');
  return onTime.reduce((sum, { units }) => sum + units, 0n);
}

const legOf = (data: Data): SeenLeg => ({
  legId: String(data['legId']),
  network: String(data['network']),
  coin: String(data['coin']),
  to: accountOf(String(data['toAddress'])),
  units: unitsOf(data['amount']),
  takenFrom: data['takenFrom'] as SeenLeg['takenFrom'],
  status: 'open',
  txHashes: new Set(),
});

export const legsOf = (sessions: Iterable<SeenSession>): { readonly session: SeenSession; readonly leg: SeenLeg }[] =>
  [...sessions].flatMap((session) =>
    [...session.refunds.values()].flatMap((refund) => [...refund.legs.values()].map((leg) => ({ session, leg }))),
  );

/** Whether on-time money of it left the chain. */
export const lostOf = ({ deposits }: SeenSession): boolean =>
  [...deposits.values()].some(({ status, kind }) => status === 'reverted' && kind === 'on_time');

/** Final on-time money of the session's coin, wherever it went since. */
export const arrivedIn = ({ deposits, coin }: SeenSession): bigint =>
  [...deposits.values()]
    .filter((deposit) => deposit.status === 'confirmed' && isPaying(deposit, coin))
    .reduce((sum, { units }) => sum + units, 0n);

/** Final on-time money of the session's coin that is neither given back nor promised back. */
export function heldOf({ deposits, refunds, coin }: SeenSession): bigint {
  const got = [...deposits.values()].filter((deposit) => deposit.status === 'confirmed' && isPaying(deposit, coin));
  const onTime = new Set(got.map(({ depositKey }) => depositKey));
  const back = [...refunds.values()]
    .flatMap(({ legs }) => [...legs.values()])
    .filter(({ status }) => status !== 'failed');
  const given = back.flatMap(({ takenFrom }) => takenFrom).filter(({ depositKey }) => onTime.has(depositKey));
  return got.reduce((sum, { units }) => sum + units, 0n) - given.reduce((sum, { amount }) => sum + unitsOf(amount), 0n);
}
