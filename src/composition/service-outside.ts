import type { IncomingMessage, RequestListener } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config.ts';
import type { AddressLimits } from '../http/address-limit.ts';
import type { Logger } from '../observability/logger.ts';
import type { AdminCommands } from '../operator/server/commands.ts';
import { serveAdmin } from '../operator/server/socket-server.ts';
import type { Mode } from '../domain/values/ids.ts';
import type { Network } from '../domain/networks/networks.ts';
import { HealthChecks } from '../observability/health.ts';
import { reportAudit, reportDrift } from '../observability/metrics/audit.ts';
import { startOpsServer } from '../observability/ops-server.ts';
import { sessionView } from '../../projections/sessions/session-view.projection.ts';
import { createClientAddress } from '../runtime/http/client-address.ts';
import { foreignRequest } from '../runtime/http/loopback-request.ts';
import { AuditRecords } from '../features/audit/records.ts';
import { recordDailyRates } from './money/daily-rates.ts';
import { addressHealth } from './networks/address-safety.ts';
import { auditHealth } from './audit/audit.ts';
import type { RunningAudit } from '../features/audit/running-audit.ts';
import type { WatchStatus } from '../features/deposits/chain/types.ts';
import { outageSince, type WatchedNetwork } from '../features/deposits/network-watcher.ts';
import { toSec } from '../ports/clock.ts';
import { openLedger, startAdminHttp, watchLedger, type Ledger } from './money/ledger.ts';
import { startInbox } from './money/unmatched.ts';
import { closeServer, listen, urlOf } from './outside/listening.ts';
import { startObservability, watchProjections } from './outside/observability.ts';
import { linkCommands, linkPages, openPaymentLinks } from './outside/payment-links.ts';
import { startPeopleSide } from './outside/console.ts';
import { statusCommands } from '../operator/server/status.ts';
import { operatorCommands } from './outside/operator-commands.ts';
import type { Foundation } from './service-foundation.ts';
import type { MovingMoney } from './service-money.ts';
import type { ServiceParts } from './service-parts.ts';
import { startMetadataIndex } from './outside/metadata-index.ts';
import { RequestLog } from '../features/shared/request-log.ts';
import { startLiveSettings } from './outside/live-settings.ts';
import { watchPayoutsAndStorage, watchSurroundings } from './outside/watched-parts.ts';
import { createWebApp } from './outside/web.ts';

/** The ports through which others reach the service. */
export interface Outside {
  readonly baseUrl: string;
  readonly opsUrl: string;
  /** Null without a console. */
  readonly consoleUrl: string | null;
  /** Accepts nothing new and gives running requests a moment to finish. */
  stopTaking(): Promise<void>;
  close(): Promise<void>;
}

/** Longer than the interval of load balancers' `/readyz` checks. */
const DRAIN_MS = 2_000;
const NO_DELIVERIES = { inFlight: 0, inMemory: 0, retrying: 0, lag: 0 };

/** Opens the ports: merchant API and payment page, ops, and the operator's socket. */
export async function startOutside(
  parts: ServiceParts,
  foundation: Foundation,
  money: MovingMoney,
  audit: RunningAudit,
): Promise<Outside> {
  const { config, roles, storage, clock, log } = parts;
  const { metrics, store, rates, addresses, projections, core, startedAtMs } = foundation;
  const { watched, webhooks } = money;
  const health = new HealthChecks();
  const apiParts = await startApiParts(parts, foundation, audit);
  const { ledger } = apiParts;
  const foreign = foreignOf(parts);
  const web = roles.api
    ? await listen(config, log, foreign, (publicUrl) => webApp(parts, foundation, money, apiParts, publicUrl))
    : null;
  const observability = startObservability({
    ...{ config, metrics, health, clock, log, store, core, watched, projections, rates, addresses },
    readModel: storage.readModel,
    webhooks: () => webhooks.process?.stats ?? NO_DELIVERIES,
    startedAtMs,
    readOnly: audit.readOnly,
  });
  reportAudit(metrics.registry, audit, clock);
  if (!roles.worker) reportDrift(metrics.registry, () => storage.comparison.drift());
  health.add(() => auditHealth(audit));
  if (roles.api && parts.derivers.length > 0) health.add(() => addressHealth(addresses.stocks()));
  const heartbeat = watchSurroundings(parts, foundation, health);
  const listening = { host: config.HOST, port: config.OPS_PORT, ...(foreign && { foreign }) };
  const ops = await startOpsServer({ ...listening, registry: metrics.registry, health, status: observability.status });
  const inbox = startInbox(parts, foundation, money);
  const publicUrl = web?.publicUrl ?? config.PUBLIC_URL ?? '';
  const ofService = {
    ...operatorCommands(parts, foundation, money, apiParts),
    ...linkCommands(apiParts.paymentLinks, parts, foundation, publicUrl),
    ...inbox.commands,
    ...statusCommands(observability.status, projections),
  };
  const forPeople = { ...apiParts, publicUrl, commands: ofService };
  const { console, commands } = await peopleSide(parts, foundation, money, forPeople);
  const admin = await serveAdmin(config.DATA_DIR, commands, ledger.streams);
  const adminHttp = await startAdminHttp(config, commands, ledger.streams, { ...parts, metrics });
  const projectionCheck = roles.worker ? startProjectionCheck(parts, foundation) : null;
  const books = watchBooks(parts, foundation, ledger, health);
  watchPayoutsAndStorage(parts, foundation, money, health);
  health.started();
  return {
    baseUrl: web?.publicUrl ?? '',
    opsUrl: urlOf(config.HOST, ops),
    consoleUrl: console?.url ?? null,
    stopTaking: async () => {
      health.stopping();
      // Others must learn of it before they are refused.
      if (web && !storage.soleWriter) await sleep(DRAIN_MS);
      const servers = [web?.server, console?.server, admin, adminHttp].filter(
        (server) => server !== undefined && server !== null,
      );
      await Promise.all(servers.map(closeServer));
      // Before the payouts, to which it gives work.
      await inbox.close();
    },
    close: async () => {
      await Promise.all([apiParts.metadataIndex?.close(), books.close(), projectionCheck?.close(), heartbeat?.close()]);
      await observability.close();
      await closeServer(ops);
    },
  };
}

/** A sandbox answers no page of somebody else's that a browser on this machine shows. */
const foreignOf = ({ sandbox, config }: ServiceParts) =>
  sandbox ? ({ headers, method }: IncomingMessage) => foreignRequest(headers, method, config.PUBLIC_URL) : undefined;

const startProjectionCheck = ({ storage, log }: ServiceParts, { metrics, store, caughtUp }: Foundation) =>
  watchProjections(metrics, log, { store, readModel: storage.readModel, caughtUp }, () => storage.comparison.drift());

/** The parts that serve pages, the API and commands. */
async function startApiParts(parts: ServiceParts, foundation: Foundation, audit: RunningAudit) {
  const { config, roles, storage, clock, random, log } = parts;
  const { core, store, projections } = foundation;
  return {
    ...{ audit, requestLog: new RequestLog(), paymentLinks: openPaymentLinks(parts, foundation) },
    ledger: openLedger({ core, store, readModel: storage.readModel, projections, clock, random }),
    settings: await startLiveSettings({ config, log, storage, isApi: roles.api, others: parts.liveSettings ?? null }),
    metadataIndex: await startMetadataIndex(parts, foundation),
  };
}

type ApiParts = Awaited<ReturnType<typeof startApiParts>>;

/** Verifies the books and, if enabled, records the rates of their coins. */
function watchBooks(
  parts: ServiceParts,
  foundation: Foundation,
  ledger: Ledger,
  health: HealthChecks,
): { close(): Promise<unknown> } {
  const check = watchLedger({ readModel: parts.storage.readModel, metrics: foundation.metrics, log: parts.log });
  const dailyRates = recordDailyRates(parts, foundation, ledger, health);
  return { close: () => Promise.all([check.close(), dailyRates?.close()]) };
}

function webApp(
  parts: ServiceParts,
  { metrics, tracing, core, servedRows, startedAtMs }: Foundation,
  { watched, payouts, webhooks, testWallet }: MovingMoney,
  { audit, ledger, settings, requestLog, metadataIndex, paymentLinks }: ApiParts,
  publicUrl: string,
): RequestListener {
  const { config, storage, clock, log, networks, solana } = parts;
  const limits = addressLimits(settings.perAddress, config, log);
  const app = createWebApp({
    observer: tracing?.observer(metrics.http) ?? metrics.http,
    metrics,
    config,
    publicUrl,
    core,
    storage,
    servedRows: servedRows(sessionView),
    metadataIndex,
    webhooks: webhooks.api,
    ledger: ledger.merchants,
    statements: ledger.statements,
    statementLines: ledger.statementLines,
    rateLimiter: settings.perKey,
    requestLog,
    addresses: limits,
    links: paymentLinks && linkPages(parts, paymentLinks, limits),
    clock,
    log,
    networks,
    confirmationsOf: confirmationCounter(watched),
    outageSince: (mode, network) =>
      outageSince(statusOf(watched, mode, network), toSec(clock.nowMs()), toSec(startedAtMs)),
    waitingFor: waitingIn(payouts),
    testWallet,
    sandboxHome: parts.sandboxHome,
    payerTransactions: (mode) => solana?.find(({ chain }) => chain.mode === mode)?.chain ?? null,
    audit: new AuditRecords({ store: storage.store, tree: audit.tree, verifierKey: audit.verifierKey }),
    canary: parts.canary ?? null,
    readOnly: audit.readOnly,
  });
  return tracing ? tracing.requests(app) : app;
}

/** The console, and the operator's commands together with those about people. */
function peopleSide(
  parts: ServiceParts,
  { core, store, servedRows }: Foundation,
  { watched, payouts, webhooks }: MovingMoney,
  {
    audit,
    ledger,
    requestLog,
    publicUrl,
    commands,
  }: { audit: RunningAudit; ledger: Ledger; requestLog: RequestLog; publicUrl: string; commands: AdminCommands },
): ReturnType<typeof startPeopleSide> {
  return startPeopleSide(parts, {
    core,
    store,
    commands,
    publicUrl,
    requestLog,
    streams: ledger.streams,
    readOnly: audit.readOnly,
    webhooks: webhooks.api,
    waitingFor: waitingIn(payouts),
    confirmationsOf: confirmationCounter(watched),
    servedRows: servedRows(sessionView),
  });
}

/** Why a refund is not paid yet; null if nothing is known to delay it. */
const waitingIn =
  (payouts: MovingMoney['payouts']) =>
  (refundId: string): string | null =>
    payouts?.waitingFor(refundId)?.reason ?? null;

function addressLimits(limiter: AddressLimits['limiter'], { TRUSTED_PROXIES }: Config, log: Logger): AddressLimits {
  const clientAddress = createClientAddress(TRUSTED_PROXIES);
  let warned = TRUSTED_PROXIES > 0;
  return {
    limiter,
    clientAddress: (request) => {
      if (!warned && request.headers['x-forwarded-for'] !== undefined) {
        warned = true;
        log.warn(
          {},
          'requests come with X-Forwarded-For, but TRUSTED_PROXIES is 0: behind a proxy all payers share one limit until it is set',
        );
      }
      return clientAddress(request);
    },
  };
}

const statusOf = (watched: readonly WatchedNetwork[], mode: Mode, network: Network): WatchStatus | undefined =>
  watched.find(({ settings }) => settings.mode === mode && settings.network === network)?.watcher.status();

/** Blocks from a transfer's block to the head, inclusive; 0 while the head is unknown. */
function confirmationCounter(watched: readonly WatchedNetwork[]) {
  return (mode: Mode, network: Network, block: number): number => {
    const head = statusOf(watched, mode, network)?.headBlock;
    return head === null || head === undefined ? 0 : Math.max(0, head - block + 1);
  };
}
