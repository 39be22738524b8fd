import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient, type Quittance } from '../../../packages/client/src/client.ts';
import type { StatementsApi } from '../../../src/http/routes/statements.routes.ts';
import { startTestServer, type TestServer } from '../../support/http-api.ts';

const PLACE = { account: 'liabilities:merchants:mer_1:payable', network: 'ethereum', coin: 'USDT' };
const STATEMENT = {
  type: 'StatementIssued',
  mode: 'test',
  period: '2026-10',
  merchant_id: '<mer_1>',
  closing: 'c',
  through_event: 't',
  actor: 'olga',
  accounts: [{ ...PLACE, opening: '-2.00', debits: '1.25', credits: '10.00', closing: '-10.75' }],
  kinds: [{ kind: 'payment', ...PLACE, lines: 3, debits: '0.00', credits: '10.00' }],
  lines: 3,
  lines_sha256: 'ab',
  issued_at_sec: 1_790_000_000,
  event: 'e',
  recorded_at: 1_790_000_000,
  verifier_key: 'key',
  checkpoint: { origin: 'o', size: 7, root_hash: 'root', created: 1, checkpoint: 'text' },
  proof: { leaf_index: 1, text: '[]', hash: '00', inclusion_proof: [] },
};
let breaksOff = false;
const statements: StatementsApi = {
  monthStatement: async (_, month) => (month === '2026-10' ? STATEMENT : null),
  statementLines: async (_, month) => (month === '2026-10' ? lines() : null),
};
async function* lines(): AsyncGenerator<string> {
  yield 'entry,amount\r\n';
  for (let entry = 1; entry <= 20_000; entry += 1) {
    if (breaksOff && entry === 10_000) throw new Error('the books are gone');
    yield `${entry},1.00\r\n`;
  }
}

let service: TestServer;
let quittance: Quittance;
beforeAll(async () => {
  service = await startTestServer({ statements });
  quittance = createClient({
    baseUrl: service.base,
    apiKey: service.key.apiKey,
    apiSecret: service.key.secret,
    maxRetries: 0,
  });
});
afterAll(() => service.close());

describe('the statement of a month', () => {
  it('is evidence in JSON, its lines in CSV however many they are, or a page that says what is owed above zero', async () => {
    expect(await quittance.ledger.statement('2026-10')).toEqual(STATEMENT);
    const csv = await quittance.ledger.statementFile('2026-10', 'csv');
    expect(csv.split('\r\n')).toHaveLength(20_002);
    const page = await quittance.ledger.statementFile('2026-10', 'html');
    expect(page).toMatch(/^<!doctype html>/);
    expect(
      page
        .match(/<td class="number">([^<]*)<\/td>/g)!
        .slice(0, 4)
        .map((cell) => cell.replaceAll(/<[^>]*>/g, '')),
    ).toEqual([...['2.00', '1.25', '10.00', '10.75']]);
    expect(page).toContain('&lt;mer_1&gt;');
  });

  it('is named as a file of its kind', async () => {
    for (const [format, type] of [
      ['csv', 'text/csv; charset=utf-8'],
      ['html', 'text/html; charset=utf-8'],
    ] as const) {
      const { status, headers } = await service.call('GET', `/v1/ledger/statements/2026-10?format=${format}`);
      expect([status, headers.get('content-type'), headers.get('content-disposition')]).toEqual([
        ...[200, type, `attachment; filename="statement-2026-10.${format}"`],
      ]);
      expect(headers.get('x-request-id')).toMatch(/^req_/);
    }
  });

  it('is not there in any form for a month without one, and no form but these is known', async () => {
    for (const format of ['json', 'csv', 'html'])
      expect((await service.call('GET', `/v1/ledger/statements/2026-09?format=${format}`)).status).toBe(404);
    const { status, json } = await service.call('GET', '/v1/ledger/statements/2026-10?format=pdf');
    expect([status, json.error.param]).toEqual([400, 'format']);
  });

  it('is never taken for whole when its lines break off', async () => {
    breaksOff = true;
    await expect(quittance.ledger.statementFile('2026-10', 'csv')).rejects.toMatchObject({ name: 'ConnectionError' });
  });
});
