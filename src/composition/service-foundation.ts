import { setTimeout as sleep } from 'node:timers/promises';
import { ApplyChanges } from '../features/merchants/apply-changes.process.ts';
import { NoteKeyUse } from '../features/merchants/note-key-use.process.ts';
import type { Logger } from '../observability/logger.ts';
import { logRecordedEvents } from '../observability/recorded-events.ts';
import { createRates } from '../adapters/rates/create-rates.ts';
import { withTokenAccounts } from '../adapters/solana/token-account-pool.ts';
import { vetWebhookUrl } from '../adapters/webhook-http/url.ts';
import type { Metrics } from '../observability/metrics/metrics.ts';
import type { AddressPool } from '../ports/chain/addresses.ts';
import { type EventStore, StoreUnavailable } from '../ports/event-log/event-store.ts';
import type { Projection } from '../ports/read-model/projection.ts';
import type { Rates } from '../ports/rates/rates.ts';
import { startAddressPool, type RunningAddressPool } from '../features/addresses/pool.ts';
import { createSenders } from '../features/deposits/sender-check.ts';
import { ClockCheck } from '../runtime/util/clock-check.ts';
import { projectionId } from '../runtime/projections/batch.ts';
import type { BatchReport } from '../runtime/projections/group.ts';
import type { ProjectionHooks } from '../runtime/projections/hooks.ts';
import type { ProjectionStatus } from '../runtime/projections/status.ts';
import { createServedRows, type ServedRows } from '../runtime/projections/served-rows.ts';
import { createPersonalSealer, createSealer } from '../runtime/cryptography/sealing.ts';
import type { LogShipping } from '../backup/ship-log.ts';
import { startLogShipping } from './storage/log-shipping.ts';
import { addressSafety } from './networks/address-safety.ts';
import { startAddressOwnership, type AddressOwnership } from './networks/address-ownership.ts';
import { startCore, type Core, type CorePorts } from './core.ts';
import { exchangeWallets } from '../settings/exchange-wallets.ts';
import { createMetrics, createTracing } from './outside/observability.ts';
import type { ServiceParts } from './service-parts.ts';
import type { ServiceProjections, Storage } from './storage/parts.ts';

/** The basis of everything else: the observed store, rates, addresses, projections and the core. */
export interface Foundation {
  readonly startedAtMs: number;
  readonly metrics: Metrics;
  readonly tracing: Awaited<ReturnType<typeof createTracing>>;
  readonly store: EventStore;
  readonly clockCheck: ClockCheck;
  readonly rates: ReturnType<typeof createRates>;
  readonly addresses: RunningAddressPool;
  readonly ownership: AddressOwnership;
  readonly projections: ServiceProjections;
  readonly core: Core;
  /** Null if the log is not shipped. */
  readonly shipping: LogShipping | null;
  /** Resolves once everything written so far is listed, or after a bounded wait. */
  readonly caughtUp: () => Promise<void>;
  /** Awaited before rows of the projections are returned. */
  readonly servedRows: (...shown: readonly Projection[]) => ServedRows;
  /** Everything except the storage. */
  close(): Promise<void>;
}

export async function startFoundation(parts: ServiceParts): Promise<Foundation> {
  const { config, storage, clock, random, log } = parts;
  const metrics = parts.metrics ?? createMetrics(config, clock, log);
  const startedAtMs = clock.nowMs();
  const tracing = await createTracing(config, storage.store, log);
  if (tracing) metrics.traces = tracing;
  const store = metrics.store.observe(logRecordedEvents(tracing?.store() ?? storage.store, log));
  const clockCheck = parts.clockCheck ?? new ClockCheck(clock);
  const onRateFailure = (provider: string, message: string): void =>
    log.warn({ provider, message }, 'a rate provider failed');
  const rates = createRates(rateSettings(parts), clock, onRateFailure, clockCheck.heard);
  const safety = addressSafety(parts);
  const { guardOf } = safety;
  const addresses = startAddressPool({
    store,
    derivers: parts.roles.api ? parts.derivers : [],
    guardOf,
    node: String(config.NODE_NUMBER),
    clock,
    random,
    log,
    ...(parts.sandbox && { stock: SANDBOX_STOCK }),
  });
  const { projections } = storage;
  const progress = new Progress();
  await projections.start(storage.store, projectionHooks(metrics, progress, log));
  if (!storage.soleWriter) await wholeLookUps(projections, progress, log);
  await addresses.ready();
  // With a read-only log nothing was reconciled.
  if (!parts.readOnly) safety.settle(addresses);
  const ownership = await startAddressOwnership(parts, store);
  const core = await startCore(
    config,
    corePorts(parts, store, { rates, clockCheck, addresses: ownership.guard(addresses) }),
    log,
  );
  const keyUse = parts.roles.api && !parts.readOnly ? noteKeyUse(core, log) : null;
  const changes = parts.readOnly ? null : applyChanges(core, clock, clockCheck, log);
  tracing?.commands(core.sessionHandler);
  tracing?.deposits(core.deposits);
  const shipping = startLogShipping(parts, metrics);
  const traced = await tracing?.projections((position) => projections.caughtUpTo(position));
  return {
    ...{ startedAtMs, metrics, tracing },
    store,
    clockCheck,
    rates,
    addresses,
    ...{ ownership, projections, core, shipping },
    caughtUp: () => storage.caughtUp(),
    servedRows: (...shown) => servedRows(storage, store, shown),
    close: async () => {
      await traced?.close();
      await keyUse?.close();
      await changes?.close();
      await core.close();
      await projections.stop();
      await ownership.close();
      await addresses.close();
      await rates.close();
      await Promise.all(parts.contractChecks.map((check) => check.close()));
      // Last, so that it includes what the other parts wrote while closing.
      await shipping?.close();
    },
  };
}

const projectionHooks = ({ projections: { hooks } }: Metrics, progress: Progress, log: Logger): ProjectionHooks => ({
  ...hooks,
  onBatch: (report) => {
    hooks.onBatch?.(report);
    progress.take(report);
  },
  onParked: (event) => {
    hooks.onParked?.(event);
    log.error({ ...event }, 'a projection parked an event');
  },
  onSwitched: (projection) => log.info({ projection }, 'a projection was rebuilt and is served'),
  onError: (error) => log.error({ err: error }, 'a projection failed'),
});

/** Rows that this process does not have must not look as if there were none. */
function servedRows(storage: Storage, store: EventStore, shown: readonly Projection[]): ServedRows {
  const { projections, readModel } = storage;
  const elsewhere = shown.find((projection) => !projections.follows.projections.includes(projectionId(projection)));
  if (!elsewhere)
    return createServedRows({ store, projections, readModel, caughtUp: () => storage.caughtUp() }, ...shown);
  return () =>
    Promise.reject(new StoreUnavailable(`this process keeps no ${elsewhere.name}: ask one with the role api`));
}

/** One batch: each start derives its addresses anew, and a developer needs few of them. The stock grows with demand. */
const SANDBOX_STOCK = 256;
const WHOLE_EVERY_MS = 50;
const PROGRESS_EVERY_MS = 10_000;

/** Reports the progress of look-ups being filled. */
class Progress {
  events = 0;
  lastEventAgeSec = 0;

  take({ events, lagSec }: BatchReport): void {
    this.events += events;
    this.lastEventAgeSec = Math.round(lagSec);
  }
}

/** Awaited before the first read, because look-ups being filled are incomplete. */
async function wholeLookUps(projections: ServiceProjections, progress: Progress, log: Logger): Promise<void> {
  const left = (): ProjectionStatus[] => projections.status().filter(({ hasCaughtUp }) => !hasCaughtUp);
  for (let loggedAtMs = performance.now(); left().length > 0; await sleep(WHOLE_EVERY_MS)) {
    if (performance.now() - loggedAtMs < PROGRESS_EVERY_MS) continue;
    loggedAtMs = performance.now();
    log.info(
      { projections: left().map(({ projection }) => projection), ...progress },
      'look-ups are being filled from the event log',
    );
  }
}

const noteKeyUse = ({ directory, merchantHandler }: Core, log: Logger): NoteKeyUse =>
  new NoteKeyUse(directory, merchantHandler, (error) =>
    log.warn({ err: error }, 'the use of API keys could not be recorded'),
  );

const applyChanges = (
  { directory, merchants }: Core,
  clock: ServiceParts['clock'],
  clockCheck: ClockCheck,
  log: Logger,
): ApplyChanges =>
  new ApplyChanges({
    ...{ directory, merchants, clock },
    isClockInDoubt: () => clockCheck.isInDoubt,
    onError: (error, changeId) =>
      log.error({ err: error, changeId }, 'a delayed change of a merchant could not be applied'),
  });

function corePorts(
  {
    config,
    storage,
    clock,
    random,
    sealingKeys,
    webhookRules,
    networks,
    contractChecks,
    testExchanges,
    payouts,
    readOnly,
  }: ServiceParts,
  store: EventStore,
  {
    rates,
    clockCheck,
    addresses,
  }: { readonly rates: Rates; readonly clockCheck: ClockCheck; readonly addresses: AddressPool },
): CorePorts {
  return {
    store,
    readModel: storage.readModel,
    personalKeys: storage.personalKeys,
    addressFilter: storage.addressFilter,
    rates,
    senders: createSenders(contractChecks, exchangeWallets(config, testExchanges)),
    addresses: withTokenAccounts(
      addresses,
      (mode) => networks(mode).find(({ network }) => network === 'solana')?.tokens ?? [],
    ),
    clock,
    clockCheck,
    random,
    sealer: createSealer(sealingKeys),
    personalSealer: createPersonalSealer(sealingKeys),
    vetWebhookUrl: (url) => vetWebhookUrl(url, webhookRules),
    networks,
    treasuryOf: (mode, family) => payouts?.addresses.get(mode)?.[family] ?? null,
    projections: storage.projections,
    soleWriter: storage.soleWriter,
    readOnly: readOnly ?? false,
  };
}

export function rateSettings({ config, rateProviders }: ServiceParts) {
  return {
    providers: rateProviders,
    staticText: config.RATE_STATIC,
    urls: { coinbase: config.RATE_COINBASE_URL, kraken: config.RATE_KRAKEN_URL, coingecko: config.RATE_COINGECKO_URL },
    maxAgeSec: config.RATE_MAX_AGE_SECONDS,
  };
}
