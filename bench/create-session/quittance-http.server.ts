import { createHash, createSecretKey } from 'node:crypto';
import { createTokenBucketLimiter } from '../../src/adapters/memory/token-bucket.ts';
import { deepLinks } from '../../src/checkout/deep-links.ts';
import type { ApiKeyId, MerchantId, SessionId } from '../../src/domain/values/ids.ts';
import { createHttpApp } from '../../src/http/app.ts';
import { createClientAddress } from '../../src/runtime/http/client-address.ts';
import { createHttpServer } from '../../src/http/server.ts';
import type { Nonces } from '../../src/ports/event-log/nonces.ts';
import type { AuthenticatedKey, MerchantApi } from '../../src/features/shared/merchant-api.ts';
import { sessionView } from '../../test/support/fake-merchant-api.ts';
import { TEST_NETWORKS } from '../../test/support/http-api.ts';
import { announce } from './announce.ts';

/* The product's HTTP layer over a command side in memory: what the layer itself costs, without the store. */
const apiKey = process.env.BENCH_API_KEY!;
const key: AuthenticatedKey = {
  merchantId: 'mer_bench' as MerchantId,
  mode: 'test',
  keyId: 'key_bench' as ApiKeyId,
  secret: createSecretKey(Buffer.from(process.env.BENCH_API_SECRET!)),
};
const keyHash = createHash('sha256').update(apiKey).digest('hex');

/** Both memories forget all they hold now and then, so that it is the layer that is measured and not a growing heap. */
const MOST_KEPT = 20_000;
const used = new Set<string>();
const nonces: Pick<Nonces, 'burn' | 'settle' | 'close'> = {
  burn: async (_keyId, nonce) => {
    if (used.size > MOST_KEPT) used.clear();
    return { accepted: used.size < used.add(nonce).size };
  },
  settle: async () => {},
  close: async () => {},
};
const orders = new Map<string, SessionId>();
const notMeasured = (): never => {
  throw new Error('not in this bench');
};
const api: MerchantApi = {
  createSession: async (caller, input) => {
    if (orders.size > MOST_KEPT) orders.clear();
    const id = `cs_${String(orders.size).padStart(32, 'a')}` as SessionId;
    orders.set(input.orderId, id);
    return {
      ok: true,
      value: sessionView(caller, id, input, { coin: 'USDT', rate: '1.0002', nowSec: Math.floor(Date.now() / 1000) }),
    };
  },
  getSession: notMeasured,
  cancelSession: notMeasured,
  requestRefund: notMeasured,
  getRefund: notMeasured,
};

const app = createHttpApp({
  api,
  keys: { find: (hash) => (hash === keyHash ? key : null) },
  nonces,
  lists: { list: notMeasured },
  rateLimiter: createTokenBucketLimiter({ ratePerSec: 1e6, burst: 1e6 }),
  addresses: {
    limiter: createTokenBucketLimiter({ ratePerSec: 1e6, burst: 1e6 }),
    clientAddress: createClientAddress(0),
  },
  clock: { nowMs: () => Date.now() },
  headerPrefix: 'X-Service-',
  publicUrl: 'http://127.0.0.1',
  networks: () => TEST_NETWORKS,
  deepLinks,
  observer: { requestEnded: () => {}, authenticationFailed: () => {} },
  logger: { error: (fields) => void process.stderr.write(`${JSON.stringify(fields)}\n`), debug: () => {} },
});
const server = createHttpServer(app, { debug: () => {} });
announce(server);
server.listen(0, '127.0.0.1');
