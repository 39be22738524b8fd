import type { Mode } from '../../domain/values/ids.ts';
import { coverageStream } from '../../domain/values/streams.ts';
import type { ChainReplaced } from '../../domain/events/operations-events.ts';
import type { AccountChain } from '../../ports/chain/account-chain.ts';
import type { Subscription } from '../../ports/event-log/event-store.ts';
import { SolanaWatcher } from '../../features/deposits/solana/watch.process.ts';
import { WatchedOwners } from '../../features/deposits/solana/owners.ts';
import { seedWatchedOwners } from '../../features/deposits/solana/seed.ts';
import { toTokenUnits } from '../../domain/money/money.ts';
import { rowPages } from '../../ports/read-model/row-pages.ts';
import type { ReadModel } from '../../ports/read-model/read-model.ts';
import { appendNext } from '../../runtime/commands/append-next.ts';
import { decodeEvent } from '../../runtime/commands/codec.ts';
import { seedFrom } from '../../runtime/projections/whole-rows.ts';
import { COLLECTED_TABLE, collectedKey, signedAmount } from '../../../projections/treasury/collected.projection.ts';
import { sessionView } from '../../../projections/sessions/session-view.projection.ts';
import { awaitedOn, POLL_MS, SANDBOX_COVERAGE_MS, sessionSide, type WatchDeps } from './chains.ts';
import type { WatchedNetwork } from '../../features/deposits/network-watcher.ts';

/** The earlier chain of this sandbox is gone: its facts belong to a previous chain, not to a reorganised one. */
export interface ReplacedChain {
  readonly oldGenesis: string;
}

/** A watcher for Solana, connected to the sessions. */
export async function watchSolana(
  deps: WatchDeps,
  chain: AccountChain,
  options: { readonly sandbox: boolean; readonly replaced: ReplacedChain | null },
): Promise<WatchedNetwork> {
  const { mode, network, settings } = chain;
  if (options.replaced) await recordReplacement(deps, mode, options.replaced.oldGenesis, settings.chainId);
  const owners = new WatchedOwners(mode);
  const side = sessionSide(deps, mode, network);
  const following = await followOwners(deps, mode, owners, (await side.coverage.lastCovered())?.timeSec ?? 0);
  const addressesComplete = async (): Promise<void> => {
    await side.addressesComplete?.();
    await deps.core.completeIn(following);
  };
  const watcher = new SolanaWatcher(
    {
      chain,
      owners,
      ...side,
      addressesComplete,
      booked: () => bookedIn(deps.readModel, chain),
      ...(!options.sandbox && { awaited: awaitedOn(deps, mode, network) }),
    },
    {
      pollIntervalMs: options.sandbox ? POLL_MS.sandbox : POLL_MS.solana,
      isNewChain: options.replaced !== null,
      ...(options.sandbox && { coverageIntervalMs: SANDBOX_COVERAGE_MS }),
    },
  );
  const stop = async (): Promise<void> => {
    await watcher.stop();
    await following.close();
  };
  return {
    settings,
    watcher: {
      start: () => watcher.start(),
      stop,
      scannedToSec: () => watcher.scannedToSec(),
      onScanned: (listener) => watcher.onScanned(listener),
      status: () => watcher.status(),
      recheck: (address) => watcher.recheck(address),
    },
  };
}

async function followOwners(
  { store, readModel }: WatchDeps,
  mode: Mode,
  owners: WatchedOwners,
  readToSec: number,
): Promise<Subscription> {
  const after = await seedFrom(readModel, sessionView, () => seedWatchedOwners(owners, mode, readModel, readToSec));
  return new Promise((resolve) => {
    const subscription = store.subscribe({
      name: `solana-owners-${mode}`,
      after,
      streamPrefixes: ['session-'],
      onEvents: (events) => events.forEach((event) => owners.apply(decodeEvent(event))),
      onCaughtUp: () => setImmediate(() => resolve(subscription)),
    });
  });
}

/** Final money at collection addresses that was not swept, by token account. */
async function bookedIn(readModel: ReadModel, chain: AccountChain): Promise<Map<string, bigint>> {
  const booked = new Map<string, bigint>();
  for await (const page of rowPages(readModel, COLLECTED_TABLE, { prefix: collectedKey(chain.network, '') }))
    for (const { row } of page) {
      const { address, coins } = row;
      for (const { account, token } of chain.tokenAccountsOf(address)) {
        const units = signedAmount(coins[token.coin] ?? '0');
        if (units > 0n) booked.set(account, toTokenUnits(units, token.decimals));
      }
    }
  return booked;
}

async function recordReplacement(deps: WatchDeps, mode: Mode, oldGenesis: string, newGenesis: string): Promise<void> {
  const stream = coverageStream(mode, 'solana');
  const last = await deps.store.lastOfStream(stream);
  const event: ChainReplaced = { type: 'ChainReplaced', data: { mode, network: 'solana', oldGenesis, newGenesis } };
  const { result } = await appendNext(deps, { stream, last, event, actor: 'chain:solana' });
  if (!result.ok) throw new Error(`${stream} has another writer`);
}
