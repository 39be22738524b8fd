import { createHash, createSecretKey } from 'node:crypto';
import { createTokenBucketLimiter } from '../../src/adapters/rate-limit/token-bucket.adapter.ts';
import { deepLinks } from '../../src/checkout/deep-links.ts';
import type { ApiKeyId, MerchantId } from '../../src/domain/ids.ts';
import { createHttpApp } from '../../src/http/app.ts';
import { createHttpServer } from '../../src/http/server.ts';
import type { AuthenticatedKey } from '../../src/use-cases/merchant-api.ts';
import { FakeMerchantApi } from '../../test/support/fake-merchant-api.ts';
import { FakeNonces, TEST_NETWORKS } from '../../test/support/http-api.ts';
import { announce } from './announce.ts';

/* The product's HTTP layer over a command side in memory: what the layer itself costs, without the store. */
const apiKey = process.env.BENCH_API_KEY!;
const key: AuthenticatedKey = {
  keyId: 'key_bench' as ApiKeyId,
  merchantId: 'mer_bench' as MerchantId,
  mode: 'test',
  secret: createSecretKey(Buffer.from(process.env.BENCH_API_SECRET!)),
};
const keyHash = createHash('sha256').update(apiKey).digest('hex');

const app = createHttpApp({
  api: new FakeMerchantApi(),
  keys: { find: (hash) => (hash === keyHash ? key : null) },
  nonces: new FakeNonces(),
  lists: { list: () => Promise.reject(new Error('not in this bench')) },
  rateLimiter: createTokenBucketLimiter({ ratePerSec: 1e6, burst: 1e6 }),
  clock: { nowMs: () => Date.now() },
  headerPrefix: 'X-Service-',
  publicUrl: 'http://127.0.0.1',
  networks: () => TEST_NETWORKS,
  deepLinks,
  observer: { requestEnded: () => {}, authenticationFailed: () => {} },
  logger: { error: (fields) => void process.stderr.write(`${JSON.stringify(fields)}\n`), debug: () => {} },
});
const server = createHttpServer(app);
announce(server);
server.listen(0, '127.0.0.1');
