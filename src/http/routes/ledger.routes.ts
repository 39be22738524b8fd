import type { MerchantLedger } from '../../features/ledger/merchant-ledger.ts';
import { answer } from '../answer.ts';
import { answerOf } from '../answer-of.ts';
import { route, type Operation, type Route } from '../operation.ts';
import { presentBalances, presentEntry, presentSettlement } from '../presenters/ledger.presenter.ts';
import {
  LEDGER_BALANCES_EXAMPLE,
  LEDGER_ENTRIES_EXAMPLE,
  SETTLEMENT_REPORT_EXAMPLE,
} from '../schemas/ledger.example.ts';
import {
  ledgerBalances,
  ledgerBalancesQuery,
  ledgerEntries,
  ledgerRangeQuery,
  settlementReport,
  type LedgerRangeQuery,
} from '../schemas/ledger.schema.ts';
import { DEFAULT_PAGE_SIZE } from '../schemas/list.schema.ts';

/** The books of one merchant and mode. */
export type LedgerApi = Pick<MerchantLedger, 'balances' | 'entries' | 'settlement'>;

const TAG = 'Ledger';
const ERRORS = ['invalid_request', 'unknown_field'] as const;

const getLedgerBalancesOperation = {
  id: 'getLedgerBalances',
  method: 'get',
  path: '/v1/ledger/balances',
  tag: TAG,
  scope: 'books:read',
  readsLookUps: true,
  summary: 'What you are owed',
  description:
    'By network and coin, now or at the end of any day by either clock. A day of a closed month never changes: later findings are posted to the month that is open then.',
  query: ledgerBalancesQuery,
  response: ledgerBalances,
  errors: ERRORS,
  example: { response: LEDGER_BALANCES_EXAMPLE },
} as const satisfies Operation;

const listLedgerEntriesOperation = {
  id: 'listLedgerEntries',
  method: 'get',
  path: '/v1/ledger/entries',
  tag: TAG,
  scope: 'books:read',
  readsLookUps: true,
  summary: 'List the entries of your accounts, in recording order',
  description: 'By cursor. A page may hold fewer entries than requested, or none, while `has_more` is true.',
  query: ledgerRangeQuery,
  response: ledgerEntries,
  errors: ERRORS,
  example: { response: LEDGER_ENTRIES_EXAMPLE },
} as const satisfies Operation;

const getSettlementReportOperation = {
  id: 'getSettlementReport',
  method: 'get',
  path: '/v1/ledger/settlement',
  tag: TAG,
  scope: 'books:read',
  readsLookUps: true,
  summary: 'Every change of what you are owed, in lines that can be summed',
  description:
    'By cursor. The sum of an amount column over all lines of a coin and network is closing less opening; fiat values can be summed by currency.',
  query: ledgerRangeQuery,
  response: settlementReport,
  errors: ERRORS,
  example: { response: SETTLEMENT_REPORT_EXAMPLE },
} as const satisfies Operation;

const rangeOf = ({ clock, from, to }: LedgerRangeQuery) =>
  ({ clock: clock ?? 'recorded', from: from ?? null, to: to ?? null }) as const;
const pagingOf = (query: LedgerRangeQuery) => ({
  cursor: query.cursor ?? '',
  pageSize: Number(query.page_size ?? DEFAULT_PAGE_SIZE),
});

export function ledgerRoutes(ledger: LedgerApi): Route[] {
  return [
    route(getLedgerBalancesOperation, async ({ caller, query }) => {
      const asOf = { day: query.as_of ?? null, clock: query.clock ?? 'recorded' };
      return answer(presentBalances(asOf, await ledger.balances(caller, asOf)));
    }),
    route(listLedgerEntriesOperation, async ({ caller, query }) =>
      answerOf(await ledger.entries(caller, rangeOf(query), pagingOf(query)), ({ entries, pagination }) => ({
        data: entries.map((entry) => presentEntry(entry, caller.merchantId)),
        pagination,
      })),
    ),
    route(getSettlementReportOperation, async ({ caller, query }) =>
      answerOf(await ledger.settlement(caller, rangeOf(query), pagingOf(query)), presentSettlement),
    ),
  ];
}
