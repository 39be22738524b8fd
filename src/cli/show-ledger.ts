import type { JsonValue } from '../ports/read-model/read-model.ts';
import { cellsIn, rowsIn, tableOf, textOf, type Cells, type Column } from './table.ts';
import { must } from '../domain/values/must.ts';

/* Formats the answers of `quittance ledger ...` for people. */

const MONEY: readonly Column[] = [
  { title: 'network', field: 'network' },
  { title: 'coin', field: 'coin' },
];
const AMOUNTS: readonly Column[] = [
  right('payable'),
  right('unapplied'),
  right('reserved', 'refunds_reserved'),
  right('total'),
];
const DAYS: readonly Column[] = [left('recorded', 'recorded_day'), left('chain', 'chain_day')];

function left(title: string, field = title): Column {
  return { title, field };
}

function right(title: string, field = title): Column {
  return { title, field, align: 'right' };
}

export function showTrialBalance(value: JsonValue): string {
  const answer = cellsIn(value);
  const asOf = textOf(answer.as_of);
  const when =
    answer.as_of === null
      ? 'now'
      : `${asOf.includes('T') ? 'at' : 'at the end of'} ${asOf} by ${textOf(answer.clock)} time`;
  return [
    `Trial balance of ${textOf(answer.mode)} mode, ${when} (${textOf(answer.entries)} entries)`,
    '',
    tableOf([left('account'), ...MONEY, right('debit'), right('credit')], rowsIn(answer.accounts)),
    '',
    tableOf([...MONEY, right('debit'), right('credit'), right('difference')], rowsIn(answer.totals)),
    '',
    answer.balanced === true ? 'Debits equal credits.' : 'DEBITS DO NOT EQUAL CREDITS.',
    ...sealText(answer.sealed),
  ].join('\n');
}

function sealText(value: JsonValue | undefined): string[] {
  if (value === null) return [];
  const { period, agrees } = cellsIn(value);
  return [`${textOf(period)} is closed; the books ${agrees === true ? 'agree' : 'DO NOT AGREE'} with its seal.`];
}

export function showJournal(value: JsonValue): string {
  const answer = cellsIn(value);
  const rows = rowsIn(answer.entries).flatMap((entry) => {
    const { lines, memo, ...head } = entry;
    const own = rowsIn(lines);
    const shown =
      own.length > 0
        ? own
        : [memo === null ? {} : { ...cellsIn(memo), account: '(memo)', debit: must(cellsIn(memo).amount) }];
    return shown.map((line, index): Cells => ({ ...(index === 0 && head), ...line }));
  });
  const columns = [
    right('entry'),
    ...DAYS,
    left('kind'),
    left('order', 'order_id'),
    left('account'),
    ...MONEY,
    right('debit'),
    right('credit'),
  ];
  return tableOf(columns, rows) + moreText(answer.next_cursor);
}

export function showAccount(value: JsonValue): string {
  const answer = cellsIn(value);
  const amounts = [right('debit'), right('credit'), right('balance')];
  const columns = [right('entry'), ...DAYS, left('kind'), ...MONEY, ...amounts, left('order', 'order_id')];
  return (
    statement(textOf(answer.account), answer, [...MONEY, right('balance')], tableOf(columns, rowsIn(answer.lines))) +
    moreText(answer.next_cursor)
  );
}

export function showSettlement(value: JsonValue): string {
  const answer = cellsIn(value);
  const rows = rowsIn(answer.data).map((line): Cells => ({ ...line, fiat: fiatText(line.value) }));
  const columns = [
    ...DAYS,
    left('kind'),
    left('order', 'order_id'),
    ...MONEY,
    ...AMOUNTS,
    right('locked / quote', 'fiat'),
  ];
  const title = `Settlement report of ${textOf(answer.merchant_id)}`;
  return (
    statement(title, answer, [...MONEY, ...AMOUNTS], tableOf(columns, rows)) +
    moreText(cellsIn(answer.pagination).next_cursor)
  );
}

function statement(title: string, { opening, closing }: Cells, sums: readonly Column[], lines: string): string {
  return [
    title,
    '',
    'Opening',
    tableOf(sums, rowsIn(opening)),
    '',
    lines,
    '',
    'Closing',
    tableOf(sums, rowsIn(closing)),
  ].join('\n');
}

function fiatText(value: JsonValue | undefined): string | null {
  if (value === null || value === undefined) return null;
  const fiat = cellsIn(value);
  return `${textOf(fiat.at_locked_rate)} / ${textOf(fiat.at_settlement_quote) || '-'} ${textOf(fiat.currency)}`;
}

const moreText = (cursor: JsonValue | undefined): string =>
  cursor === null || cursor === undefined ? '' : `\n\nMore: --cursor ${textOf(cursor)}`;
