import { withTokenAccounts } from '../adapters/solana/token-account-pool.ts';
import type { Express } from 'express';
import { createRates } from '../adapters/rates/create-rates.ts';
import { createTokenBucketLimiter } from '../adapters/rate-limit/token-bucket.adapter.ts';
import { vetWebhookUrl, type UrlRules } from '../adapters/webhook-http/webhook-url.ts';
import { serveAdmin } from '../cli/admin-server.ts';
import type { AdminCommands } from '../cli/admin-commands.ts';
import type { Config, RateProviderName } from '../config.ts';
import type { Mode } from '../domain/ids.ts';
import type { Network, NetworkSettings } from '../domain/networks.ts';
import { HealthChecks } from '../ops/health.ts';
import type { Logger } from '../ops/logger.ts';
import type { Metrics } from '../ops/metrics.ts';
import { reportPayouts } from '../ops/metrics-parts.ts';
import { startOpsServer } from '../ops/ops-server.ts';
import type { AddressDeriver, AddressPool } from '../ports/addresses.ts';
import type { AccountChain } from '../ports/account-chain.ts';
import type { Chain } from '../ports/chain.ts';
import { toSec, type Clock } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';
import type { EventStore } from '../ports/event-store.ts';
import type { Rates } from '../ports/rates.ts';
import type { RateLimiter } from '../ports/rate-limiter.ts';
import { ExpireSessions } from '../processes/expire-sessions.process.ts';
import { startAddressPool } from '../runtime/address-pool.ts';
import { createPersonalSealer, createSealer, type MasterKeys } from '../runtime/sealing.ts';
import { sessionStream } from '../domain/streams.ts';
import { addressCommands } from './address-commands.ts';
import { adminCommands } from './admin.ts';
import { chainCommands } from './chain-commands.ts';
import { watch, type WatchedNetwork } from './chains.ts';
import { watchSolana, type ReplacedChain } from './solana.ts';
import { startCore, type Core, type CorePorts } from './core.ts';
import type { EmbeddedStorage } from './embedded.ts';
import { createMetrics, createTracing, startObservability } from './observability.ts';
import { closeServer, listen, urlOf } from './listening.ts';
import { payoutCommands, payoutHealth } from './payout-commands.ts';
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
  /** Made before the parts that report to it; absent: made at the start. */
  readonly metrics?: Metrics;
  readonly derivers: readonly AddressDeriver[];
  readonly chains: readonly Chain[];
  readonly solana?: readonly { readonly chain: AccountChain; readonly replaced: ReplacedChain | null }[];
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

const BURST_SECONDS = 5;
const UNLIMITED: RateLimiter = { take: () => ({ allowed: true, limit: 0, remaining: 0, retryAfterSec: 0, resetSec: 0 }) };

/** Starts the whole service on open storage. Resolves when requests are accepted. */
export async function startService(parts: ServiceParts): Promise<RunningService> {
  const { config, storage, clock, random, log } = parts;
  const metrics = parts.metrics ?? createMetrics(config, clock, log);
  const { readModel } = storage;
  const startedAtMs = clock.nowMs();
  const tracing = await createTracing(config, storage.store, log);
  const store = metrics.store.observe(tracing?.store() ?? storage.store);
  const health = new HealthChecks();
  const rates = createRates(rateSettings(parts), clock, (provider, message) => log.warn({ provider, message }, 'a rate provider failed'));
  const addresses = startAddressPool({ store, derivers: parts.derivers, node: String(config.NODE_NUMBER), clock, random, log });
  const runner = storage.projections;
  await runner.start(storage.store, {
    ...metrics.projections.hooks,
    onParked: (event) => {
      metrics.projections.hooks.onParked?.(event);
      log.error({ ...event }, 'a projection parked an event');
    },
    onError: (error) => log.error({ err: error }, 'a projection failed'),
  });
  await addresses.ready();
  const core = await startCore(config, corePorts(parts, store, rates, addresses), log);
  tracing?.commands(core.sessionHandler);
  tracing?.deposits(core.deposits);
  const testWallet = parts.testWallet?.(core) ?? null;
  const [oldest] = await store.readAll({ after: null, limit: 1, streamPrefixes: ['session-'] });
  const watchDeps = {
    core,
    store,
    readModel,
    clock,
    random,
    log,
    oldestSessionSec: oldest ? toSec(oldest.atMs) : null,
    observerOf: (mode: Mode, network: Network) => metrics.chains.watchObserver(mode, network),
  };
  const sandbox = testWallet !== null;
  const watched = [
    ...parts.chains.map((chain) => watch(watchDeps, chain, { sandbox })),
    ...(await Promise.all((parts.solana ?? []).map(({ chain, replaced }) => watchSolana(watchDeps, chain, { sandbox, replaced })))),
  ];
  await Promise.all(watched.map(({ watcher }) => watcher.start()));
  const payouts = parts.payouts ? await startPayouts(parts.payouts, { core, store, readModel, rates, clock, random, log }) : null;
  const expiry = startExpiry(config, core, watched, clock, random, log);
  const caughtUp = async (): Promise<void> => {
    const head = await store.head();
    if (head !== null) await runner.caughtUpTo(head);
  };
  const webhooks = await startWebhooks({
    core,
    store,
    readModel,
    answers: storage.answers,
    clock,
    random,
    log,
    rules: parts.webhookRules,
    headerPrefix: config.HEADER_PREFIX,
    caughtUp,
    observer: metrics.webhooks.observer,
    tracing,
  });
  const rateLimiter = rateLimiterOf(config);
  const confirmationsOf = confirmationCounter(watched);
  const traced = await tracing?.projections((position) => runner.caughtUpTo(position));
  const web = await listen(config, (publicUrl) => {
    const app = createWebApp({
      observer: tracing?.observer(metrics.http) ?? metrics.http,
      metrics,
      config,
      publicUrl,
      core,
      storage,
      caughtUp,
      webhooks: webhooks.desk,
      rateLimiter,
      clock,
      log,
      networks: parts.networks,
      confirmationsOf,
      waitingFor: (refundId) => payouts?.waitingFor(refundId)?.reason ?? null,
      testWallet,
    });
    return tracing ? (tracing.requests(app) as Express) : app;
  });
  const observability = startObservability({
    config,
    metrics,
    health,
    clock,
    log,
    store,
    readModel,
    core,
    watched,
    projections: runner,
    rates,
    addresses,
    webhooks: () => webhooks.process.stats,
    startedAtMs,
  });
  const ops = await startOpsServer({ host: config.HOST, port: config.OPS_PORT, registry: metrics.registry, health, board: observability.board });
  const admin = await serveAdmin(
    config.DATA_DIR,
    adminCommands({
      core,
      store,
      testWallet,
      projections: runner,
      more: {
        ...webhookCommands(core, webhooks.desk, random),
        ...addressCommands(addresses),
        ...chainCommands(watched),
        ...(payouts && parts.payouts ? payoutCommands(payouts, parts.payouts, core) : {}),
        ...parts.moreAdmin?.(core),
      },
    }),
  );
  if (payouts) {
    health.add(() => payoutHealth(payouts));
    reportPayouts(metrics.registry, () => payouts.status());
  }
  health.started();
  return {
    core,
    baseUrl: web.publicUrl,
    opsUrl: urlOf(config.HOST, ops),
    watched,
    close: async () => {
      health.stopping();
      await Promise.all([closeServer(web.server), closeServer(admin)]);
      await payouts?.stop();
      await expiry.close();
      await Promise.all(watched.map(({ watcher }) => watcher.stop()));
      await webhooks.close();
      await observability.close();
      await traced?.close();
      await core.close();
      await runner.stop();
      await addresses.close();
      await rates.close();
      await closeServer(ops);
      await storage.close();
      await tracing?.close();
    },
  };
}

function corePorts(
  { storage, clock, random, masterKeys, webhookRules, networks }: ServiceParts,
  store: EventStore,
  rates: Rates,
  addresses: AddressPool,
): CorePorts {
  return {
    store,
    readModel: storage.readModel,
    personalKeys: storage.personalKeys,
    rates,
    addresses: withTokenAccounts(addresses, (mode) => networks(mode).find(({ network }) => network === 'solana')?.tokens ?? []),
    clock,
    random,
    sealer: createSealer(masterKeys),
    personalSealer: createPersonalSealer(masterKeys),
    vetWebhookUrl: (url) => vetWebhookUrl(url, webhookRules),
    networks,
    soleWriter: true,
  };
}

function rateLimiterOf({ RATE_LIMIT_PER_KEY: ratePerSec }: Config): RateLimiter {
  return ratePerSec === 0 ? UNLIMITED : createTokenBucketLimiter({ ratePerSec, burst: ratePerSec * BURST_SECONDS });
}

/** Blocks from a transfer's block to the head, both included; 0 while the head is unknown. */
function confirmationCounter(watched: readonly WatchedNetwork[]) {
  return (mode: Mode, network: Network, block: number): number => {
    const head = watched.find(({ settings }) => settings.mode === mode && settings.network === network)?.watcher.status().headBlock;
    return head === null || head === undefined ? 0 : Math.max(0, head - block + 1);
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
    scannedToSec: (mode, network) =>
      watched.find(({ settings }) => settings.mode === mode && settings.network === network)?.watcher.scannedToSec() ?? null,
    expire: async (id, nowSec, scannedToSec) => {
      await core.sessionHandler.execute(
        sessionStream(id),
        { type: 'ExpireSession', nowSec, scannedToSec },
        { correlationId: random.uuid(), actor: 'clock' },
      );
    },
    onError: (error, id) => log.error({ err: error, session: id }, 'a session could not be expired'),
  });
  expiry.start();
  return expiry;
}
