import { dayAfter, dayBefore, isDay, isMonth, isStamp, isTimeZone, momentInZone, momentOf } from '../domain/calendar.ts';
import { type MerchantId, type Mode, MODES } from '../domain/ids.ts';
import { isAccount, LEDGER_CLOCKS, merchantAccountOf, type LedgerClock } from '../domain/ledger.ts';
import { formatAmount } from '../domain/money.ts';
import { actorOf } from './acts.ts';
import { type AdminArguments, type AdminCommands, type AdminStreams, json, optionalMode, optionalText, refused, requiredText } from './commands.ts';
import { presentEntryOfBooks, presentTrialBalance } from '../http/presenters/ledger-books.presenter.ts';
import { presentSettlement } from '../http/presenters/ledger.presenter.ts';
import type { JsonValue } from '../ports/read-model.ts';
import { asOfMoment, type AsOf, type LedgerBalances } from '../features/ledger/balances.ts';
import { EXPORT_FORMATS, exportJournal } from '../features/ledger/export.ts';
import type { JournalScope, LedgerJournal } from '../features/ledger/journal.ts';
import type { NotFinalDeposit } from '../features/ledger/not-final.ts';
import type { LedgerPeriods } from '../features/ledger/periods.ts';
import { settlementOf } from '../features/ledger/merchant-ledger.ts';
import type { ServedRows } from '../runtime/projections/served-rows.ts';
import { bookOf } from '../../projections/ledger/rows.ts';

export interface LedgerParts {
  readonly balances: LedgerBalances;
  readonly journal: LedgerJournal;
  readonly periods: LedgerPeriods;
  readonly notFinal: (mode: Mode, month: string) => Promise<readonly NotFinalDeposit[]>;
  readonly modeOfMerchant: (merchantId: MerchantId) => Mode | null;
  readonly servedRows: ServedRows;
}

const MAX_LIMIT = 500;
const CONTENT_TYPES = { csv: 'text/csv; charset=utf-8', jsonl: 'application/jsonl; charset=utf-8' } as const;

/** `quittance ledger ...`, and the same under `/admin/ledger/`. */
export function ledgerCommands(parts: LedgerParts): AdminCommands {
  const { balances, journal, periods, servedRows } = parts;
  return {
    'ledger.trial-balance': async (args) => {
      await servedRows();
      return json(presentTrialBalance(await balances.trialBalance(await modeOf(parts, args), asOfOf(args))));
    },
    'ledger.journal': async (args) => {
      await servedRows();
      const scope = await scopeOf(parts, args, optionalText(args, 'merchant') ?? null);
      const { entries, next } = await journal.page(scope, cursorOf(args), limitOf(args));
      return json({
        mode: scope.mode,
        clock: scope.clock,
        entries: entries.map(({ entry }) => presentEntryOfBooks(entry)),
        next_cursor: cursorText(next),
      });
    },
    'ledger.account': async (args) => {
      await servedRows();
      return accountStatement(parts, args);
    },
    'ledger.settlement': async (args) => {
      await servedRows();
      const merchantId = requiredText(args, 'merchant_id') as MerchantId;
      const mode = parts.modeOfMerchant(merchantId) ?? refused('no such merchant');
      const { clock, from, to } = rangeOf(args);
      const owner = { merchantId, mode };
      const { page, next } = await settlementOf({ balances, journal }, owner, { clock, from, to }, cursorOf(args), limitOf(args));
      const pagination = { page_size: limitOf(args), has_more: next !== null, next_cursor: cursorText(next) };
      return json({ merchant_id: merchantId, mode, ...presentSettlement({ ...page, pagination }) });
    },
    'ledger.periods': async (args) => {
      await servedRows();
      const mode = await modeOf(parts, args);
      const closed = await balances.periods(mode);
      return json({ mode, periods: closed.map(({ period, closedAtSec, actor, entry }) => ({ period, closed_at: closedAtSec, actor, entry })) });
    },
    'ledger.close': async (args) => {
      const month = requiredText(args, 'month');
      if (!isMonth(month)) return refused('month must be a month such as 2026-10');
      const mode = await modeOf(parts, args);
      if (args['dryRun'] === true) return json({ mode, period: month, not_final: await notFinalOf(parts, mode, month) });
      // What is final by the time of the closing is in it, so this names none too few.
      const notFinal = await notFinalOf(parts, mode, month);
      const closed = await periods.close(mode, month, actorOf(args));
      if (!closed.ok) return refused(closed.refusal.message);
      const { period, closedAtSec, actor, entry, balances: figures } = closed.value;
      return json({ mode, period, closed_at: closedAtSec, actor, entry, figures: Object.keys(figures).length, not_final: notFinal });
    },
  };
}

const notFinalOf = async ({ notFinal }: LedgerParts, mode: Mode, month: string) =>
  (await notFinal(mode, month)).map(({ sessionId, network, coin, amount, txHash, blockTimeSec }) => ({
    ...{ session_id: sessionId, network, coin, amount, tx_hash: txHash, chain_time: blockTimeSec },
  }));

/** What is too long for one answer. */
export function ledgerStreams(parts: LedgerParts): AdminStreams {
  return {
    'ledger.export': async (args) => {
      await parts.servedRows();
      const format = EXPORT_FORMATS.find((name) => name === (optionalText(args, 'format') ?? 'csv'));
      if (!format) return refused('format must be csv or jsonl');
      const scope = await scopeOf(parts, args, optionalText(args, 'merchant') ?? null);
      return {
        contentType: CONTENT_TYPES[format],
        entries: await parts.journal.count({ ...scope, book: null }),
        chunks: exportJournal(parts.journal, scope, format),
      };
    },
  };
}

/** Every line of one account, with the balance after each in the order of recording. */
async function accountStatement(parts: LedgerParts, args: AdminArguments): Promise<JsonValue> {
  const account = requiredText(args, 'account');
  if (!isAccount(account)) return refused(`there is no account ${account}; trial-balance names them`);
  const merchant = merchantAccountOf(account)?.merchantId;
  const mode = merchant ? (parts.modeOfMerchant(merchant) ?? refused('no such merchant')) : await modeOf(parts, args);
  const scope: JournalScope = { mode, book: bookOf(account), ...rangeOf(args) };
  const isOf = (line: { readonly account: string }): boolean => line.account === account;
  const { entries, next } = await parts.journal.page(scope, cursorOf(args), limitOf(args), ({ lines }) => lines.some(isOf));
  const balancesAt = async (day: string | null) =>
    (await parts.balances.balances(mode, { day, clock: scope.clock }, account))
      .filter(isOf)
      .map(({ network, coin, units }) => ({ network, coin, balance: formatAmount(units) }));
  const lines = entries.flatMap(({ entry }) =>
    presentEntryOfBooks(entry)
      .lines.filter(isOf)
      .map(({ account: _, ...line }) => ({
        entry: entry.number,
        kind: entry.kind,
        recorded_day: entry.days.recorded,
        chain_day: entry.days.chain,
        ...line,
        order_id: entry.orderId ?? null,
        tx_hash: entry.txHash ?? null,
      })),
  );
  const { clock, from, to } = scope;
  const opening = from === null ? [] : await balancesAt(dayBefore(from));
  return json({ account, mode, clock, from, to, opening, closing: await balancesAt(to), lines, next_cursor: cursorText(next) });
}

/** The mode named, or the only one that has entries. */
async function modeOf({ balances }: LedgerParts, args: AdminArguments): Promise<Mode> {
  const given = optionalMode(args);
  if (given !== undefined) return given;
  const rows = await Promise.all(MODES.map((mode) => balances.modeRow(mode)));
  const used = MODES.filter((_, index) => rows[index]!.entries > 0);
  return used.length === 1 ? used[0]! : refused('name the mode, test or live');
}

async function scopeOf(parts: LedgerParts, args: AdminArguments, merchant: string | null): Promise<JournalScope> {
  if (merchant === null) return { mode: await modeOf(parts, args), book: null, ...rangeOf(args) };
  return { mode: parts.modeOfMerchant(merchant as MerchantId) ?? refused('no such merchant'), book: merchant, ...rangeOf(args) };
}

function rangeOf(args: AdminArguments): Pick<JournalScope, 'clock' | 'from' | 'to'> {
  return { clock: clockOf(args), from: dayNamed(args, 'from'), to: dayNamed(args, 'to') };
}

/** A day is one in UTC unless a time zone is named; a moment says its offset, or the zone does. */
function asOfOf(args: AdminArguments): AsOf {
  const clock = clockOf(args);
  const zone = optionalText(args, 'timeZone');
  if (zone !== undefined && !isTimeZone(zone)) return refused('time-zone must be the name of a time zone such as Europe/Berlin');
  const text = optionalText(args, 'asOf');
  if (text === undefined) return zone === undefined ? { day: null, clock } : refused('time-zone needs as-of');
  if (isDay(text)) return zone === undefined ? { day: text, clock } : asOfMoment(momentInZone(`${dayAfter(text)}T00:00`, zone) - 1, clock);
  if (!isStamp(text)) return refused('as-of must be a day such as 2026-10-31 or a moment such as 2026-10-31T18:00:00+09:00');
  const moment = momentOf(text);
  if (moment !== null) return zone === undefined ? asOfMoment(moment, clock) : refused('as-of has an offset already: leave time-zone out');
  return zone === undefined ? refused('as-of must name its offset, such as Z or +09:00, or time-zone') : asOfMoment(momentInZone(text, zone), clock);
}

function dayNamed(args: AdminArguments, name: string): string | null {
  const day = optionalText(args, name);
  if (day === undefined) return null;
  return isDay(day) ? day : refused(`${name} must be a day such as 2026-10-31`);
}

function clockOf(args: AdminArguments): LedgerClock {
  const given = optionalText(args, 'clock') ?? 'recorded';
  return LEDGER_CLOCKS.find((clock) => clock === given) ?? refused('clock must be recorded or chain');
}

function limitOf(args: AdminArguments): number {
  const limit = wholeNumber(args, 'limit') ?? 50;
  return limit >= 1 && limit <= MAX_LIMIT ? limit : refused(`limit must be from 1 to ${MAX_LIMIT}`);
}

const cursorOf = (args: AdminArguments): number | null => wholeNumber(args, 'cursor') ?? null;
const cursorText = (next: number | null): string | null => (next === null ? null : String(next));

function wholeNumber(args: AdminArguments, name: string): number | undefined {
  const text = optionalText(args, name);
  if (text === undefined || text === '') return undefined;
  return /^\d{1,12}$/.test(text) ? Number(text) : refused(`${name} must be a whole number`);
}
