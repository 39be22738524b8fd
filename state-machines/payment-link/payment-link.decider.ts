import type { PaymentLinkEvent, PaymentLinkTerms, UseOutcome } from '../../src/domain/events/payment-link-events.ts';
import { accept, refuse, type Decision, type Refusal } from '../../src/domain/result.ts';
import { afterUse, type PaymentLinkContext, type PaymentLinkValue } from './payment-link.machine.ts';

export interface PaymentLinkState {
  readonly value: PaymentLinkValue;
  readonly context: PaymentLinkContext;
}

/** A payment of the link that takes no money any more. */
export interface EndedUse {
  readonly number: number;
  readonly outcome: UseOutcome;
}

/* Commands: imperative, with every fact from outside as data. */

export type PaymentLinkCommand =
  | { readonly type: 'CreatePaymentLink'; readonly terms: PaymentLinkTerms; readonly nowSec: number }
  | { readonly type: 'UsePaymentLink'; readonly press: string; readonly ended: readonly EndedUse[]; readonly nowSec: number }
  | { readonly type: 'SwitchPaymentLinkOff'; readonly reason: string; readonly nowSec: number };

type Of<Type extends PaymentLinkCommand['type']> = Extract<PaymentLinkCommand, { type: Type }>;

/** Why a link makes no payment; `busy`: it may again once one of those under way has ended. */
export type LinkStatus = 'on' | 'off' | 'over' | 'used_up' | 'busy';

const MAX_USES = 10_000;
const MAX_OPEN = 100;
const MAX_REASON = 500;
const MAX_AHEAD_SEC = 5 * 366 * 86_400;

/** Repeating a command adds no events. */
export function decidePaymentLink(command: PaymentLinkCommand, state: PaymentLinkState): Decision<PaymentLinkEvent> {
  switch (command.type) {
    case 'CreatePaymentLink':
      return create(command, state);
    case 'UsePaymentLink':
      return use(command, state);
    case 'SwitchPaymentLinkOff':
      return switchOff(command, state);
  }
}

export function linkStatus({ created, switchedOff, paid, open }: PaymentLinkContext, nowSec: number): LinkStatus {
  if (created === null || switchedOff !== null) return 'off';
  if (created.endsAtSec !== null && nowSec >= created.endsAtSec) return 'over';
  if (paid >= created.maxUses) return 'used_up';
  const count = Object.keys(open).length;
  return count >= created.maxOpen || paid + count >= created.maxUses ? 'busy' : 'on';
}

/** The number of the payment that the page was given; null when it has none that may still be paid. */
export function numberOf({ open }: PaymentLinkContext, press: string): number | null {
  const found = Object.entries(open).find(([, known]) => known.press === press);
  return found ? Number(found[0]) : null;
}

function create({ terms, nowSec }: Of<'CreatePaymentLink'>, { value }: PaymentLinkState): Decision<PaymentLinkEvent> {
  if (value !== 'absent') return refuse('conflict', 'there is such a payment link');
  const wrong = termsFault(terms, nowSec);
  return wrong ? { ok: false, refusal: wrong } : accept({ type: 'PaymentLinkCreated', data: { ...terms, createdAtSec: nowSec } });
}

function termsFault({ maxUses, maxOpen, endsAtSec }: PaymentLinkTerms, nowSec: number): Refusal | null {
  const invalid = (param: string, message: string): Refusal => ({ code: 'invalid_request', message: `${param} ${message}`, param });
  const isWithin = (count: number, most: number): boolean => Number.isInteger(count) && count >= 1 && count <= most;
  if (!isWithin(maxUses, MAX_USES)) return invalid('uses', `must be a whole number from 1 to ${MAX_USES}`);
  if (!isWithin(maxOpen, MAX_OPEN)) return invalid('open', `must be a whole number from 1 to ${MAX_OPEN}`);
  if (endsAtSec !== null && (endsAtSec <= nowSec || endsAtSec > nowSec + MAX_AHEAD_SEC))
    return invalid('ends', 'must be in the future, within five years');
  return null;
}

const isFirst = (ended: readonly EndedUse[], number: number, index: number): boolean => ended.findIndex((one) => one.number === number) === index;

const REFUSALS: Readonly<Record<Exclude<LinkStatus, 'on'>, string>> = {
  off: 'the payment link is switched off',
  over: 'the payment link has ended',
  used_up: 'the payment link was paid as often as it may be',
  busy: 'too many payments of the payment link wait for money',
};

function use({ press, ended, nowSec }: Of<'UsePaymentLink'>, { value, context }: PaymentLinkState): Decision<PaymentLinkEvent> {
  if (value === 'absent') return refuse('not_found', 'no such payment link');
  const { linkId } = context.created!;
  const over = ended.filter(({ number }, index) => Object.hasOwn(context.open, String(number)) && isFirst(ended, number, index));
  const left = over.reduce(afterUse, context);
  if (numberOf(left, press) !== null) return accept();
  const status = linkStatus(left, nowSec);
  if (status !== 'on') return refuse('conflict', REFUSALS[status]);
  return accept(
    ...over.map(({ number, outcome }): PaymentLinkEvent => ({ type: 'PaymentLinkUseEnded', data: { linkId, number, outcome, notedAtSec: nowSec } })),
    { type: 'PaymentLinkUsed', data: { linkId, number: context.lastNumber + 1, press, usedAtSec: nowSec } },
  );
}

function switchOff({ reason, nowSec }: Of<'SwitchPaymentLinkOff'>, { value, context }: PaymentLinkState): Decision<PaymentLinkEvent> {
  if (value === 'absent') return refuse('not_found', 'no such payment link');
  if (reason.trim() === '' || reason.length > MAX_REASON)
    return refuse('invalid_request', `reason must have from 1 to ${MAX_REASON} characters`, 'reason');
  return value === 'off' ? accept() : accept({ type: 'PaymentLinkSwitchedOff', data: { linkId: context.created!.linkId, reason, offAtSec: nowSec } });
}
