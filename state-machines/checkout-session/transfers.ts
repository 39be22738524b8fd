import type {
  DepositPutBack,
  DepositSetAside,
  TransferCredited,
  TransferCreditReversed,
  TransferGivenUp,
} from '../../src/domain/events/session-events.ts';
import { amountOf } from '../../src/domain/money/money.ts';
import { createdOf, finalOf, refundedOrReserved, withDeposit, type SessionContext } from './session.state.ts';
import type { DepositState } from './deposits.ts';
import { must } from '../../src/domain/values/must.ts';

/*
 * The effect of an operator's decision about an unmatched transfer on a session: its own deposit is set aside, or
 * another one is credited. Every decision has a number; one older than what was carried out here changes nothing.
 */

type Data<Event extends { readonly data: unknown }> = Event['data'];

/** Whether the session can still be paid. */
export const isPayable = ({ created, paid, expired, failed, cancelled }: SessionContext): boolean =>
  created !== null && paid === null && expired === null && failed === null && cancelled === null;

export const isNewOperation = ({ operations }: SessionContext, depositKey: string, operation: number): boolean =>
  operation > (operations[depositKey] ?? 0);

/** The refund that reserved or paid out the deposit's money; null if there is none. */
function refundOf(context: SessionContext, depositKey: string): string | null {
  for (const [refundId, { legs }] of Object.entries(context.refunds))
    if (
      Object.values(legs).some(
        ({ leg, status }) => status !== 'FAILED' && leg.takenFrom.some((part) => part.depositKey === depositKey),
      )
    )
      return refundId;
  return null;
}

/** What holds money of a final deposit, in words; null if all of it is free. */
function whyNotFree(context: SessionContext, { facts, units }: DepositState): string | null {
  const refund = refundOf(context, facts.depositKey);
  if (refund !== null) return `the refund ${refund} takes its money`;
  const left = finalOf(context, facts.coin) - refundedOrReserved(context, facts.coin);
  return left >= units ? null : `refunds of the session need its money`;
}

/** Why a deposit cannot leave its session, in words; null if it can. */
export function whyNotSetAside(context: SessionContext, depositKey: string): string | null {
  const deposit = context.deposits.get(depositKey);
  if (!deposit || deposit.credit) return 'the session has no such deposit';
  if (deposit.kind === 'own') return 'it is a transfer of this installation itself';
  if (deposit.aside !== undefined) return 'it is already set aside';
  if (deposit.status !== 'final') return `it is ${deposit.status}, not final`;
  if (deposit.kind === 'on_time' && isPayable(context))
    return 'the session is open, and the money counts towards what is due';
  if (deposit.kind === 'on_time' && context.paid !== null) return 'the session is paid with it';
  return whyNotFree(context, deposit);
}

export const isSetAsideFor = ({ deposits }: SessionContext, { depositKey, operation }: Data<DepositPutBack>): boolean =>
  deposits.get(depositKey)?.aside?.operation === operation;

/** Only a decision that moved nothing here yet. */
export const mayGiveUp = (context: SessionContext, { depositKey, operation }: Data<TransferGivenUp>): boolean =>
  context.created !== null && isNewOperation(context, depositKey, operation);

/** It is unknown here, or was attached before and detached. */
export const mayBeCredited = (deposit: DepositState | undefined): boolean =>
  deposit === undefined || (deposit.credit !== undefined && deposit.status === 'reverted');

/** Only in the session's own coin. It pays while the session can be paid, and is refundable afterwards. */
export function isCreditable(context: SessionContext, data: Data<TransferCredited>): boolean {
  return (
    context.created !== null &&
    mayBeCredited(context.deposits.get(data.depositKey)) &&
    isNewOperation(context, data.depositKey, data.operation) &&
    data.coin === context.created.dueCoin &&
    data.kind === (isPayable(context) ? 'on_time' : 'late')
  );
}

/** Why a credit cannot be undone, in words; null if it can. */
export function whyNotReversible(context: SessionContext, depositKey: string): string | null {
  const deposit = context.deposits.get(depositKey);
  if (!deposit?.credit || deposit.status !== 'final') return 'the transfer is not attached to the session';
  if (deposit.kind === 'on_time' && context.paid !== null)
    return `the session ${createdOf(context).sessionId} is paid with it`;
  return whyNotFree(context, deposit);
}

export const mayReverseCredit = (
  context: SessionContext,
  { depositKey, operation }: Data<TransferCreditReversed>,
): boolean =>
  context.deposits.get(depositKey)?.credit?.operation === operation && whyNotReversible(context, depositKey) === null;

/* Fold: one function an event. */

function withAside(
  context: SessionContext,
  depositKey: string,
  operation: number,
  isAside: boolean,
): Partial<SessionContext> {
  const { aside: _, ...deposit } = must(context.deposits.get(depositKey));
  const aside = { operation, coin: deposit.facts.coin, units: deposit.units };
  return {
    deposits: context.deposits.with(isAside ? { ...deposit, aside } : deposit),
    operations: { ...context.operations, [depositKey]: operation },
  };
}

export const foldSetAside = (
  context: SessionContext,
  { depositKey, operation }: Data<DepositSetAside>,
): Partial<SessionContext> => withAside(context, depositKey, operation, true);

export const foldPutBack = (
  context: SessionContext,
  { depositKey, operation }: Data<DepositPutBack>,
): Partial<SessionContext> => withAside(context, depositKey, operation, false);

export const foldGivenUp = (
  { operations }: SessionContext,
  { depositKey, operation }: Data<TransferGivenUp>,
): Partial<SessionContext> => ({
  operations: { ...operations, [depositKey]: operation },
});

export function foldCredited(context: SessionContext, data: Data<TransferCredited>): Partial<SessionContext> {
  const { depositKey, operation, kind, sender } = data;
  const taken = context.deposits.get(depositKey)?.taken ?? 0n;
  return {
    ...withDeposit(context, {
      ...{ facts: data, kind, units: amountOf(data.amount), status: 'final', taken, credit: data },
      ...(sender && { sender }),
    }),
    operations: { ...context.operations, [depositKey]: operation },
  };
}

export const foldCreditReversed = (
  context: SessionContext,
  { depositKey, operation }: Data<TransferCreditReversed>,
): Partial<SessionContext> => ({
  deposits: context.deposits.with({ ...must(context.deposits.get(depositKey)), status: 'reverted' }),
  operations: { ...context.operations, [depositKey]: operation },
});
