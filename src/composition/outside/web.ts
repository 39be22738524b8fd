import type { Express } from 'express';
import { checkoutRoutes } from '../../checkout/checkout.routes.ts';
import type { CheckoutDeps } from '../../checkout/pages.ts';
import { deepLinks } from '../../checkout/deep-links.ts';
import { sandboxHomeRoutes, type SandboxHome } from '../../checkout/sandbox-home.ts';
import type { Config } from '../../config.ts';
import type { Mode, SessionId } from '../../domain/values/ids.ts';
import type { Network, NetworkSettings } from '../../domain/networks/networks.ts';
import type { AddressLimits } from '../../http/address-limit.ts';
import { createHttpApp } from '../../http/app.ts';
import { presentProof } from '../../http/presenters/audit.presenter.ts';
import type { HttpObserver } from '../../http/endpoint.ts';
import type { LedgerApi } from '../../http/routes/ledger.routes.ts';
import type { StatementsApi } from '../../http/routes/statements.routes.ts';
import type { MonthStatements } from '../../features/ledger/documents/month-statements.ts';
import { presentEvidence } from '../../http/presenters/evidence.presenter.ts';
import type { WebhookApi } from '../../http/routes/webhooks.routes.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Metrics } from '../../observability/metrics/metrics.ts';
import { observePages } from '../../observability/page-observer.ts';
import { toSec, type Clock } from '../../ports/clock.ts';
import { AuditTreeBehind } from '../../ports/event-log/audit.ts';
import type { PayerTransactions } from '../../ports/chain/payer-transactions.ts';
import type { RateLimiter } from '../../ports/rate-limiter.ts';
import type { ServedRows } from '../../runtime/projections/served-rows.ts';
import type { AuditRecords } from '../../features/audit/records.ts';
import type { RequestLog } from '../../features/shared/request-log.ts';
import { OwnChanges } from '../../features/merchants/own-changes.ts';
import { OwnEndpoints } from '../../features/merchants/own-endpoints.ts';
import { Lists } from '../../features/sessions/lists/lists.ts';
import type { MetadataIndex } from '../../features/sessions/lists/metadata-index.ts';
import { sessionTimeline } from '../../features/sessions/timeline/timeline.ts';
import { canaryWebhooks, type CanaryAccount } from '../canary/account.ts';
import type { Core } from '../core.ts';
import type { Ledger } from '../money/ledger.ts';
import { listRecords } from '../../http/list-records.ts';
import type { Storage } from '../storage/parts.ts';
import type { TestWallet } from '../../sandbox/test-wallet.ts';
import { must } from '../../domain/values/must.ts';

export interface WebParts {
  readonly config: Config;
  readonly metrics: Metrics;
  readonly observer: HttpObserver;
  readonly publicUrl: string;
  readonly core: Core;
  readonly storage: Storage;
  readonly servedRows: ServedRows;
  /** Null if search by metadata is not available. */
  readonly metadataIndex: MetadataIndex | null;
  readonly webhooks: WebhookApi;
  readonly ledger: LedgerApi;
  readonly statements: Pick<MonthStatements, 'find'>;
  readonly statementLines: Ledger['statementLines'];
  readonly rateLimiter: RateLimiter;
  readonly requestLog: RequestLog;
  readonly addresses: AddressLimits;
  readonly clock: Clock;
  readonly log: Logger;
  readonly networks: (mode: Mode) => readonly NetworkSettings[];
  readonly confirmationsOf: (mode: Mode, network: Network, blockNumber: number) => number;
  /** Since when a network could not be read (Unix seconds); null while healthy. */
  readonly outageSince: (mode: Mode, network: Network) => number | null;
  /** Why a refund is not paid yet. */
  readonly waitingFor: (refundId: string) => string | null;
  /** Null outside the sandbox. */
  readonly testWallet: TestWallet | null;
  /** The home page of a sandbox; absent anywhere else. */
  readonly sandboxHome: (() => SandboxHome | null) | undefined;
  /** Null if the mode has no Solana. */
  readonly payerTransactions: (mode: Mode) => PayerTransactions | null;
  readonly audit: AuditRecords;
  readonly links: CheckoutDeps['links'];
  /** Null without canary payments. */
  readonly canary: CanaryAccount | null;
  /** Why nothing can be written; null while healthy. */
  readonly readOnly: () => string | null;
}

/** The merchant API and the payment page as one Express app. */
export function createWebApp(parts: WebParts): Express {
  const { core, clock, log, publicUrl, networks, testWallet } = parts;
  return createHttpApp({
    api: core.sessions,
    keys: core.directory,
    nonces: parts.storage.nonces,
    lists: listRecords({
      api: core.sessions,
      lists: new Lists({
        readModel: parts.storage.readModel,
        cursorKey: core.cursorKey,
        metadataIndex: parts.metadataIndex,
      }),
      presenter: { publicUrl, networks, deepLinks, waitingFor: parts.waitingFor },
      networks,
      confirmationsOf: parts.confirmationsOf,
      servedRows: parts.servedRows,
    }),
    rateLimiter: parts.rateLimiter,
    addresses: parts.addresses,
    clock,
    headerPrefix: parts.config.HEADER_PREFIX,
    observer: parts.observer,
    logger: log,
    publicUrl,
    networks,
    deepLinks,
    waitingFor: parts.waitingFor,
    settings: core.merchants,
    webhooks: parts.webhooks,
    endpoints: new OwnEndpoints(core),
    changes: new OwnChanges(core),
    requestLog: parts.requestLog,
    ledger: parts.ledger,
    statements: statementsOf(parts),
    timeline: async (reader, id) =>
      (await core.sessions.getSession(reader, id))
        ? sessionTimeline(parts.storage.store, id, toSec(clock.nowMs()))
        : null,
    ...(testWallet && { sandbox: testWallet.api }),
    audit: {
      verifierKey: () => parts.audit.verifierKey(),
      reached: () => parts.audit.reached(),
      checkpoints: (options) => parts.audit.checkpoints(options),
      consistency: (from, to) => parts.audit.consistency(from, to),
      proofOf: async (reader, id) => ((await core.sessions.getSession(reader, id)) ? parts.audit.proofOf(id) : null),
    },
    readOnly: parts.readOnly,
    positions: parts.storage.positions,
    mounts: [
      (app) => app.use(observePages(parts.metrics.http)),
      (app) => app.use(payersPages(parts)),
      ...(parts.canary
        ? [(app: Express) => app.use(canaryWebhooks(must(parts.canary), parts.config.HEADER_PREFIX))]
        : []),
      ...(parts.sandboxHome ? [(app: Express) => app.use(sandboxHomeRoutes(must(parts.sandboxHome)))] : []),
    ],
  });
}

function payersPages(parts: WebParts): ReturnType<typeof checkoutRoutes> {
  const { core, clock, log, publicUrl, networks, testWallet } = parts;
  return checkoutRoutes({
    ...{ api: core.sessions, clock, log, publicUrl, links: parts.links },
    settingsOf: (session, network) => networks(session.mode).find((settings) => settings.network === network),
    chainsOf: ({ mode }) => ({
      confirmationsOf: (network, block) => parts.confirmationsOf(mode, network, block),
      outageSince: (network) => parts.outageSince(mode, network),
    }),
    hostsOf: (session) => core.directory.settings(session.merchantId)?.domains.map(({ host }) => host) ?? [],
    proofOf: (session) => payersProof(parts.audit, session.sessionId),
    recordOf: (session) =>
      sessionTimeline(parts.storage.store, session.sessionId, toSec(clock.nowMs())).catch(() => null),
    payerTransactions: (session) => parts.payerTransactions(session.mode),
    sandboxPay:
      testWallet && (async (id, network, coin) => void (await testWallet.pay(id, { network, coin, case: 'exact' }))),
  });
}

const statementsOf = ({
  statements,
  statementLines,
  audit,
}: Pick<WebParts, 'statements' | 'statementLines' | 'audit'>): StatementsApi => ({
  statementLines: ({ merchantId, mode }, period) => statementLines({ mode, period, merchantId }),
  monthStatement: async ({ merchantId, mode }, period) => {
    const found = await statements.find({ mode, period, merchantId });
    const proven = found && (await audit.proofOfEvent(found.event));
    return found && proven && presentEvidence(found.event, proven, audit.verifierKey());
  },
});

/** What a payer may download: that the money came and paid, not the merchant's own business. */
const PAYERS_EVENTS: ReadonlySet<string> = new Set([
  'DepositDetected',
  'DepositConfirmed',
  'DepositReverted',
  'SessionPaid',
]);

async function payersProof(audit: AuditRecords, id: SessionId): Promise<object | null> {
  try {
    const proof = await audit.proofOf(id, PAYERS_EVENTS);
    return proof.events.some(({ type }) => type === 'SessionPaid')
      ? presentProof(id, proof, audit.verifierKey())
      : null;
  } catch (error) {
    if (error instanceof AuditTreeBehind) return null;
    throw error;
  }
}
