import { dayBefore } from '../../domain/values/calendar.ts';
import type { MerchantId, Mode } from '../../domain/values/ids.ts';
import { isAccount, merchantAccountOf } from '../../domain/money/ledger.ts';
import { formatAmount, signedAmountOf } from '../../domain/money/money.ts';
import { actorOf } from '../server/acts.ts';
import { currencyIn } from './rates.ts';
import {
  type AdminArguments,
  type AdminCommands,
  json,
  merchantIn,
  optionalMerchant,
  refused,
  requiredText,
} from '../server/commands.ts';
import { listFundings } from '../treasury/fundings.ts';
import { asOfOf, cursorOf, cursorText, modeOf, monthIn, rangeOf, scopeOf } from './arguments.ts';
import { limitOf } from '../server/whole-number.ts';
import { presentEntryOfBooks, presentTrialBalance } from '../../http/presenters/ledger-books.presenter.ts';
import { presentSettlement } from '../../http/presenters/ledger.presenter.ts';
import { toSec, type Clock } from '../../ports/clock.ts';
import type { EventStore } from '../../ports/event-log/event-store.ts';
import type { JsonValue } from '../../ports/read-model/read-model.ts';
import type { LedgerBalances } from '../../features/ledger/balances.ts';
import type { JournalScope, LedgerJournal } from '../../features/ledger/journal.ts';
import type { NotFinalDeposit } from '../../features/ledger/not-final.ts';
import type { LedgerPeriods } from '../../features/ledger/periods.ts';
import type { MonthStatements } from '../../features/ledger/documents/month-statements.ts';
import { BookRates } from '../../features/ledger/valuation/book-rates.ts';
import { momentOf, valued, worthAt } from '../../features/ledger/valuation/worth.ts';
import { settlementOf } from '../../features/ledger/merchant-ledger.ts';
import type { ServedRows } from '../../runtime/projections/served-rows.ts';
import { bookOf } from '../../../projections/ledger/rows.ts';

export interface LedgerParts {
  readonly balances: LedgerBalances;
  readonly journal: LedgerJournal;
  readonly periods: LedgerPeriods;
  readonly notFinal: (mode: Mode, month: string) => Promise<readonly NotFinalDeposit[]>;
  readonly modeOfMerchant: (merchantId: MerchantId) => Mode | null;
  readonly servedRows: ServedRows;
  readonly store: Pick<EventStore, 'readStream'>;
  readonly issue: { readonly clock: Clock };
  /** Issued when a month is closed. */
  readonly statements: Pick<MonthStatements, 'issue'>;
}

/** `quittance ledger ...`, and the same under `/admin/ledger/`. */
export function ledgerCommands(parts: LedgerParts): AdminCommands {
  const { balances, journal, servedRows } = parts;
  return {
    'ledger.trial-balance': async (args) => {
      await servedRows();
      const asOf = asOfOf(args);
      const [mode, currency] = [await modeOf(parts, args), args['currency'] === undefined ? null : currencyIn(args)];
      const worth = currency === null ? null : await worthAt(parts.store, currency, asOf, parts.issue.clock.nowMs());
      return json(presentTrialBalance(await balances.trialBalance(mode, asOf), worth));
    },
    'ledger.journal': async (args) => {
      await servedRows();
      const scope = await scopeOf(parts, args, optionalMerchant(args, 'merchant'));
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
    'ledger.fundings': async (args) => {
      await servedRows();
      return listFundings(parts, args);
    },
    'ledger.settlement': async (args) => {
      await servedRows();
      const merchantId = merchantIn(args);
      const mode = parts.modeOfMerchant(merchantId) ?? refused('no such merchant');
      const { clock, from, to } = rangeOf(args);
      const owner = { merchantId, mode };
      const { page, next } = await settlementOf(
        { balances, journal },
        owner,
        { clock, from, to },
        cursorOf(args),
        limitOf(args),
      );
      const pagination = { page_size: limitOf(args), has_more: next !== null, next_cursor: cursorText(next) };
      return json({ merchant_id: merchantId, mode, ...presentSettlement({ ...page, pagination }) });
    },
    'ledger.periods': async (args) => {
      await servedRows();
      const mode = await modeOf(parts, args);
      const closed = await balances.periods(mode);
      return json({
        mode,
        periods: closed.map(({ period, closedAtSec, actor, entry }) => ({
          period,
          closed_at: closedAtSec,
          actor,
          entry,
        })),
      });
    },
    'ledger.close': (args) => closeMonth(parts, args),
  };
}

async function closeMonth(parts: LedgerParts, args: AdminArguments): Promise<JsonValue> {
  const month = monthIn(args);
  const mode = await modeOf(parts, args);
  // Read before the closing, whose entry includes everything final by then, so this never lists too few.
  const notFinal = await notFinalOf(parts, mode, month);
  if (args['dryRun'] === true) return json({ mode, period: month, not_final: notFinal });
  const closed = await parts.periods.close(mode, month, actorOf(args));
  if (!closed.ok) return refused(closed.refusal.message);
  const { period, closedAtSec, actor, entry, balances: figures } = closed.value;
  const statements = (await parts.statements.issue(mode, period, actor)) ?? [];
  const counts = { figures: Object.keys(figures).length, statements: statements.length };
  return json({ mode, period, closed_at: closedAtSec, actor, entry, ...counts, not_final: notFinal });
}

const notFinalOf = async ({ notFinal }: LedgerParts, mode: Mode, month: string) =>
  (await notFinal(mode, month)).map(({ sessionId, network, coin, amount, txHash, blockTimeSec }) => ({
    ...{ session_id: sessionId, network, coin, amount, tx_hash: txHash, chain_time: blockTimeSec },
  }));

/** Null where no rate of that time is recorded. */
const worthBody = (value: ReturnType<typeof valued>) =>
  value && { amount: value.worth, rate: value.rate.rate, rate_at: value.rate.atSec, source: value.rate.source };

/** Every line of one account, with the balance after each, in the order of recording. */
async function accountStatement(parts: LedgerParts, args: AdminArguments): Promise<JsonValue> {
  const account = requiredText(args, 'account');
  if (!isAccount(account)) return refused(`there is no account ${account}; trial-balance lists them`);
  const merchant = merchantAccountOf(account)?.merchantId;
  const mode = merchant ? (parts.modeOfMerchant(merchant) ?? refused('no such merchant')) : await modeOf(parts, args);
  const scope: JournalScope = { mode, book: bookOf(account), ...rangeOf(args) };
  const isOf = (line: { readonly account: string }): boolean => line.account === account;
  const { entries, next } = await parts.journal.page(scope, cursorOf(args), limitOf(args), ({ lines }) =>
    lines.some(isOf),
  );
  const rates = args['currency'] === undefined ? null : await BookRates.read(parts.store, currencyIn(args));
  const nowMs = parts.issue.clock.nowMs();
  const worth = (coin: string, amount: string, atSec: number) =>
    rates && { worth: worthBody(valued(rates, { coin, units: signedAmountOf(amount) }, atSec)) };
  const balancesAt = async (day: string | null) =>
    (await parts.balances.balances(mode, { day, clock: scope.clock }, account))
      .filter(isOf)
      .map(({ network, coin, units }) => {
        const balance = formatAmount(units);
        return { network, coin, balance, ...worth(coin, balance, momentOf({ day }, nowMs)) };
      });
  const lines = entries.flatMap(({ entry }) =>
    presentEntryOfBooks(entry)
      .lines.filter(isOf)
      .map(({ account: _, ...line }) => ({
        ...worth(line.coin, line.debit ?? line.credit ?? '0', toSec(entry.recordedAtMs)),
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
  return json({
    account,
    mode,
    ...(rates && { worth_in: rates.currency }),
    clock,
    from,
    to,
    opening,
    closing: await balancesAt(to),
    lines,
    next_cursor: cursorText(next),
  });
}
