import type { PaymentLinkEvent, PaymentLinkTerms } from '../../src/domain/events/payment-link-events.ts';
import { accept, refuse, type Decision, type Refusal } from '../../src/domain/values/result.ts';
import {
  afterUse,
  DAY_SEC,
  type EndedUse,
  type OpenUse,
  type PaymentLinkContext,
  type PaymentLinkValue,
} from './payment-link.machine.ts';
import { must } from '../../src/domain/values/must.ts';

export interface PaymentLinkState {
  readonly value: PaymentLinkValue;
  readonly context: PaymentLinkContext;
}

/* Commands: imperative, with every fact from outside as data. */

export type PaymentLinkCommand =
  | { readonly type: 'CreatePaymentLink'; readonly terms: PaymentLinkTerms; readonly nowSec: number }
  | {
      readonly type: 'UsePaymentLink';
      readonly press: string;
      readonly visitor: string;
      readonly ended: readonly EndedUse[];
      readonly nowSec: number;
    }
  | { readonly type: 'SwitchPaymentLinkOff'; readonly reason: string; readonly nowSec: number };

type Of<Type extends PaymentLinkCommand['type']> = Extract<PaymentLinkCommand, { type: Type }>;

/**
 * Why a link creates no payment. `busy`: until an open payment has ended; `paused`: until fewer payments of the last
 * day are unpaid.
 */
export type LinkStatus = 'on' | 'off' | 'over' | 'used_up' | 'busy' | 'paused';

const MAX_USES = 10_000;
const MAX_OPEN = 100;
const MAX_UNPAID_PER_DAY = 1_000;
const LEAST_SHARE = 3;
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

/** Whether the end of one of its payments may let the link create another. */
export const isWaiting = (status: LinkStatus): boolean => status === 'busy' || status === 'paused';

/** Whether it creates payments, or will again by itself. */
export const isLasting = (status: LinkStatus): boolean => status === 'on' || isWaiting(status);

export function linkStatus(context: PaymentLinkContext, nowSec: number): LinkStatus {
  const { created, switchedOff, paid, open } = context;
  if (created === null || switchedOff !== null) return 'off';
  if (created.endsAtSec !== null && nowSec >= created.endsAtSec) return 'over';
  if (paid.length >= created.maxUses) return 'used_up';
  const count = Object.keys(open).length;
  if (count >= created.maxOpen || paid.length + count >= created.maxUses) return 'busy';
  return unpaidOfDay(context, nowSec).length >= created.maxUnpaidPerDay ? 'paused' : 'on';
}

/** Unpaid payments created within a day: open ones, and those that ended without money. */
export const unpaidOfDay = ({ open, unpaid }: PaymentLinkContext, nowSec: number): OpenUse[] =>
  [...Object.values(open), ...unpaid.filter(({ outcome }) => outcome === 'unpaid')].filter(
    ({ usedAtSec }) => usedAtSec > nowSec - DAY_SEC,
  );

/**
 * When the visitor may create another payment; null: at once. Each visitor may use only a part of the link's limits, so
 * that one cannot pause the link for everybody; each payment that they paid allows one more.
 */
export function visitorWaitsUntilSec(context: PaymentLinkContext, visitor: string, nowSec: number): number | null {
  const { maxOpen, maxUnpaidPerDay } = must(context.created);
  const share = Math.max(LEAST_SHARE, Math.floor(Math.min(maxOpen / 2, maxUnpaidPerDay / 10)));
  const allowed = share + context.paid.filter((use) => use.visitor === visitor).length;
  const unpaid = unpaidOfDay(context, nowSec).filter((use) => use.visitor === visitor);
  if (unpaid.length < allowed) return null;
  const oldestFirst = unpaid.map(({ usedAtSec }) => usedAtSec).toSorted((one, other) => one - other);
  return must(oldestFirst[unpaid.length - allowed]) + DAY_SEC;
}

/**
 * The number of the payment assigned to the page, a paid one first; null if it has none that is paid or still payable.
 */
export function numberOf({ open, paid }: PaymentLinkContext, press: string): number | null {
  const settled = paid.find((known) => known.press === press);
  if (settled) return settled.number;
  const found = Object.entries(open).find(([, known]) => known.press === press);
  return found ? Number(found[0]) : null;
}

function create({ terms, nowSec }: Of<'CreatePaymentLink'>, { value }: PaymentLinkState): Decision<PaymentLinkEvent> {
  if (value !== 'absent') return refuse('conflict', 'the payment link already exists');
  const wrong = termsFault(terms, nowSec);
  return wrong
    ? { ok: false, refusal: wrong }
    : accept({ type: 'PaymentLinkCreated', data: { ...terms, createdAtSec: nowSec } });
}

function termsFault(
  { maxUses, maxOpen, maxUnpaidPerDay, endsAtSec }: PaymentLinkTerms,
  nowSec: number,
): Refusal | null {
  const invalid = (param: string, message: string): Refusal => ({
    code: 'invalid_request',
    message: `${param} ${message}`,
    param,
  });
  const isWithin = (count: number, most: number): boolean => Number.isInteger(count) && count >= 1 && count <= most;
  if (!isWithin(maxUses, MAX_USES)) return invalid('uses', `must be a whole number from 1 to ${MAX_USES}`);
  if (!isWithin(maxOpen, MAX_OPEN)) return invalid('open', `must be a whole number from 1 to ${MAX_OPEN}`);
  if (!isWithin(maxUnpaidPerDay, MAX_UNPAID_PER_DAY))
    return invalid('unpaid', `must be a whole number from 1 to ${MAX_UNPAID_PER_DAY}`);
  if (endsAtSec !== null && (endsAtSec <= nowSec || endsAtSec > nowSec + MAX_AHEAD_SEC))
    return invalid('ends', 'must be in the future, within five years');
  return null;
}

const REFUSALS: Readonly<Record<Exclude<LinkStatus, 'on'>, string>> = {
  off: 'the payment link is switched off',
  over: 'the payment link has ended',
  used_up: 'the payment link has reached its number of payments',
  busy: 'too many payments of the payment link are waiting for money',
  paused: 'too many payments of the payment link were not paid within a day',
};

/** For a page without a payment. Pages that have one lead to it without this command. */
function use(
  { press, visitor, ended, nowSec }: Of<'UsePaymentLink'>,
  { value, context }: PaymentLinkState,
): Decision<PaymentLinkEvent> {
  if (value === 'absent') return refuse('not_found', 'no such payment link');
  const { linkId } = must(context.created);
  const { left, noted } = noteEnded(context, ended, nowSec);
  const status = linkStatus(left, nowSec);
  // A closed link creates no payment, not even one with an assigned number.
  const keepsPlace = numberOf(left, press) !== null && isLasting(status);
  if (keepsPlace) return accept(...noted);
  if (status !== 'on') return refuse('conflict', REFUSALS[status]);
  if (visitorWaitsUntilSec(left, visitor, nowSec) !== null)
    return refuse('rate_limited', 'too many payments of the payment link were not paid by this visitor within a day');
  return accept(...noted, {
    type: 'PaymentLinkUsed',
    data: { linkId, number: context.lastNumber + 1, press, visitor, usedAtSec: nowSec },
  });
}

/** Newly ended payments, each once. */
function noteEnded(context: PaymentLinkContext, ended: readonly EndedUse[], nowSec: number) {
  let left = context;
  const noted: PaymentLinkEvent[] = [];
  for (const { number, outcome } of ended) {
    const next = afterUse(left, { number, outcome }, nowSec);
    if (next === left) continue;
    left = next;
    noted.push({
      type: 'PaymentLinkUseEnded',
      data: { linkId: must(context.created).linkId, number, outcome, notedAtSec: nowSec },
    });
  }
  return { left, noted };
}

function switchOff(
  { reason, nowSec }: Of<'SwitchPaymentLinkOff'>,
  { value, context }: PaymentLinkState,
): Decision<PaymentLinkEvent> {
  if (value === 'absent') return refuse('not_found', 'no such payment link');
  if (reason.trim() === '' || reason.length > MAX_REASON)
    return refuse('invalid_request', `reason must have from 1 to ${MAX_REASON} characters`, 'reason');
  return value === 'off'
    ? accept()
    : accept({
        type: 'PaymentLinkSwitchedOff',
        data: { linkId: must(context.created).linkId, reason, offAtSec: nowSec },
      });
}
