import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import { Pool } from 'undici';
import { openSqliteEventStore } from '../../src/adapters/sqlite/event-log/event-store.ts';
import { TRANSFER_TOPIC } from '../../src/adapters/evm/transfer-log.ts';
import type { DomainEvent } from '../../src/domain/events/domain-event.ts';
import { createSessionBody } from '../../src/http/schemas/session.schema.ts';
import { encodeEvent } from '../../src/runtime/commands/codec.ts';
import type { AttachedChain } from './service.ts';
import type { Merchant } from './shop.ts';
import { announce } from '../create-session/announce.ts';

/*
 * The same steps by the least code over the same store: checks signature and body, appends the session, asks the chains
 * for new blocks and their logs, appends the payment once its block is final, posts the signed webhook and appends that
 * it was taken. No look-ups on disk, no second reading, no proofs, no books, no retries, random addresses.
 */

interface Lean {
  readonly dataDir: string;
  readonly chains: readonly (AttachedChain & { readonly creditedDepth: number })[];
  readonly merchants: readonly (Merchant & { readonly webhookUrl: string; readonly webhookSecret: string })[];
}
interface Session {
  readonly id: string;
  readonly merchant: Lean['merchants'][number];
  readonly orderId: string;
  readonly address: string;
  revision: number;
  hash: string;
}

const POLL_MS = 100;
const { dataDir, chains, merchants } = JSON.parse(process.env.BENCH_LEAN!) as Lean;
const store = await openSqliteEventStore({ dataDir });
const byKey = new Map(merchants.map((merchant) => [merchant.apiKey, merchant]));
const byAddress = new Map<string, Session>();
const paidCount = new Map<string, number>();
const pools = new Map(
  merchants.map(({ webhookUrl }) => [webhookUrl, new Pool(new URL(webhookUrl).origin, { connections: 5 })]),
);

async function append(session: Session, event: object): Promise<void> {
  const stream = `session-${session.id}`;
  const metadata = { correlationId: session.id, actor: 'lean', prev: session.hash };
  const revision = session.revision + 1;
  const encoded = encodeEvent({
    id: crypto.randomUUID(),
    stream,
    revision,
    atMs: Date.now(),
    event: event as DomainEvent,
    metadata,
  });
  const result = await store.append({
    stream,
    expected: revision === 0 ? 'no-stream' : revision - 1,
    events: [encoded],
  });
  if (!result.ok) throw new Error('the stream is elsewhere');
  Object.assign(session, { revision, hash: encoded.hash });
}

async function create(merchant: Session['merchant'], body: Buffer): Promise<object> {
  const order = createSessionBody.parse(JSON.parse(body.toString('utf8')));
  const session = {
    id: `cs_${randomBytes(20).toString('hex')}`,
    merchant,
    orderId: order.order_id,
    address: `0x${randomBytes(20).toString('hex')}`,
    ...{ revision: -1, hash: '' },
  };
  await append(session, {
    type: 'SessionCreated',
    data: { ...order, sessionId: session.id, address: session.address },
  });
  byAddress.set(session.address, session);
  const options = chains.map(({ network }) => ({ network, coin: 'USDT', address: session.address, amount: '10.01' }));
  return {
    id: session.id,
    amount_total: order.amount,
    currency: 'usd',
    payment_status: 'unpaid',
    payment_options: options,
  };
}

function authenticated(headers: Record<string, unknown>, body: Buffer): Session['merchant'] | null {
  const merchant = byKey.get(String(headers['authorization']).slice('Bearer '.length));
  const { 'x-service-timestamp': timestamp, 'x-service-nonce': nonce, 'x-service-signature': signature } = headers;
  if (!merchant || Math.abs(Date.now() / 1000 - Number(timestamp)) > 300) return null;
  const expected = createHmac('sha256', merchant.apiSecret)
    .update(`${String(timestamp)}.${String(nonce)}.`)
    .update(body)
    .digest();
  const given = Buffer.from(String(signature), 'hex');
  return given.length === expected.length && timingSafeEqual(given, expected) ? merchant : null;
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body = Buffer.concat(chunks);
    const merchant = authenticated(request.headers, body);
    response.setHeader('content-type', 'application/json');
    if (merchant === null) return void response.writeHead(401).end('{}');
    const listed = { data: [], pagination: { total: paidCount.get(merchant.apiKey) ?? 0 } };
    const answer = request.method === 'GET' ? Promise.resolve(listed) : create(merchant, body);
    answer.then(
      (value) => response.end(JSON.stringify(value)),
      () => response.writeHead(400).end('{}'),
    );
  });
});

interface Log {
  readonly topics: readonly string[];
  readonly data: string;
  readonly transactionHash: string;
  readonly blockNumber: string;
}

async function follow({ url, token, creditedDepth, network }: Lean['chains'][number]): Promise<void> {
  const pool = new Pool(url, { connections: 2 });
  const call = async <Answer>(method: string, params: unknown[]): Promise<Answer> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const answer = await pool.request({
      path: '/',
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    return ((await answer.body.json()) as { result: Answer }).result;
  };
  const quantity = (number: number): string => `0x${number.toString(16)}`;
  let read = Number(await call<string>('eth_blockNumber', [])) - creditedDepth;
  for (;;) {
    const { number } = await call<{ number: string }>('eth_getBlockByNumber', ['latest', false]);
    const final = Number(number) - creditedDepth;
    if (final <= read) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      continue;
    }
    const filter = {
      address: token,
      topics: [TRANSFER_TOPIC],
      fromBlock: quantity(read + 1),
      toBlock: quantity(final),
    };
    const logs = await call<readonly Log[]>('eth_getLogs', [filter]);
    await Promise.all(logs.map((log) => credit(log, network)));
    read = final;
  }
}

async function credit({ topics, data, transactionHash, blockNumber }: Log, network: string): Promise<void> {
  const session = byAddress.get(`0x${topics[2]!.slice(26)}`);
  if (!session) return;
  byAddress.delete(session.address);
  const { merchant, id, orderId } = session;
  await append(session, { type: 'SessionPaid', data: { network, transactionHash, blockNumber, units: data } });
  paidCount.set(merchant.apiKey, (paidCount.get(merchant.apiKey) ?? 0) + 1);
  const object = {
    amount: '10.01',
    status: 'completed',
    currency: 'USDT',
    exchange_rate: '1.0002',
    order_id: orderId,
    session_id: id,
    source: 'api',
  };
  const eventId = `evt_${process.hrtime.bigint()}`;
  const createdAt = Math.floor(Date.now() / 1000);
  const body = JSON.stringify({ id: eventId, type: 'payment.completed', created_at: createdAt, data: { object } });
  const nonce = crypto.randomUUID();
  const headers = {
    'content-type': 'application/json',
    'x-service-timestamp': String(createdAt),
    'x-service-nonce': nonce,
    'x-service-event-id': eventId,
    'x-service-signature': createHmac('sha256', merchant.webhookSecret)
      .update(`${createdAt}.${nonce}.${body}`)
      .digest('hex'),
  };
  const answer = await pools
    .get(merchant.webhookUrl)!
    .request({ path: new URL(merchant.webhookUrl).pathname, method: 'POST', headers, body });
  await answer.body.dump();
  await append(session, { type: 'DeliverySucceeded', data: { eventId, status: answer.statusCode } });
}

for (const chain of chains) void follow(chain);
process.on('SIGTERM', () => void store.close().finally(() => process.exit(0)));
announce(server.listen(0, '127.0.0.1'));
