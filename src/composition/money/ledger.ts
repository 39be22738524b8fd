import type { Server } from 'node:http';
import { startAdminHttpServer, type AdminRoute } from '../../operator/server/http-server.ts';
import type { AdminCommands, AdminStreams } from '../../operator/server/commands.ts';
import { createTokenBucketLimiter } from '../../adapters/memory/token-bucket.ts';
import { fileOperators } from '../../adapters/node/operators-file.ts';
import { createClientAddress } from '../../runtime/http/client-address.ts';
import type { Config } from '../../config.ts';
import type { MerchantId, Mode } from '../../domain/values/ids.ts';
import type { Logger } from '../../observability/logger.ts';
import { reportLedger } from '../../observability/metrics/parts.ts';
import type { Metrics } from '../../observability/metrics/metrics.ts';
import type { Clock } from '../../ports/clock.ts';
import type { EventStore } from '../../ports/event-log/event-store.ts';
import type { Random } from '../../ports/random.ts';
import type { ReadModel } from '../../ports/read-model/read-model.ts';
import { CheckLedger } from '../../features/ledger/check.process.ts';
import { caughtUpWithLog } from '../../runtime/projections/caught-up.ts';
import type { RunningProjections } from '../../runtime/projections/runner.ts';
import { ledger } from '../../../projections/ledger/ledger.projection.ts';
import { createServedRows } from '../../runtime/projections/served-rows.ts';
import { createWholeRows } from '../../runtime/projections/whole-rows.ts';
import { LedgerBalances } from '../../features/ledger/balances.ts';
import { LedgerJournal } from '../../features/ledger/journal.ts';
import { notFinalIn } from '../../features/ledger/not-final.ts';
import { bookedCoins, type BookedCoins } from '../../features/ledger/valuation/booked-coins.ts';
import { LedgerPeriods } from '../../features/ledger/periods.ts';
import { MerchantLedger } from '../../features/ledger/merchant-ledger.ts';
import { authenticationKeys } from '../../settings/sealing-keys.ts';
import type { Core } from '../core.ts';
import type { ServiceParts } from '../service-parts.ts';
import { INBOX_ROUTES } from '../../operator/chains/unmatched.ts';
import { MonthStatements } from '../../features/ledger/documents/month-statements.ts';
import { bookRateCommands } from '../../operator/books/rates.ts';
import { documentStreams } from '../../operator/books/documents.ts';
import { ledgerCommands } from '../../operator/books/ledger.ts';

export interface LedgerDeps {
  readonly core: Pick<Core, 'directory' | 'cursorKey'>;
  readonly store: EventStore;
  readonly readModel: ReadModel;
  readonly projections: Pick<RunningProjections, 'caughtUpTo' | 'status'>;
  readonly clock: Clock;
  readonly random: Random;
}

export interface Ledger {
  readonly merchants: MerchantLedger;
  readonly statements: MonthStatements;
  /** The lines of a merchant's statement of a closed month, as CSV; null if there is none. */
  readonly statementLines: (of: {
    readonly mode: Mode;
    readonly period: string;
    readonly merchantId: MerchantId;
  }) => Promise<AsyncIterable<string> | null>;
  /** Id of the event that sealed a month; null while it is open. */
  readonly closingOf: (mode: Mode, month: string) => Promise<string | null>;
  readonly booked: () => Promise<BookedCoins | null>;
  readonly commands: AdminCommands;
  readonly streams: AdminStreams;
}

/** How long a closing waits for the books, which may lag after a burst of payments. */
const CLOSE_TIMEOUT_MS = 30_000;

/** The books for all their readers. */
export function openLedger({ core, store, readModel, projections, clock, random }: LedgerDeps): Ledger {
  const balances = new LedgerBalances(readModel);
  const journal = new LedgerJournal(readModel);
  const caughtUp = (): Promise<boolean> => caughtUpWithLog({ store, projections });
  const servedRows = createServedRows({ store, projections, readModel, caughtUp }, ledger);
  const caughtUpTo = (position: string): Promise<boolean> => projections.caughtUpTo(position, CLOSE_TIMEOUT_MS);
  const wholeBooks = createWholeRows({ store, readModel, projections, timeoutMs: CLOSE_TIMEOUT_MS }, ledger);
  const periods = new LedgerPeriods({ store, balances, clock, random, caughtUpTo, wholeBooks });
  const modeOfMerchant = (merchantId: Parameters<Core['directory']['settings']>[0]): Mode | null =>
    core.directory.settings(merchantId)?.mode ?? null;
  const notFinal = (mode: Mode, month: string) => notFinalIn(readModel, mode, month);
  const issue = { store, clock, random };
  const statements = new MonthStatements({ ...issue, balances, journal });
  const parts = { balances, journal, periods, notFinal, modeOfMerchant, servedRows, statements, store, issue };
  return {
    merchants: new MerchantLedger({ balances, journal, cursorKey: core.cursorKey, servedRows }),
    closingOf: async (mode, month) => {
      await servedRows();
      return (await balances.period(mode, month))?.entry ?? null;
    },
    booked: async () => {
      await servedRows();
      return bookedCoins(balances, journal);
    },
    commands: { ...ledgerCommands(parts), ...bookRateCommands(issue) },
    streams: documentStreams(parts),
    statements,
    statementLines: async (of) => {
      await servedRows();
      return statements.lines(of);
    },
  };
}

/** Verifies the running books continuously; an imbalance is a metric that alerts. */
export function watchLedger({
  readModel,
  metrics,
  log,
}: {
  readModel: ReadModel;
  metrics: Metrics;
  log: Logger;
}): CheckLedger {
  const check = new CheckLedger({
    readModel,
    onImbalance: (imbalance) => log.error({ ...imbalance }, 'the books do not balance'),
    onError: (error) => log.warn({ err: error }, 'the books could not be added up'),
  });
  reportLedger(metrics.registry, { imbalances: () => check.imbalances() });
  check.start();
  return check;
}

/** Per address: one in five seconds after the first ten. */
const WRONG_TOKENS = { ratePerSec: 0.2, burst: 10 };

const RANGE = ['mode', 'from', 'to', 'clock', 'limit', 'cursor'];

/** The operator's HTTP API of the ledger; each path is the command with the same name. */
const LEDGER_ROUTES: readonly AdminRoute[] = [
  {
    method: 'GET',
    path: '/admin/ledger/trial-balance',
    command: 'ledger.trial-balance',
    query: ['mode', 'as_of', 'time_zone', 'clock', 'currency'],
  },
  { method: 'GET', path: '/admin/ledger/journal', command: 'ledger.journal', query: [...RANGE, 'merchant'] },
  { method: 'GET', path: '/admin/ledger/accounts/{account}', command: 'ledger.account', query: RANGE },
  { method: 'GET', path: '/admin/ledger/fundings', command: 'ledger.fundings', query: RANGE },
  {
    method: 'GET',
    path: '/admin/ledger/settlement/{merchant_id}',
    command: 'ledger.settlement',
    query: RANGE.slice(1),
  },
  { method: 'GET', path: '/admin/ledger/periods', command: 'ledger.periods', query: ['mode'] },
  { method: 'POST', path: '/admin/ledger/periods/{month}/close', command: 'ledger.close', query: ['mode'] },
  {
    method: 'GET',
    path: '/admin/ledger/export',
    command: 'ledger.export',
    query: ['mode', 'merchant', 'from', 'to', 'clock', 'format', 'document', 'evidence'],
  },
  { method: 'GET', path: '/admin/ledger/evidence/{sha256}', command: 'ledger.evidence', query: ['mode'] },
  { method: 'GET', path: '/admin/ledger/rates', command: 'ledger.rates', query: ['currency'] },
  { method: 'POST', path: '/admin/ledger/rates', command: 'ledger.record-rates', query: [] },
  { method: 'GET', path: '/admin/ledger/adjustments', command: 'ledger.adjustments', query: ['mode'] },
  { method: 'POST', path: '/admin/ledger/adjustments', command: 'ledger.adjust', query: [] },
  { method: 'POST', path: '/admin/ledger/adjustments/{id}/approve', command: 'ledger.approve-adjustment', query: [] },
  { method: 'POST', path: '/admin/ledger/adjustments/{id}/reject', command: 'ledger.reject-adjustment', query: [] },
  { method: 'POST', path: '/admin/treasury/native-returns', command: 'treasury.return', query: [] },
  { method: 'POST', path: '/admin/ledger/statements/{month}', command: 'ledger.statements', query: ['mode'] },
  {
    method: 'GET',
    path: '/admin/ledger/statements/{month}',
    command: 'ledger.month-statement',
    query: ['mode', 'merchant'],
  },
];

/** Null unless `ADMIN_PORT` is set. Throws `InvalidConfig` without the keys that authenticate tokens. */
export async function startAdminHttp(
  config: Config,
  commands: AdminCommands,
  streams: AdminStreams,
  { log, metrics, sealingKeys }: Pick<ServiceParts, 'log' | 'sealingKeys'> & { readonly metrics: Metrics },
): Promise<Server | null> {
  const { HOST: host, ADMIN_PORT: port } = config;
  if (port === undefined) return null;
  const keys = authenticationKeys(sealingKeys);
  const operators = fileOperators(config.DATA_DIR, () => keys);
  if (operators.list().length === 0)
    log.warn({}, 'ADMIN_PORT is set but no operator has a token: create one with quittance operator create');
  return startAdminHttpServer({
    host,
    port,
    operators,
    limiter: createTokenBucketLimiter(WRONG_TOKENS),
    clientAddress: createClientAddress(config.TRUSTED_PROXIES),
    onRefused: (address, path) => {
      metrics.http.operatorRefused();
      log.warn({ address, path }, "an operator's token was not accepted");
    },
    routes: [...LEDGER_ROUTES, ...INBOX_ROUTES],
    commands,
    streams,
    onError: (error) => log.error({ err: error }, "an operator's request failed"),
  });
}
