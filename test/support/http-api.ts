import { createHash, createHmac, createSecretKey, randomBytes, randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Express } from 'express';
import { createTokenBucketLimiter } from '../../src/adapters/memory/token-bucket.ts';
import { deepLinks } from '../../src/checkout/deep-links.ts';
import type { ApiKeyId, MerchantId, Mode } from '../../src/domain/values/ids.ts';
import type { NetworkSettings } from '../../src/domain/networks/networks.ts';
import { createHttpApp, type HttpAppOptions } from '../../src/http/app.ts';
import { createHttpServer } from '../../src/http/server.ts';
import { createClientAddress } from '../../src/runtime/http/client-address.ts';
import type { Nonces } from '../../src/ports/event-log/nonces.ts';
import type { AuthenticatedKey, KeyDirectory } from '../../src/features/shared/merchant-api.ts';
import { FakeMerchantApi } from './fake-merchant-api.ts';

/** What is behind a route does not matter here: nothing is called. */
const nothing: unknown = new Proxy(() => undefined, { get: () => () => undefined });
/** For a server whose OpenAPI document has every part. */
export const ALL_PARTS = {
  settings: nothing,
  timeline: nothing,
  audit: nothing,
  ledger: nothing,
  statements: nothing,
  webhooks: nothing,
  endpoints: nothing,
  requestLog: nothing,
  sandbox: nothing,
} as unknown as Partial<HttpAppOptions>;

export interface TestKey {
  readonly apiKey: string;
  readonly secret: string;
  readonly keyId: ApiKeyId;
  readonly merchantId: MerchantId;
  readonly mode: Mode;
}

export function newKey(merchant: string, mode: Mode = 'test'): TestKey {
  return {
    apiKey: `sk_${mode}_${randomBytes(24).toString('hex')}`,
    secret: randomBytes(32).toString('hex'),
    keyId: `key_${randomBytes(8).toString('hex')}` as ApiKeyId,
    merchantId: `mer_${merchant}` as MerchantId,
    mode,
  };
}

export class FakeKeys implements KeyDirectory {
  readonly #keys = new Map<string, AuthenticatedKey>();

  add(key: TestKey, restrictions?: AuthenticatedKey['restrictions']): TestKey {
    const { keyId, merchantId, mode } = key;
    this.#keys.set(hashOf(key), {
      keyId,
      merchantId,
      mode,
      secret: createSecretKey(Buffer.from(key.secret)),
      ...(restrictions && { restrictions }),
    });
    return key;
  }

  revoke(key: TestKey): void {
    this.#keys.delete(hashOf(key));
  }

  find(keyHash: string): AuthenticatedKey | null {
    return this.#keys.get(keyHash) ?? null;
  }
}

const hashOf = (key: TestKey): string => createHash('sha256').update(key.apiKey).digest('hex');

/** Nonces in memory that keep a note of how each was asked to last. */
export class FakeNonces implements Nonces {
  readonly burnt = new Map<string, 'now' | 'with-command'>();
  readonly settled: string[] = [];

  async burn(keyId: string, nonce: string, _nowSec: number, durable: 'now' | 'with-command') {
    const name = `${keyId}/${nonce}`;
    if (this.burnt.has(name)) return { accepted: false };
    this.burnt.set(name, durable);
    return durable === 'now'
      ? { accepted: true }
      : { accepted: true, coCommit: { kind: 'nonce' as const, values: [keyId, nonce] } };
  }

  async settle(keyId: string, nonce: string): Promise<void> {
    this.settled.push(`${keyId}/${nonce}`);
  }

  async close(): Promise<void> {}
}

export const TEST_NETWORKS: readonly NetworkSettings[] = (['ethereum', 'bsc'] as const).map((network, index) => ({
  network,
  mode: 'test',
  chainId: String(31337 + index),
  tokens: [],
  simulated: false,
  mainNetwork: false,
  explorerTransactionUrl: null,
}));

export interface SignOptions {
  readonly timestamp?: string | number;
  readonly nonce?: string;
  readonly signature?: string;
  readonly signedBody?: string | Buffer;
  readonly authorization?: string;
  readonly prefix?: string;
}

export function signedHeaders(key: TestKey, body: string | Buffer, options: SignOptions = {}): Record<string, string> {
  const timestamp = String(options.timestamp ?? Math.floor(Date.now() / 1000));
  const nonce = options.nonce ?? randomUUID();
  const signed = Buffer.concat([Buffer.from(`${timestamp}.${nonce}.`), Buffer.from(options.signedBody ?? body)]);
  const prefix = options.prefix ?? 'X-Service-';
  return {
    Authorization: options.authorization ?? `Bearer ${key.apiKey}`,
    [`${prefix}Timestamp`]: timestamp,
    [`${prefix}Nonce`]: nonce,
    [`${prefix}Signature`]: options.signature ?? createHmac('sha256', key.secret).update(signed).digest('hex'),
  };
}

export interface TestAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // Tests read answers as their readers do; the schemas are checked elsewhere.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly json: any;
}

export interface CallOptions extends SignOptions {
  readonly headers?: Record<string, string>;
  readonly drop?: readonly string[];
}

export interface TestServer {
  readonly base: string;
  readonly api: FakeMerchantApi;
  readonly keys: FakeKeys;
  readonly nonces: FakeNonces;
  readonly key: TestKey;
  readonly server: Server;
  readonly logged: { readonly level: string; readonly fields: object; readonly message: string }[];
  readonly observed: { readonly operation: string; readonly method: string; readonly status: number }[];
  call(
    method: string,
    path: string,
    body?: string | Buffer | object,
    options?: CallOptions & { readonly key?: TestKey },
  ): Promise<TestAnswer>;
  close(): Promise<void>;
}

/** The HTTP API over the in-memory command side, on a free port of the loopback. */
export async function startTestServer(
  overrides: Partial<HttpAppOptions> = {},
  serverFor: (app: Express) => Server = (app) => createHttpServer(app, { debug: () => {} }),
): Promise<TestServer> {
  const api = new FakeMerchantApi();
  const keys = new FakeKeys();
  const nonces = new FakeNonces();
  const key = keys.add(newKey('alpha'));
  const logged: TestServer['logged'] = [];
  const observed: TestServer['observed'] = [];
  const app = createHttpApp({
    api,
    keys,
    nonces,
    lists: {
      list: async () => ({
        ok: true,
        value: {
          rows: [],
          pagination: { page: 1, page_size: 20, total: 0, total_pages: 0, has_more: false, next_cursor: null },
        },
      }),
    },
    rateLimiter: createTokenBucketLimiter({ ratePerSec: 1e6, burst: 1e6 }),
    addresses: {
      limiter: createTokenBucketLimiter({ ratePerSec: 1e6, burst: 1e6 }),
      clientAddress: createClientAddress(0),
    },
    clock: { nowMs: () => Date.now() },
    headerPrefix: 'X-Service-',
    publicUrl: 'http://127.0.0.1:8080',
    networks: () => TEST_NETWORKS,
    deepLinks,
    observer: {
      requestEnded: (operation, method, status) => void observed.push({ operation, method, status }),
      authenticationFailed: () => {},
    },
    logger: {
      error: (fields, message) => void logged.push({ level: 'error', fields, message }),
      debug: (fields, message) => void logged.push({ level: 'debug', fields, message }),
    },
    ...overrides,
  });
  const server = serverFor(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  async function call(
    method: string,
    path: string,
    body?: string | Buffer | object,
    options: CallOptions & { readonly key?: TestKey } = {},
  ): Promise<TestAnswer> {
    const raw =
      body === undefined ? '' : typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
    const headers: Record<string, string> = {
      ...(method === 'GET' ? {} : { 'Content-Type': 'application/json' }),
      ...signedHeaders(options.key ?? key, raw, options),
      ...options.headers,
    };
    for (const name of options.drop ?? []) delete headers[name];
    const response = await fetch(base + path, {
      method,
      headers,
      ...(raw.length === 0 ? {} : { body: raw as string }),
    });
    const text = await response.text();
    let json: unknown = null;
    try {
      json = JSON.parse(text);
    } catch {
      // The test sees the text.
    }
    return { status: response.status, headers: response.headers, text, json };
  }

  const close = (): Promise<void> => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(() => resolve()));
  };
  return { base, api, keys, nonces, key, server, logged, observed, call, close };
}
