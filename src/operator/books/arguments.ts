import { dayAfter, isDay, isMonth, isStamp, isTimeZone, momentInZone, momentOf } from '../../domain/values/calendar.ts';
import { type MerchantId, type Mode, MODES } from '../../domain/values/ids.ts';
import { LEDGER_CLOCKS, type LedgerClock } from '../../domain/money/ledger.ts';
import { type AdminArguments, optionalMode, optionalText, refused, requiredText } from '../server/commands.ts';
import { optionalWhole } from '../server/whole-number.ts';
import { asOfMoment, type AsOf, type LedgerBalances } from '../../features/ledger/balances.ts';
import type { JournalScope } from '../../features/ledger/journal.ts';
import { must } from '../../domain/values/must.ts';

/* Arguments about the books: which mode, whose, which days by which clock, how many at a time. */

export interface BooksNamed {
  readonly balances: Pick<LedgerBalances, 'modeRow'>;
  readonly modeOfMerchant: (merchantId: MerchantId) => Mode | null;
}

/** The named mode, or the only one that has entries. */
export async function modeOf({ balances }: BooksNamed, args: AdminArguments): Promise<Mode> {
  const given = optionalMode(args);
  if (given !== undefined) return given;
  const rows = await Promise.all(MODES.map((mode) => balances.modeRow(mode)));
  const used = MODES.filter((_, index) => must(rows[index]).entries > 0);
  return used.length === 1 ? must(used[0]) : refused('specify the mode, test or live');
}

export async function scopeOf(
  parts: BooksNamed,
  args: AdminArguments,
  merchant: MerchantId | null,
): Promise<JournalScope> {
  if (merchant === null) return { mode: await modeOf(parts, args), book: null, ...rangeOf(args) };
  return {
    mode: parts.modeOfMerchant(merchant) ?? refused('no such merchant'),
    book: merchant,
    ...rangeOf(args),
  };
}

export function rangeOf(args: AdminArguments): Pick<JournalScope, 'clock' | 'from' | 'to'> {
  return { clock: clockOf(args), from: dayNamed(args, 'from'), to: dayNamed(args, 'to') };
}

/** A day is in UTC unless a time zone is named; a time states its offset, or the zone does. */
export function asOfOf(args: AdminArguments): AsOf {
  const clock = clockOf(args);
  const zone = optionalText(args, 'timeZone');
  if (zone !== undefined && !isTimeZone(zone))
    return refused('time-zone must be the name of a time zone such as Europe/Berlin');
  const text = optionalText(args, 'asOf');
  if (text === undefined) return zone === undefined ? { day: null, clock } : refused('time-zone needs as-of');
  if (isDay(text))
    return zone === undefined
      ? { day: text, clock }
      : asOfMoment(momentInZone(`${dayAfter(text)}T00:00`, zone) - 1, clock);
  if (!isStamp(text))
    return refused('as-of must be a day such as 2026-10-31 or a moment such as 2026-10-31T18:00:00+09:00');
  const moment = momentOf(text);
  if (moment !== null)
    return zone === undefined ? asOfMoment(moment, clock) : refused('as-of already has an offset: omit time-zone');
  return zone === undefined
    ? refused('as-of must have an offset, such as Z or +09:00, or be used with time-zone')
    : asOfMoment(momentInZone(text, zone), clock);
}

function dayNamed(args: AdminArguments, name: string): string | null {
  const day = optionalText(args, name);
  if (day === undefined) return null;
  return isDay(day) ? day : refused(`${name} must be a day such as 2026-10-31`);
}

export function monthIn(args: AdminArguments): string {
  const month = requiredText(args, 'month');
  return isMonth(month) ? month : refused('month must be a month such as 2026-10');
}

function clockOf(args: AdminArguments): LedgerClock {
  const given = optionalText(args, 'clock') ?? 'recorded';
  return LEDGER_CLOCKS.find((clock) => clock === given) ?? refused('clock must be recorded or chain');
}

export const cursorOf = (args: AdminArguments): number | null => optionalWhole(args, 'cursor') ?? null;
export const cursorText = (next: number | null): string | null => (next === null ? null : String(next));
