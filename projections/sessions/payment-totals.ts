import { dayOf } from '../../src/domain/values/calendar.ts';
import type { MerchantId, Mode } from '../../src/domain/values/ids.ts';
import { formatAmount, signedAmountOf } from '../../src/domain/money/money.ts';
import type { RowReader } from '../../src/ports/read-model/projection.ts';
import { putRow, type RowChange, type Table } from '../../src/ports/read-model/read-model.ts';
import type { SessionRow } from './session-row.ts';

/** Payments of a merchant by the day (UTC) under which they are listed, so that totals under a list's filters are exact. */
export const TOTALS_TABLE: Table<DayTotals> = 'payment-totals@1';

/** By status and due coin, such as `paid/USDT`; a group without payments is left out. */
export type DayTotals = { readonly [group: string]: Totals };

/** Amounts are decimal strings of the group's coin. */
export interface Totals {
  readonly payments: number;
  readonly due: string;
  readonly received: string;
  readonly refunded: string;
}

type Owner = { readonly mode: Mode; readonly merchantId: MerchantId };

/** Every key of a merchant begins with it; the day follows. */
export const totalsOfMerchant = ({ mode, merchantId }: Owner): string => `${mode}/${merchantId}/`;

export const totalsKey = (row: Owner & Pick<SessionRow, 'listedSec'>): string =>
  `${totalsOfMerchant(row)}${dayOf(row.listedSec)}`;

type Counted = Pick<SessionRow, 'status' | 'dueCoin' | 'dueAmount' | 'received' | 'refunded'>;

const groupOf = ({ status, dueCoin }: Counted): string => `${status}/${dueCoin}`;

const isSame = (one: Counted, other: Counted): boolean =>
  groupOf(one) === groupOf(other) &&
  one.dueAmount === other.dueAmount &&
  one.received === other.received &&
  one.refunded === other.refunded;

/** Moves a session from the group it was in to the one it is in. */
export function totalsChanges(before: SessionRow | null, after: SessionRow, read: RowReader): RowChange[] {
  if (before && isSame(before, after)) return [];
  const key = totalsKey(after);
  const day = read(TOTALS_TABLE, key) ?? {};
  return [putRow(TOTALS_TABLE, key, count(before ? count(day, before, -1) : day, after, 1))];
}

/** The day with the payment added to its group, or taken out of it. */
export function count(day: DayTotals, row: Counted, sign: 1 | -1): DayTotals {
  const { [groupOf(row)]: group, ...others } = day;
  const { dueAmount: due, received, refunded } = row;
  const sum = sumOf(group, { payments: 1, due, received, refunded }, sign);
  return sum.payments === 0 ? others : { ...others, [groupOf(row)]: sum };
}

const NONE: Totals = { payments: 0, due: '0.00', received: '0.00', refunded: '0.00' };

export const sumOf = (sum: Totals = NONE, more: Totals, sign: 1 | -1): Totals => ({
  payments: sum.payments + sign * more.payments,
  due: plus(sum.due, more.due, sign),
  received: plus(sum.received, more.received, sign),
  refunded: plus(sum.refunded, more.refunded, sign),
});

const plus = (sum: string, amount: string, sign: 1 | -1): string =>
  amount === NONE.due ? sum : formatAmount(signedAmountOf(sum) + BigInt(sign) * signedAmountOf(amount));
