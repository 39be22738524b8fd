import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config.ts';
import type { Mode } from '../domain/values/ids.ts';
import type { Network, NetworkSettings } from '../domain/networks/networks.ts';
import { sessionStream } from '../domain/values/streams.ts';
import type { Logger } from '../observability/logger.ts';
import { toSec, type Clock } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';
import { ExpireSessions } from '../features/sessions/expire.process.ts';
import type { NetworkWatcher, WatchedNetwork } from '../features/deposits/network-watcher.ts';
import { createWholeRows } from '../runtime/projections/whole-rows.ts';
import type { BlockTime, ClockCheck } from '../runtime/util/clock-check.ts';
import { withLease, type RunningLease } from '../runtime/leases/with-lease.ts';
import type { RunningAudit } from '../features/audit/running-audit.ts';
import { watch, type WatchDeps } from './networks/chains.ts';
import type { Core } from './core.ts';
import { lookUpProof, startLookUpCheck, type LookUpCheck } from '../look-ups/check.ts';
import { LeasedPayouts } from './money/leased-payouts.ts';
import { LeasedWatcher } from '../features/deposits/leased-watcher.ts';
import type { PayoutDeps } from './money/payouts.ts';
import type { TestWallet } from '../sandbox/test-wallet.ts';
import type { Foundation } from './service-foundation.ts';
import type { ServiceParts } from './service-parts.ts';
import { ledger } from '../../projections/ledger/ledger.projection.ts';
import { webhookDeliveries } from '../../projections/webhooks/deliveries.projection.ts';
import { watchSolana } from './networks/solana.ts';
import { startWebhooks, type RunningWebhooks } from './outside/webhooks.ts';
import { must } from '../domain/values/must.ts';

/** The background work on money: deposits are seen, sessions end, refunds are paid, merchants are notified. */
export interface MovingMoney {
  readonly testWallet: TestWallet | null;
  readonly watched: readonly WatchedNetwork[];
  /** Null if this process never pays. */
  readonly payouts: LeasedPayouts | null;
  readonly webhooks: RunningWebhooks;
  /** Null if this process never pays. */
  readonly lookUps: LookUpCheck | null;
  close(): Promise<void>;
}

/** What a network needs longer for, such as all blocks since the last run, does not hold up the others. */
const FIRST_READ_MS = 15_000;

export async function startMoney(
  parts: ServiceParts,
  foundation: Foundation,
  audit: Pick<RunningAudit, 'mayPay'>,
  hasHistory: boolean,
): Promise<MovingMoney> {
  const { config, roles, storage, clock, random, log } = parts;
  const { core, store, metrics, tracing, servedRows } = foundation;
  const testWallet = parts.testWallet?.(core) ?? null;
  const watched = await watchAll(parts, foundation);
  const begun = Promise.all(watched.map(({ watcher }) => watcher.start()));
  await Promise.race([begun, sleep(FIRST_READ_MS, undefined, { ref: false })]);
  if (!parts.sandbox) foundation.clockCheck.watchBlocks(() => newestBlocks(watched));
  const pays = roles.signer && parts.payouts ? parts.payouts : null;
  const lookUps = pays && startLookUpCheck(storage.comparison, hasHistory, log);
  const mayPay = (): boolean => audit.mayPay() && must(lookUps).mayPay();
  const payouts = pays && new LeasedPayouts(pays, payoutDeps(parts, foundation, { mayPay }), storage);
  await payouts?.first;
  const expiry = roles.worker ? leasedExpiry(parts, foundation, watched) : null;
  const { observer } = metrics.webhooks;
  const { webhookRules: rules, webhookSender: carrier } = parts;
  const headerPrefix = config.HEADER_PREFIX;
  const delivers = roles.worker;
  const webhooks = await startWebhooks({
    core,
    store,
    storage,
    delivers,
    clock,
    random,
    log,
    rules,
    ...(carrier && { carrier }),
    headerPrefix,
    servedRows: servedRows(webhookDeliveries),
    observer,
    tracing,
  });
  return {
    testWallet,
    watched,
    payouts,
    webhooks,
    lookUps,
    close: async () => {
      await payouts?.stop();
      await expiry?.close();
      await Promise.all(watched.map(({ watcher }) => watcher.stop()));
      await webhooks.close();
    },
  };
}

/** Local chains use our own clock; only other chains can contradict it. */
const newestBlocks = (watched: readonly WatchedNetwork[]): BlockTime[] =>
  watched.flatMap(({ settings: { mode, network }, watcher }) => {
    const timeSec = watcher.scannedToSec();
    return timeSec === null ? [] : [{ source: `chain:${mode}:${network}`, timeSec }];
  });

function payoutDeps(
  { config, storage, clock, random, log }: ServiceParts,
  { core, store, rates, metrics }: Foundation,
  { mayPay }: Pick<RunningAudit, 'mayPay'>,
): PayoutDeps {
  const { readModel, soleWriter, projections } = storage;
  const wholeBooks = createWholeRows({ store, readModel, projections }, ledger);
  const onUnbooked: PayoutDeps['onUnbooked'] = (mode, network, { sessionId, address }) =>
    metrics.chains.watchObserver(mode, network).onAnomaly?.({ kind: 'unbooked', sessionId, address });
  return {
    config,
    core,
    store,
    readModel,
    wholeBooks,
    proveBooks: lookUpProof(storage.comparison, ledger.name),
    rates,
    clock,
    random,
    log,
    mayPay,
    onUnbooked,
    soleWriter,
  };
}

function leasedExpiry(
  { config, storage, clock, random, log }: ServiceParts,
  { core, clockCheck }: Foundation,
  watched: readonly WatchedNetwork[],
): RunningLease {
  const start = async () => {
    const expiry = startExpiry(config, core, watched, { clock, clockCheck, random, log });
    return { stop: () => expiry.close() };
  };
  return withLease('expire-sessions', start, { leases: storage.leases, ttlMs: storage.leaseTtlMs, log });
}

async function watchAll(
  { roles, storage, clock, random, log, chains, solana, sandbox }: ServiceParts,
  { core, store, metrics }: Foundation,
): Promise<WatchedNetwork[]> {
  const [oldest] = await store.readAll({ after: null, limit: 1, streamPrefixes: ['session-'] });
  const deps: WatchDeps = {
    core,
    store,
    readModel: storage.readModel,
    clock,
    random,
    log,
    oldestSessionSec: oldest ? toSec(oldest.atMs) : null,
    observerOf: (mode: Mode, network: Network) => metrics.chains.watchObserver(mode, network),
  };
  const { leases, leaseTtlMs: ttlMs, sharedStatus } = storage;
  const leased = (settings: NetworkSettings, create: () => Promise<NetworkWatcher>): WatchedNetwork => ({
    settings,
    watcher: new LeasedWatcher({ settings, leases, ttlMs, sharedStatus, log, create: roles.worker ? create : null }),
  });
  const byAccounts = (solana ?? []).map(({ chain, replaced }) => {
    // Later terms of this process find the new chain as it is.
    let isReplaced = replaced;
    return leased(chain.settings, async () => {
      const { watcher } = await watchSolana(deps, chain, { sandbox, replaced: isReplaced });
      isReplaced = null;
      return watcher;
    });
  });
  return [
    ...chains.map((chain) => leased(chain.settings, async () => watch(deps, chain, { sandbox }).watcher)),
    ...byAccounts,
  ];
}

interface ExpiryParts {
  readonly clock: Clock;
  readonly clockCheck: ClockCheck;
  readonly random: Random;
  readonly log: Logger;
}

function startExpiry(
  config: Config,
  core: Core,
  watched: readonly WatchedNetwork[],
  { clock, clockCheck, random, log }: ExpiryParts,
): ExpireSessions {
  const expiry = new ExpireSessions({
    due: core.due,
    clock,
    isClockInDoubt: () => clockCheck.isInDoubt,
    maxWaitSec: config.EXPIRY_MAX_WAIT_SECONDS,
    scannedToSec: (mode, network) =>
      watched.find(({ settings }) => settings.mode === mode && settings.network === network)?.watcher.scannedToSec() ??
      null,
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
