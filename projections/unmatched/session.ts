import type { SessionEvent } from '../../src/domain/events/session-events.ts';
import type { InboxDeposit, InboxFacts, InboxKind, InboxSessionRow } from './row.ts';

/* What is remembered of a session's deposits to tell which of them pay nothing. */

export const EMPTY_SESSION: InboxSessionRow = { closed: false, deposits: {} };

/** What the session's own event changes in what pays nothing. */
export function foldSession(session: InboxSessionRow, event: SessionEvent): InboxSessionRow {
  switch (event.type) {
    case 'DepositDetected': {
      const {
        depositKey,
        network,
        coin,
        amount,
        fromAddress,
        toAddress,
        txHash,
        logIndex,
        blockNumber,
        blockTimeSec,
        kind,
      } = event.data;
      const facts: InboxFacts = {
        depositKey,
        network,
        coin,
        amount,
        fromAddress,
        toAddress,
        txHash,
        logIndex,
        blockNumber,
        blockTimeSec,
      };
      // A refund that named it before a reorganisation took it away still does.
      const legs = session.deposits[depositKey]?.legs ?? [];
      return { ...session, deposits: { ...session.deposits, [depositKey]: { facts, kind, final: false, legs } } };
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
      // What paid the order is no matter of the inbox; what came beside it still is, and what is not final may yet turn
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

function changed(
  session: InboxSessionRow,
  key: string,
  change: (deposit: InboxDeposit) => InboxDeposit,
): InboxSessionRow {
  const deposit = session.deposits[key];
  return deposit ? { ...session, deposits: { ...session.deposits, [key]: change(deposit) } } : session;
}

/** A deposit that a refund names is in the merchant's hands. Dust is refundable and not worth anybody's time. */
export function isUnmatched(session: InboxSessionRow, deposit: InboxDeposit | undefined): deposit is InboxDeposit {
  if (!deposit?.final || deposit.kind === 'dust' || deposit.legs.length > 0) return false;
  return deposit.kind !== 'on_time' || session.closed;
}

export const unmatchedKind = ({ kind }: InboxDeposit): InboxKind =>
  kind === 'on_time' || kind === 'dust' ? 'insufficient' : kind;
