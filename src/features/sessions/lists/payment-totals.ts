import {
  count,
  sumOf,
  TOTALS_TABLE,
  totalsOfMerchant,
  type DayTotals,
  type Totals,
} from '../../../../projections/sessions/payment-totals.ts';
import type { SessionFilterStatus } from '../../../../projections/sessions/session-list.ts';
import { dayAfter, dayBefore, dayOf, startOfDaySec } from '../../../domain/values/calendar.ts';
import { isCoin, type Coin } from '../../../domain/money/money.ts';
import { mustBe } from '../../../domain/values/one-of.ts';
import { textOfRefusal } from '../../../domain/values/result.ts';
import { rowPages } from '../../../ports/read-model/row-pages.ts';
import type { ReadModel } from '../../../ports/read-model/read-model.ts';
import type { Caller } from '../../shared/merchant-api.ts';
import type { Lists } from './lists.ts';

export interface TotalsAsked {
  readonly status?: SessionFilterStatus;
  readonly orderId?: string;
  /** Days of creation (UTC), both included. */
  readonly from?: string;
  readonly to?: string;
  readonly byDay?: boolean;
}

/** What payments of one coin add up to. `day`: null unless totals are asked for by day. */
export type PaymentTotals = Totals & { readonly coin: Coin; readonly day: string | null };

interface Deps {
  readonly readModel: Pick<ReadModel, 'scan'>;
  readonly lists: Pick<Lists, 'listSessions'>;
}

type Owner = Pick<Caller, 'merchantId' | 'mode'>;
type Day = readonly [day: string, DayTotals];

/** An order has at most so many attempts in its list. */
const MOST_ATTEMPTS = 100;

/** Exact totals of the payments that a list shows under the same filters. The cost grows with the days alone. */
export async function paymentTotals(deps: Deps, owner: Owner, asked: TotalsAsked): Promise<PaymentTotals[]> {
  const { orderId, status: wanted, byDay = false } = asked;
  const sums = new Map<string, PaymentTotals>();
  for await (const [day, groups] of orderId === undefined ? daysOf(deps, owner, asked) : ofOrder(deps, owner, asked))
    for (const [group, totals] of Object.entries(groups)) {
      const [status, coinName] = group.split('/');
      const coin = mustBe(isCoin, coinName);
      if (wanted !== undefined && wanted !== status && (wanted !== 'unpaid' || status === 'paid')) continue;
      const of = { day: byDay ? day : null, coin };
      const key = `${of.day}/${coin}`;
      sums.set(key, { ...of, ...sumOf(sums.get(key), totals, 1) });
    }
  return [...sums].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, totals]) => totals);
}

async function* daysOf({ readModel }: Deps, owner: Owner, { from, to }: TotalsAsked): AsyncGenerator<Day> {
  const prefix = totalsOfMerchant(owner);
  const after = from === undefined ? prefix : prefix + dayBefore(from);
  for await (const rows of rowPages(readModel, TOTALS_TABLE, { prefix, after }))
    for (const { key, row } of rows) {
      const day = key.slice(prefix.length);
      if (to !== undefined && day > to) return;
      yield [day, row];
    }
}

/** The attempts of one order, from their rows. */
async function* ofOrder({ lists }: Deps, owner: Owner, { orderId, from, to }: TotalsAsked): AsyncGenerator<Day> {
  const filters = {
    ...(orderId !== undefined && { orderId }),
    ...(from !== undefined && { createdFrom: startOfDaySec(from) }),
    ...(to !== undefined && { createdTo: startOfDaySec(dayAfter(to)) - 1 }),
  };
  const listed = await lists.listSessions({ ...owner, filters, paging: { page: 1, pageSize: MOST_ATTEMPTS } });
  if (!listed.ok) throw new Error(textOfRefusal(listed.refusal));
  for (const row of listed.value.rows) yield [dayOf(row.listedSec), count({}, row, 1)];
}
