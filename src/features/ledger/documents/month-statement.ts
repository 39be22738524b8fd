import { createHash } from 'node:crypto';
import { dayBefore, firstDayOf, lastDayOf } from '../../../domain/values/calendar.ts';
import type { StatementAccount, StatementIssued, StatementKind } from '../../../domain/events/document-events.ts';
import type { MerchantId, Mode } from '../../../domain/values/ids.ts';
import { merchantAccountOf, merchantAccounts } from '../../../domain/money/ledger.ts';
import { formatAmount, signedAmountOf } from '../../../domain/money/money.ts';
import type { EntryLine, EntryRow } from '../../../../projections/ledger/rows.ts';
import type { LedgerBalances } from '../balances.ts';
import type { JournalScope, LedgerJournal } from '../journal.ts';
import { amountCell } from './table.ts';

export interface StatementOf {
  readonly mode: Mode;
  readonly period: string;
  readonly merchantId: MerchantId | null;
}

export type StatementContent = Pick<StatementIssued['data'], 'accounts' | 'kinds' | 'lines' | 'linesSha256'>;

/** The days of a closed month by the clock that sealed it first. Nothing is added to them any more. */
export const scopeOfMonth = ({ mode, period, merchantId }: StatementOf): JournalScope => ({
  ...{ mode, book: merchantId, clock: 'recorded', from: firstDayOf(period), to: lastDayOf(period) },
});

/** The entry's lines that belong to the statement; for a merchant, those of its accounts. */
export const ownLines = (entry: EntryRow, merchantId: MerchantId | null): readonly EntryLine[] =>
  merchantId === null
    ? entry.lines
    : entry.lines.filter(({ account }) => merchantAccountOf(account)?.merchantId === merchantId);

/** The text of a line in the digest. */
const lineText = (
  eventId: string,
  { account, network, coin }: Pick<EntryLine, 'account' | 'network' | 'coin'>,
  amount: string,
): string => `${eventId},${account},${network},${coin},${amount}\n`;

/** Computes the statement from every line of a closed month. The result is the same at any time. */
export async function statementContent(
  { balances, journal }: { readonly balances: LedgerBalances; readonly journal: LedgerJournal },
  of: StatementOf,
): Promise<StatementContent> {
  const sums = new Sums(of.merchantId);
  const before = { day: dayBefore(firstDayOf(of.period)), clock: 'recorded' } as const;
  const accounts = of.merchantId === null ? '' : merchantAccounts(of.merchantId);
  for (const { account, network, coin, units } of await balances.balances(of.mode, before, accounts))
    sums.open(account, network, coin, units);
  const digest = createHash('sha256');
  let lines = 0;
  for await (const chunk of journal.walk(scopeOfMonth(of)))
    for (const { entry } of chunk)
      for (const line of ownLines(entry, of.merchantId)) {
        const units = signedAmountOf(line.amount);
        digest.update(lineText(entry.id, line, amountCell(units)));
        lines += 1;
        sums.add(entry.kind, line, units);
      }
  return { ...sums.content(), lines, linesSha256: digest.digest('hex') };
}

interface Place {
  readonly account: string;
  readonly network: string;
  readonly coin: string;
}
interface Moved {
  debits: bigint;
  credits: bigint;
}

class Sums {
  readonly #merchantId: MerchantId | null;
  readonly #accounts = new Map<string, Place & Moved & { opening: bigint }>();
  readonly #kinds = new Map<string, Place & Moved & { readonly kind: string; lines: number }>();

  constructor(merchantId: MerchantId | null) {
    this.#merchantId = merchantId;
  }

  open(account: string, network: string, coin: string, units: bigint): void {
    this.#account({ account: this.#named(account), network, coin }).opening += units;
  }

  add(kind: string, { account, network, coin }: Place, units: bigint): void {
    const place = { account: this.#named(account), network, coin };
    const key = [kind, place.account, network, coin].join('/');
    const ofKind = this.#kinds.get(key) ?? { kind, ...place, lines: 0, debits: 0n, credits: 0n };
    this.#kinds.set(key, ofKind);
    ofKind.lines += 1;
    for (const moved of [ofKind, this.#account(place)])
      if (units > 0n) moved.debits += units;
      else moved.credits -= units;
  }

  content(): Pick<StatementContent, 'accounts' | 'kinds'> {
    const sorted = <Row>(rows: ReadonlyMap<string, Row>): Row[] =>
      [...rows].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, row]) => row);
    const text = formatAmount;
    const accounts = sorted(this.#accounts).map(({ opening, debits, credits, ...place }): StatementAccount => ({
      ...place,
      opening: text(opening),
      debits: text(debits),
      credits: text(credits),
      closing: text(opening + debits - credits),
    }));
    const kinds = sorted(this.#kinds).map(({ debits, credits, ...row }): StatementKind => ({
      ...row,
      debits: text(debits),
      credits: text(credits),
    }));
    return { accounts, kinds };
  }

  /** For the operator, the accounts of all merchants are combined by sort. */
  #named(account: string): string {
    const part = this.#merchantId === null ? merchantAccountOf(account)?.part : undefined;
    return part === undefined ? account : `liabilities:merchants:${part}`;
  }

  #account(place: Place): Place & Moved & { opening: bigint } {
    const key = [place.account, place.network, place.coin].join('/');
    const found = this.#accounts.get(key) ?? { ...place, opening: 0n, debits: 0n, credits: 0n };
    this.#accounts.set(key, found);
    return found;
  }
}

/** Merchants that need a statement: they were owed something before the month, or their accounts changed in it. */
export async function merchantsIn(
  { balances, journal }: { readonly balances: LedgerBalances; readonly journal: LedgerJournal },
  of: Omit<StatementOf, 'merchantId'>,
): Promise<MerchantId[]> {
  const found = new Set<MerchantId>();
  const take = (account: string): void => {
    const merchantId = merchantAccountOf(account)?.merchantId;
    if (merchantId !== undefined) found.add(merchantId);
  };
  const before = { day: dayBefore(firstDayOf(of.period)), clock: 'recorded' } as const;
  for (const { account } of await balances.balances(of.mode, before)) take(account);
  for await (const chunk of journal.walk(scopeOfMonth({ ...of, merchantId: null })))
    for (const { entry } of chunk) for (const { account } of entry.lines) take(account);
  return [...found].sort();
}
