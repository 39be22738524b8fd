import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { adviceOf } from '../../../../src/adapters/evm/limit-hints.ts';
import { DIALECTS, dialectOf, type Dialect } from '../../../../src/adapters/rpc/dialects.ts';
import { createHttpProvider, type HttpProvider } from '../../../../src/adapters/rpc/http-provider.ts';
import { broadcastAt } from '../../../../src/adapters/tron/broadcast.ts';
import { ProviderFault, RpcError, type NotedRefusal } from '../../../../src/ports/chain/rpc-pool.ts';
import dialects from '../../../fixtures/chains/dialects.json' with { type: 'json' };

type Row = (typeof dialects)[number];
const rows: readonly [string, Row][] = dialects.map((row) => [`${row.provider}, ${row.call}: ${textOf(row)}`, row]);

let server: Server;
let shown: Row;
const noted: NotedRefusal[] = [];
const providers = new Map<string, HttpProvider>();

beforeAll(async () => {
  server = createServer((_, response) => {
    const { status, answer } = shown;
    response.writeHead(status).end(typeof answer === 'string' ? answer : JSON.stringify(answer));
  });
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  for (const family of ['evm', 'solana', 'tron'] as const)
    providers.set(
      family,
      createHttpProvider({
        ...{ url: `http://127.0.0.1:${port}`, headers: {}, timeoutMs: 5_000, maxAnswerBytes: 100_000 },
        ...{ family, maxConcurrency: 4, onRequest: () => undefined, onRefusal: (refusal) => noted.push(refusal) },
      }),
    );
});
afterAll(async () => {
  for (const provider of providers.values()) await provider.close();
  server.close();
});

/** What our client makes of the answer. */
async function said(row: Row): Promise<RpcError | ProviderFault> {
  shown = row;
  noted.length = 0;
  const provider = providers.get(row.network)!;
  const error: unknown = await (
    row.call === 'wallet/broadcasttransaction'
      ? broadcastAt({ ...provider, name: 'one', report: () => undefined }, {})
      : row.network === 'tron'
        ? provider.post(`/${row.call}`, {}, row.call)
        : provider.call(row.call, [])
  ).then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error instanceof RpcError || error instanceof ProviderFault) return error;
  throw new Error('was taken for an answer');
}

const KINDS: Readonly<Record<string, string>> = {
  'slow-down': 'rate-limited',
  'quota-used': 'quota-used',
};

describe('what providers say', () => {
  test.each(rows)('%s', async (_, row) => {
    const error = await said(row);
    if (error instanceof RpcError) expect(error.means).toBe(row.means);
    else expect(error.kind).toBe(KINDS[row.means] ?? 'too-large');
    // What is said against a transaction is shown where it waits.
    if (row.call.startsWith('wallet/broadcast')) return expect(noted).toEqual([]);
    expect(noted.map(({ kind }) => kind)).toEqual(
      row.means === 'unknown' || (row.means === 'quota-used' && typeof row.answer !== 'string') ? [row.means] : [],
    );
  });

  test('has a real answer for each row of the table', () => {
    const used = new Set<Dialect | undefined>(dialects.map((row) => dialectOf(saidIn(row))));
    expect(DIALECTS.filter((row) => !used.has(row))).toEqual([]);
  });
});

/** Asked for 50,000 blocks. */
const [FROM, TO] = [0x1180fca, 0x1180fca + 49_999];
const advised = rows.filter(([, row]) => 'advice' in row && row.advice !== undefined);

describe('a refused range of logs', () => {
  test.each(advised)('%s', async (_, row) => {
    expect(adviceOf(await said(row), FROM, TO)).toEqual(row.advice);
  });

  test('that is too long to read is halved; other faults do not change the range', () => {
    expect(adviceOf(new ProviderFault('too-large', ''), FROM, TO)).toEqual({ kind: 'halve' });
    expect(adviceOf(new ProviderFault('unreachable', ''), FROM, TO)).toEqual({ kind: 'refused' });
  });
});

interface Refusal {
  readonly error?: string | { readonly code: number; readonly message?: string; readonly data?: unknown };
  readonly Error?: string;
  /** Of a broadcast on TRON, with its message in hex. */
  readonly code?: string;
  readonly message?: string;
}

function saidIn(row: Row): Parameters<typeof dialectOf>[0] {
  const family = row.network as 'evm' | 'solana' | 'tron';
  const { error } = (typeof row.answer === 'string' ? {} : row.answer) as Refusal;
  const code = typeof error === 'object' ? error.code : 0;
  return { family, method: row.call, status: row.status, code, text: textOf(row) };
}

function textOf({ answer }: Row): string {
  if (typeof answer === 'string') return answer;
  const { error, Error: text = '', code, message } = answer as Refusal;
  if (code !== undefined) return `${code}: ${Buffer.from(message ?? '', 'hex').toString('utf8')}`;
  if (typeof error !== 'object') return error ?? text;
  const { data } = error;
  const detail = typeof data === 'object' && data !== null && 'payload' in data ? ` ${String(data.payload)}` : '';
  return `${error.message ?? ''}${detail}`;
}
