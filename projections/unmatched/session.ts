import type { DepositDetected, SessionEvent } from '../../src/domain/events/session-events.ts';
import type { InboxDeposit, InboxFacts, InboxKind, InboxSessionRow } from './row.ts';

/* The state of a session's deposits that tells which of them pay nothing. */

export const EMPTY_SESSION: InboxSessionRow = { closed: false, deposits: {} };

/** Applies a session's own event to its deposits that pay nothing. */
export function foldSession(session: InboxSessionRow, event: SessionEvent): InboxSessionRow {
  switch (event.type) {
    case 'DepositDetected': {
      const { depositKey, kind } = event.data;
      // There may be many, and none of them is ever shown.
      if ((kind === 'dust' || kind === 'own') && !session.deposits[depositKey]) return session;
      // A refund that named it before a reorganisation still does.
      const legs = session.deposits[depositKey]?.legs ?? [];
      return {
        ...session,
        deposits: { ...session.deposits, [depositKey]: { facts: factsOf(event.data), kind, final: false, legs } },
      };
    }
    case 'DepositConfirmed': {
      const { depositKey, blockNumber, blockTimeSec, kind } = event.data;
      return changed(session, depositKey, (deposit) => ({
        ...deposit,
        ...{ final: true, kind: kind ?? deposit.kind, facts: { ...deposit.facts, blockNumber, blockTimeSec } },
      }));
    }
    case 'DepositReverted':
      return changed(session, event.data.depositKey, (deposit) => ({ ...deposit, final: false }));
    case 'SessionPaid':
      // Money that paid the order does not concern the inbox. Further money does, and money that is not final may turn
      // out to be late.
      return {
        closed: false,
        deposits: Object.fromEntries(
          Object.entries(session.deposits).filter(([, { kind, final }]) => kind !== 'on_time' || !final),
        ),
      };
    case 'SessionExpired':
    case 'SessionFailed':
    case 'SessionCancelled':
      return { ...session, closed: true };
    case 'RefundRequested':
      return event.data.legs.reduce(
        (folded, { legId, takenFrom }) =>
          takenFrom.reduce(
            (each, { depositKey }) =>
              changed(each, depositKey, (deposit) => ({ ...deposit, legs: [...deposit.legs, legId] })),
            folded,
          ),
        session,
      );
    case 'RefundPayoutFailed': {
      const { legId } = event.data;
      const named = Object.entries(session.deposits).filter(([, { legs }]) => legs.includes(legId));
      return named.reduce(
        (folded, [key]) =>
          changed(folded, key, (deposit) => ({ ...deposit, legs: deposit.legs.filter((leg) => leg !== legId) })),
        session,
      );
    }
    default:
      return session;
  }
}

function factsOf(data: DepositDetected['data']): InboxFacts {
  const { depositKey, network, coin, amount, fromAddress, toAddress, txHash, logIndex, blockNumber } = data;
  const money = { network, coin, amount, fromAddress, toAddress };
  return { depositKey, ...money, txHash, logIndex, blockNumber, blockTimeSec: data.blockTimeSec };
}

function changed(
  session: InboxSessionRow,
  key: string,
  change: (deposit: InboxDeposit) => InboxDeposit,
): InboxSessionRow {
  const deposit = session.deposits[key];
  return deposit ? { ...session, deposits: { ...session.deposits, [key]: change(deposit) } } : session;
}

/** A deposit that a refund names is the merchant's responsibility. Dust is refundable and not worth anyone's time; our own money is nobody's. */
export function isUnmatched(session: InboxSessionRow, deposit: InboxDeposit | undefined): deposit is InboxDeposit {
  if (!deposit?.final || deposit.kind === 'dust' || deposit.kind === 'own' || deposit.legs.length > 0) return false;
  return deposit.kind !== 'on_time' || session.closed;
}

export const unmatchedKind = ({ kind }: InboxDeposit): InboxKind =>
  kind === 'on_time' || kind === 'dust' || kind === 'own' ? 'insufficient' : kind;
