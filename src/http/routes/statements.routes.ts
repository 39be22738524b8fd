import { isMonth } from '../../domain/values/calendar.ts';
import type { JsonValue } from '../../ports/read-model/read-model.ts';
import type { Caller } from '../../features/shared/merchant-api.ts';
import { NOT_FOUND, answer, type Answer } from '../answer.ts';
import { route, type Operation, type Route } from '../operation.ts';
import { statementPage } from '../presenters/statement-page.ts';
import { getMonthStatementQuery, monthStatement, type MonthStatementBody } from '../schemas/statement.schema.ts';
import { unlessBehind } from './audit.routes.ts';
import { must } from '../../domain/values/must.ts';

export interface StatementsApi {
  /**
   * The evidence of a closed month's statement; null if there is none, or no checkpoint covers it yet. Rejects with
   * `AuditTreeBehind`.
   */
  monthStatement(owner: Pick<Caller, 'merchantId' | 'mode'>, month: string): Promise<JsonValue | null>;
  /** The lines of the statement as CSV; null if there is none. */
  statementLines(owner: Pick<Caller, 'merchantId' | 'mode'>, month: string): Promise<AsyncIterable<string> | null>;
}

const PLACE = {
  account: 'liabilities:merchants:mer_k7w2q5m4n6p3r7s2t5v4:payable',
  network: 'ethereum',
  coin: 'USDT',
} as const;
const ROOT = 'CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=';
const EXAMPLE = {
  ...{ type: 'StatementIssued', mode: 'live', period: '2026-01', merchant_id: 'mer_k7w2q5m4n6p3r7s2t5v4' },
  ...{ closing: '0b8e5a52-6d0e-4c3e-9a55-3c9f0d3f8f11', through_event: '6d0e0b8e-5a52-4c3e-9a55-3c9f0d3f8f12' },
  accounts: [{ ...PLACE, opening: '0.00', debits: '0.00', credits: '13.50', closing: '-13.50' }],
  kinds: [{ kind: 'payment', ...PLACE, lines: 1, debits: '0.00', credits: '13.50' }],
  lines: 1,
  lines_sha256: '5857e13ceb90f67f3f4ad2de938a438d6bc2ea50fdb40fee7e28c641774a3f35',
  actor: 'olga',
  issued_at_sec: 1770000000,
  ...{ event: '4c3e0b8e-5a52-4c3e-9a55-3c9f0d3f8f13', recorded_at: 1770000000 },
  verifier_key: 'quittance/3f0c5f6c9b1e2d47+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8',
  checkpoint: {
    ...{ origin: 'quittance/3f0c5f6c9b1e2d47', size: 4821, root_hash: ROOT, created: 1790000000 },
    checkpoint: `quittance/3f0c5f6c9b1e2d47\n4821\n${ROOT}\n\n— quittance/3f0c5f6c9b1e2d47 Az3grlgtzPICa5OS8npVmf1M...\n`,
  },
  proof: {
    leaf_index: 4711,
    text: '["ledger-statements-live-2026-01",1,"4c3e...","StatementIssued",1,1770000000123,{...},{...}]',
    ...{ hash: '0ac5186a91863e8e1d90c808014aa89bf5da8e3ee1d9f07630f0378f68f1ab62', inclusion_proof: [ROOT] },
  },
} satisfies MonthStatementBody;

const FILES = {
  csv: {
    contentType: 'text/csv; charset=utf-8',
    description: 'With `format=csv`: the lines of the month, whose SHA-256 is in the statement.',
  },
  html: {
    contentType: 'text/html; charset=utf-8',
    description: 'With `format=html`: the statement as a printable page.',
  },
} as const;

const getMonthStatementOperation = {
  id: 'getMonthStatement',
  method: 'get',
  path: '/v1/ledger/statements/{month}',
  tag: 'Ledger',
  scope: 'books:read',
  summary: 'The statement of a closed month, as evidence',
  description:
    'The opening and closing balances of your accounts and their movements, as sealed when the month was closed, with the proof under a signed checkpoint. Keep it unchanged; it can be verified without the service. Debits are positive in `accounts`: what you are owed is a credit. `format` returns its lines as CSV, or a printable page.',
  query: getMonthStatementQuery,
  response: monthStatement,
  files: FILES,
  errors: ['invalid_request', 'unknown_field', 'not_found', 'service_unavailable'],
  example: { response: EXAMPLE },
} as const satisfies Operation;

export function statementsRoutes(api: StatementsApi): Route[] {
  return [
    route(getMonthStatementOperation, async ({ caller, params, query: { format = 'json' } }) => {
      const month = must(params.month);
      if (!isMonth(month)) return NOT_FOUND;
      if (format === 'csv') {
        const chunks = await api.statementLines(caller, month);
        return chunks === null ? NOT_FOUND : file('csv', month, chunks);
      }
      return unlessBehind(async () => {
        const statement = await api.monthStatement(caller, month);
        if (statement === null) return NOT_FOUND;
        return format === 'json'
          ? answer(statement as object)
          : file('html', month, [statementPage(statement as unknown as MonthStatementBody)]);
      });
    }),
  ];
}

const file = (format: keyof typeof FILES, month: string, chunks: AsyncIterable<string> | Iterable<string>): Answer => ({
  ok: true,
  file: { contentType: FILES[format].contentType, name: `statement-${month}.${format}`, chunks },
});
