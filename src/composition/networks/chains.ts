import type { FinalityRule } from '../../domain/events/session-events.ts';
import type { Mode, SessionId } from '../../domain/values/ids.ts';
import { addressFamilyOf, type Network } from '../../domain/networks/networks.ts';
import { sessionStream } from '../../domain/values/streams.ts';
import type { Chain } from '../../ports/chain/chain.ts';
import { toSec, type Clock } from '../../ports/clock.ts';
import type { EventStore } from '../../ports/event-log/event-store.ts';
import type { Random } from '../../ports/random.ts';
import { rowPages } from '../../ports/read-model/row-pages.ts';
import type { ReadModel, Table } from '../../ports/read-model/read-model.ts';
import type { Logger } from '../../observability/logger.ts';
import { seedFrom } from '../../runtime/projections/whole-rows.ts';
import { REVISITED_SEC } from '../../features/deposits/chain/reverted.ts';
import { ChainWatcher } from '../../features/deposits/chain/watch.process.ts';
import type {
  AwaitedPayments,
  DepositTrackingDeps,
  PendingDeposit,
  WatchChainDeps,
  WatchObserver,
} from '../../features/deposits/chain/types.ts';
import type { WatchedNetwork } from '../../features/deposits/network-watcher.ts';
import {
  DEPOSITS_BY_BLOCK_TABLE,
  OPEN_DEPOSITS_TABLE,
  REVERTED_DEPOSITS_TABLE,
  depositPlace,
  depositsByBlock,
  revertedPlace,
  type DepositRow,
} from '../../../projections/deposits/deposits-by-block.projection.ts';
import type { Core } from '../core.ts';
import { indexKey } from '../../features/addresses/address-index.ts';
import { RecordedCoverage } from '../../features/deposits/recorded-coverage.ts';
import { must } from '../../domain/values/must.ts';

export interface WatchDeps {
  readonly core: Core;
  readonly store: EventStore;
  readonly readModel: ReadModel;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Creation time of the oldest session; null if there was none at the start. */
  readonly oldestSessionSec: number | null;
  readonly observerOf?: (mode: Mode, network: Network) => WatchObserver;
}

/** A local node may be polled as often as needed. */
const SANDBOX_POLL_WHILE_WAITING_MS = 100;
export const POLL_MS = { sandbox: 500, ethereum: 4_000, bsc: 1_000, tron: 1_500, solana: 1_000 } as const;
/** Less than the time to the next block by no more than the interval, so that no block is seen later than without it. */
const POLL_AFTER_BLOCK_MS: Partial<Record<Network, number>> = { ethereum: 8_000, tron: 2_700 };
export const SANDBOX_COVERAGE_MS = 5_000;
/** The depth to which the watcher itself remembers final deposits. */
const DEEP_BLOCKS = 256;

type SessionSide = Pick<
  WatchChainDeps,
  'addresses' | 'addressesComplete' | 'deposits' | 'coverage' | 'clock' | 'finalityRuleOf' | 'pendingDeposits'
> &
  Required<Pick<DepositTrackingDeps, 'observer'>>;

/** The session-related dependencies of a watcher of any chain. */
export function sessionSide(deps: WatchDeps, mode: Mode, network: Network): SessionSide {
  const { core, log } = deps;
  const addresses = must(core.addressIndexes.get(indexKey(mode, addressFamilyOf(network))));
  const coverage = new RecordedCoverage(deps, mode, network);
  const finalityRuleOf = async (id: SessionId): Promise<FinalityRule> => {
    const session = await core.sessionHandler.read(sessionStream(id));
    return (
      session?.context.created?.paymentOptions.find((option) => option.network === network)?.finality ?? {
        kind: 'finalized',
      }
    );
  };
  const pendingDeposits = async (finalFrom?: number): Promise<PendingDeposit[]> => {
    const from = finalFrom ?? Math.max(0, ((await coverage.lastCovered())?.block ?? 0) - DEEP_BLOCKS);
    const nowSec = toSec(deps.clock.nowMs());
    let rows: readonly DepositRow[] = [];
    // Rows being refilled are incomplete. The durable cursor stays below every deposit that is not final, so those are
    // read again.
    await seedFrom(deps.readModel, depositsByBlock, async () => {
      const found = await rowsOf(deps.readModel, DEPOSITS_BY_BLOCK_TABLE, network, depositPlace(network, from, ''));
      const settled = found.filter(({ status }) => status === 'final');
      const revertedFrom = revertedPlace(network, nowSec - REVISITED_SEC, '');
      rows = [
        ...(await rowsOf(deps.readModel, OPEN_DEPOSITS_TABLE, network, `${network}/`)),
        ...settled,
        ...(await rowsOf(deps.readModel, REVERTED_DEPOSITS_TABLE, network, revertedFrom)),
      ];
    });
    const ours = rows.filter((row) => addresses.sessionOf(row.facts.toAddress) === row.sessionId);
    return Promise.all(
      ours.map(async (row) => ({
        sessionId: row.sessionId,
        facts: row.facts,
        status: row.status,
        ...(row.revertedAtSec !== undefined && { revertedForSec: Math.max(0, nowSec - row.revertedAtSec) }),
        rule: await finalityRuleOf(row.sessionId),
      })),
    );
  };
  const observer = both(logging(log, mode, network), deps.observerOf?.(mode, network) ?? {});
  const addressesComplete = (): Promise<void> => core.addressesComplete();
  return {
    addresses,
    addressesComplete,
    deposits: core.deposits,
    coverage,
    clock: deps.clock,
    finalityRuleOf,
    pendingDeposits,
    observer,
  };
}

/** A watcher for one block-based chain, connected to the sessions. */
export function watch(deps: WatchDeps, chain: Chain, options: { readonly sandbox: boolean }): WatchedNetwork {
  const { mode, network, settings } = chain;
  const watcher = new ChainWatcher(
    {
      chain,
      ...sessionSide(deps, mode, network),
      oldestSessionSec: () => deps.oldestSessionSec,
      ...(!options.sandbox && { awaited: awaitedOn(deps, mode, network) }),
    },
    {
      pollIntervalMs: options.sandbox ? POLL_MS.sandbox : POLL_MS[network],
      ...(!options.sandbox && { pollAfterBlockMs: POLL_AFTER_BLOCK_MS[network] ?? POLL_MS[network] }),
      sandbox: options.sandbox,
      deepBlocks: DEEP_BLOCKS,
      ...(options.sandbox && {
        coverageIntervalMs: SANDBOX_COVERAGE_MS,
        pollWhileWaitingMs: SANDBOX_POLL_WHILE_WAITING_MS,
      }),
    },
  );
  return { settings, watcher };
}

/** Sessions that can still be paid on the network. Local chains cost nothing and are read as if there always were some. */
export const awaitedOn = ({ core: { due } }: WatchDeps, mode: Mode, network: Network): AwaitedPayments => ({
  isAwaited: () => due.isAwaited(mode, network),
  onAwaited: (listener) =>
    due.onAwaited((awaitedMode, awaitedNetwork) => {
      if (awaitedMode === mode && awaitedNetwork === network) listener();
    }),
});

async function rowsOf(
  readModel: ReadModel,
  table: Table<DepositRow>,
  network: Network,
  after: string,
): Promise<DepositRow[]> {
  const rows: DepositRow[] = [];
  for await (const page of rowPages(readModel, table, { prefix: `${network}/`, after }))
    rows.push(...page.map(({ row }) => row));
  return rows;
}

/** Forwards everything to two observers. */
function both(first: WatchObserver, second: WatchObserver): WatchObserver {
  return {
    onReorg: (reorg) => [first, second].forEach((observer) => observer.onReorg?.(reorg)),
    onReverted: (reverted) => [first, second].forEach((observer) => observer.onReverted?.(reverted)),
    onAnomaly: (anomaly) => [first, second].forEach((observer) => observer.onAnomaly?.(anomaly)),
    onTrouble: (trouble) => [first, second].forEach((observer) => observer.onTrouble?.(trouble)),
    onTick: (status) => [first, second].forEach((observer) => observer.onTick?.(status)),
  };
}

function logging(log: Logger, mode: Mode, network: Network): WatchObserver {
  const where = { mode, network };
  let isTooSlow = false;
  return {
    onTick: ({ readPace = null }) => {
      if (readPace === null || readPace < 1 === isTooSlow) return;
      isTooSlow = readPace < 1;
      if (isTooSlow) log.warn({ ...where, readPace }, 'the network makes blocks faster than its providers are read');
      else log.info({ ...where, readPace }, 'the network is read as fast as it makes blocks again');
    },
    onReorg: (reorg) =>
      log[reorg.beyondFinality ? 'error' : 'warn']({ ...where, ...reorg }, 'the chain was reorganised'),
    onReverted: ({ sessionId: session, ...reverted }) =>
      log[reverted.afterFinal ? 'error' : 'warn']({ ...where, session, ...reverted }, 'a deposit was reverted'),
    onAnomaly: ({ sessionId: session, ...anomaly }) =>
      log.warn({ ...where, session, ...anomaly }, 'the chain gave an unexpected answer'),
    onTrouble: ({ error, consecutiveFailures }) =>
      log.warn({ ...where, err: error, consecutiveFailures }, 'the chain cannot be read'),
  };
}
