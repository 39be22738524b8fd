import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Registry, collectDefaultMetrics } from 'prom-client';
import { createRates } from '../adapters/rates/create-rates.ts';
import { createTokenBucketLimiter } from '../adapters/rate-limit/token-bucket.adapter.ts';
import { vetWebhookUrl, type UrlRules } from '../adapters/webhook-http/webhook-url.ts';
import { serveAdmin } from '../cli/admin-server.ts';
import type { AdminCommands } from '../cli/admin-commands.ts';
import type { Config, RateProviderName } from '../config.ts';
import type { Mode } from '../domain/ids.ts';
import type { Network, NetworkSettings } from '../domain/networks.ts';
import { createHttpServer } from '../http/server.ts';
import { HealthChecks } from '../ops/health.ts';
import type { Logger } from '../ops/logger.ts';
import { startOpsServer } from '../ops/ops-server.ts';
import type { AddressDeriver } from '../ports/addresses.ts';
import type { Chain } from '../ports/chain.ts';
import { toSec, type Clock } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';
import type { RateLimiter } from '../ports/rate-limiter.ts';
import { ExpireSessions } from '../processes/expire-sessions.process.ts';
import { startAddressPool } from '../runtime/address-pool.ts';
import { ProjectionRunner } from '../runtime/projection-runner.ts';
import { createPersonalSealer, createSealer, type MasterKeys } from '../runtime/sealing.ts';
import { sessionStream } from '../domain/streams.ts';
import { addressIndex } from '../../projections/address-index.projection.ts';
import { depositsByBlock } from '../../projections/deposits-by-block.projection.ts';
import { openPayouts } from '../../projections/open-payouts.projection.ts';
import { merchantDirectory } from '../../projections/merchant-directory.projection.ts';
import { sessionView } from '../../projections/session-view.projection.ts';
import { webhookDeliveries } from '../../projections/webhook-deliveries.projection.ts';
import { adminCommands } from './admin.ts';
import { watch, type WatchedNetwork } from './chains.ts';
import { startCore, type Core } from './core.ts';
import type { EmbeddedStorage } from './embedded.ts';
import { startPayouts, type PayoutParts } from './payouts.ts';
import type { TestWallet } from './sandbox-desk.ts';
import { createWebApp } from './web.ts';
import { startWebhooks, webhookCommands } from './webhooks.ts';

export interface ServiceParts {
  readonly config: Config;
  readonly storage: EmbeddedStorage;
  readonly masterKeys: MasterKeys;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly derivers: readonly AddressDeriver[];
  readonly chains: readonly Chain[];
  readonly networks: (mode: Mode) => readonly NetworkSettings[];
  readonly rateProviders: readonly RateProviderName[];
  readonly webhookRules: UrlRules;
  /** Absent: refunds are accepted and stay pending. */
  readonly payouts?: PayoutParts | null;
  /** Null outside the sandbox. */
  readonly testWallet: ((core: Core) => TestWallet) | null;
  readonly moreAdmin?: (core: Core) => AdminCommands;
}

export interface RunningService {
  readonly core: Core;
  readonly baseUrl: string;
  readonly opsUrl: string;
  readonly watched: readonly WatchedNetwork[];
  close(): Promise<void>;
}

/** The projections of the read side; each rebuilds from the ledger alone. */
export const PROJECTIONS = [sessionView, addressIndex, merchantDirectory, depositsByBlock, openPayouts, webhookDeliveries] as const;

const BURST_SECONDS = 5;
const CLOSE_GRACE_MS = 5_000;
const UNLIMITED: RateLimiter = { take: () => ({ allowed: true, limit: 0, remaining: 0, retryAfterSec: 0, resetSec: 0 }) };

/** Starts the whole service on open storage. Resolves when requests are accepted. */
export async function startService(parts: ServiceParts): Promise<RunningService> {
  const { config, storage, clock, random, log } = parts;
  const { store, readModel } = storage;
  const health = new HealthChecks();
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const rates = createRates(rateSettings(parts), clock, (provider, message) => log.warn({ provider, message }, 'a rate provider failed'));
  const addresses = startAddressPool({ store, derivers: parts.derivers, node: String(config.NODE_NUMBER), clock, random, log });
  const runner = new ProjectionRunner({
    store,
    readModel,
    projections: PROJECTIONS,
    clock,
    hooks: {
      onParked: (event) => log.error({ ...event }, 'a projection parked an event'),
      onError: (error) => log.error({ err: error }, 'a projection failed'),
    },
  });
  await runner.start();
  await addresses.ready();
  const core = await startCore(
    config,
    {
      store,
      readModel,
      personalKeys: storage.personalKeys,
      rates,
      addresses,
      clock,
      random,
      sealer: createSealer(parts.masterKeys),
      personalSealer: createPersonalSealer(parts.masterKeys),
      vetWebhookUrl: (url) => vetWebhookUrl(url, parts.webhookRules),
      networks: parts.networks,
      soleWriter: true,
    },
    log,
  );
  const testWallet = parts.testWallet?.(core) ?? null;
  const [oldest] = await store.readAll({ after: null, limit: 1, streamPrefixes: ['session-'] });
  const watchDeps = { core, store, readModel, clock, random, log, oldestSessionSec: oldest ? toSec(oldest.atMs) : null };
  const watched = parts.chains.map((chain) => watch(watchDeps, chain, { sandbox: testWallet !== null }));
  await Promise.all(watched.map(({ watcher }) => watcher.start()));
  const payouts = parts.payouts ? await startPayouts(parts.payouts, { core, store, readModel, rates, clock, random, log }) : null;
  const expiry = startExpiry(config, core, watched, clock, random, log);
  const caughtUp = async (): Promise<void> => {
    const head = await store.head();
    if (head !== null) await runner.caughtUpTo(head);
  };
  const webhooks = await startWebhooks({ core, store, readModel, answers: storage.answers, clock, random, log, rules: parts.webhookRules, headerPrefix: config.HEADER_PREFIX, caughtUp });
  const rateLimiter = config.RATE_LIMIT_PER_KEY === 0 ? UNLIMITED : createTokenBucketLimiter({ ratePerSec: config.RATE_LIMIT_PER_KEY, burst: config.RATE_LIMIT_PER_KEY * BURST_SECONDS });
  const confirmationsOf = (mode: Mode, network: Network, block: number): number => {
    const head = watched.find(({ settings }) => settings.mode === mode && settings.network === network)?.watcher.status().headBlock;
    return head === null || head === undefined ? 0 : Math.max(0, head - block + 1);
  };
  const web = await listen(config, (publicUrl) => createWebApp({ config, publicUrl, core, storage, caughtUp, webhooks: webhooks.desk, rateLimiter, clock, log, networks: parts.networks, confirmationsOf, testWallet }));
  const ops = await startOpsServer({ host: config.HOST, port: config.OPS_PORT, registry, health });
  const admin = await serveAdmin(
    config.DATA_DIR,
    adminCommands({ core, store, testWallet, more: { ...webhookCommands(core, webhooks.desk, random), ...parts.moreAdmin?.(core) } }),
  );
  addHealth(health, watched, runner);
  health.started();
  return {
    core,
    baseUrl: web.publicUrl,
    opsUrl: `http://${hostInUrl(config.HOST)}:${(ops.address() as AddressInfo).port}`,
    watched,
    close: async () => {
      health.stopping();
      await Promise.all([closeServer(web.server), closeServer(admin)]);
      await payouts?.stop();
      await expiry.close();
      await Promise.all(watched.map(({ watcher }) => watcher.stop()));
      await webhooks.close();
      await core.close();
      await runner.stop();
      await addresses.close();
      await rates.close();
      await closeServer(ops);
      await storage.close();
    },
  };
}

function rateSettings({ config, rateProviders }: ServiceParts) {
  return {
    providers: rateProviders,
    staticText: config.RATE_STATIC,
    urls: { coinbase: config.RATE_COINBASE_URL, kraken: config.RATE_KRAKEN_URL, coingecko: config.RATE_COINGECKO_URL },
    maxAgeSec: config.RATE_MAX_AGE_SECONDS,
  };
}

function startExpiry(config: Config, core: Core, watched: readonly WatchedNetwork[], clock: Clock, random: Random, log: Logger): ExpireSessions {
  const expiry = new ExpireSessions({
    due: core.due,
    clock,
    maxWaitSec: config.EXPIRY_MAX_WAIT_SECONDS,
    scannedToSec: (mode, network) => watched.find(({ settings }) => settings.mode === mode && settings.network === network)?.watcher.scannedToSec() ?? null,
    expire: async (id, nowSec, scannedToSec) => {
      await core.sessionHandler.execute(sessionStream(id), { type: 'ExpireSession', nowSec, scannedToSec }, { correlationId: random.uuid(), actor: 'clock' });
    },
    onError: (error, id) => log.error({ err: error, session: id }, 'a session could not be expired'),
  });
  expiry.start();
  return expiry;
}

function addHealth(health: HealthChecks, watched: readonly WatchedNetwork[], runner: ProjectionRunner): void {
  health.add(() =>
    watched.map(({ settings, watcher }) => {
      const { consecutiveFailures } = watcher.status();
      return { name: `chain:${settings.mode}:${settings.network}`, state: consecutiveFailures > 2 ? 'degraded' : 'ok', ...(consecutiveFailures > 0 && { detail: `${consecutiveFailures} failed reads in a row` }) };
    }),
  );
  health.add(() => runner.status().map(({ projection, hasCaughtUp, lagEvents }) => ({ name: `projection:${projection}`, state: hasCaughtUp ? 'ok' : 'degraded', detail: `${lagEvents} events behind` })));
}

async function listen(config: Config, app: (publicUrl: string) => Parameters<typeof createHttpServer>[0]): Promise<{ server: Server; publicUrl: string }> {
  // With PORT=0 the address is known only once the server listens, and links need the address.
  let handler: Parameters<typeof createHttpServer>[0] | null = null;
  const port = config.PORT !== 0 ? config.PORT : await freePort(config.HOST);
  const publicUrl = config.PUBLIC_URL?.replace(/\/$/, '') ?? `http://${hostInUrl(config.HOST)}:${port}`;
  handler = app(publicUrl);
  const server = createHttpServer(handler);
  await new Promise<void>((done, failed) => {
    server.once('error', failed);
    server.listen(port, config.HOST, done);
  });
  return { server, publicUrl };
}

async function freePort(host: string): Promise<number> {
  const { createServer } = await import('node:net');
  const probe = createServer();
  await new Promise<void>((done, failed) => probe.once('error', failed).listen(0, host, done));
  const { port } = probe.address() as AddressInfo;
  await new Promise((done) => probe.close(done));
  return port;
}

const hostInUrl = (host: string): string => (host.includes(':') ? `[${host}]` : host);

/** Stops taking new connections and gives open requests a moment to finish. */
async function closeServer(server: Server): Promise<void> {
  const closed = new Promise<void>((done) => server.close(() => done()));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS);
  await closed;
  clearTimeout(timer);
}
