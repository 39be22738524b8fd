import { chainCoverage } from './coverage.ts';
import {
  CommandRefused,
  optionalText,
  requiredText,
  type AdminArguments,
  type AdminCommands,
} from '../server/commands.ts';
import { RememberedRanges, type RangeStore } from '../../features/shared/newest-ranges.ts';
import type { NetworkSettings } from '../../domain/networks/networks.ts';
import type { JsonValue } from '../../ports/read-model/read-model.ts';
import type { WatchedNetwork } from '../../features/deposits/network-watcher.ts';
import { refusalText, type RpcPool } from '../../ports/chain/rpc-pool.ts';
import { must } from '../../domain/values/must.ts';
import { requiredWhole } from '../server/whole-number.ts';

/** Largest rescan: an hour of the fastest chain. More takes several requests. */
const MAX_RESCAN_BLOCKS = 10_000;

/** `quittance chain status | coverage | rescan`. */
export function chainCommands(
  watched: readonly WatchedNetwork[],
  store: RangeStore,
  isOurs: (settings: NetworkSettings, address: string) => boolean,
  providersOf: (settings: NetworkSettings) => ReturnType<RpcPool['status']>,
): AdminCommands {
  const remembered = new RememberedRanges(store);
  return {
    'chain.coverage': async () =>
      Promise.all(watched.map(({ settings: { mode, network } }) => chainCoverage(store, remembered, mode, network))),
    'chain.status': async () =>
      watched.map(({ settings, watcher }) => {
        const {
          headBlock,
          scannedBlock,
          scannedToSec,
          finalizedBlock,
          coveredBlock,
          trackedDeposits,
          consecutiveFailures,
          readPace = null,
        } = watcher.status();
        return {
          mode: settings.mode,
          network: settings.network,
          chain_id: settings.chainId,
          head_block: headBlock,
          read_block: scannedBlock,
          read_to: scannedToSec,
          final_block: finalizedBlock,
          durable_block: coveredBlock,
          deposits_not_settled: trackedDeposits,
          failed_reads_in_a_row: consecutiveFailures,
          read_pace: readPace,
          providers: providersOf(settings).map(providerBody),
        };
      }),
    'chain.rescan': async (args): Promise<JsonValue> => {
      const { watcher, settings } = watchedOf(watched, args);
      if (watcher.recheck) {
        if (optionalText(args, 'from') ?? optionalText(args, 'to'))
          throw new CommandRefused(
            `${settings.network} is not read by blocks: specify the --address of a session instead of --from and --to`,
          );
        const address = requiredText(args, 'address');
        if (!isOurs(settings, address)) throw new CommandRefused('address was not assigned to any session');
        const { transfers } = await watcher.recheck(address);
        return { network: settings.network, address, transfers_to_us: transfers };
      }
      if (optionalText(args, 'address'))
        throw new CommandRefused(`${settings.network} is read by blocks: specify --from and --to instead of --address`);
      const [from, to] = [requiredWhole(args, 'from'), requiredWhole(args, 'to')];
      if (!watcher.rescan) throw new CommandRefused(`${settings.network} cannot be rescanned`);
      if (to < from || to - from >= MAX_RESCAN_BLOCKS)
        throw new CommandRefused(`to must be at most ${MAX_RESCAN_BLOCKS - 1} blocks above from`);
      const result = await watcher.rescan(from, to);
      return {
        network: settings.network,
        from_block: result.fromBlock,
        to_block: result.toBlock,
        transfers_to_us: result.transfers,
        providers: [...result.providers],
        recorded_to: result.recordedTo,
      };
    },
  };
}

/** As this process last heard from it; null for what was never requested. */
const providerBody = ({
  provider,
  healthy,
  excluded,
  consecutiveFaults,
  refusal,
  reported: { head, read, final },
}: ReturnType<RpcPool['status']>[number]) => ({
  provider,
  state: excluded === null ? (healthy && consecutiveFaults === 0 ? 'in use' : 'failing') : 'left out',
  why: excluded ?? (refusal && refusalText(refusal)),
  head_block: head?.block ?? null,
  head_age: head?.ageSec ?? null,
  read_block: read?.block ?? null,
  read_age: read?.ageSec ?? null,
  final_block: final?.block ?? null,
  final_age: final?.ageSec ?? null,
});

function watchedOf(watched: readonly WatchedNetwork[], args: AdminArguments): WatchedNetwork {
  const network = requiredText(args, 'network');
  const mode = optionalText(args, 'mode');
  const found = watched.filter(
    ({ settings }) => settings.network === network && (mode === undefined || settings.mode === mode),
  );
  if (found.length === 1) return must(found[0]);
  throw new CommandRefused(
    found.length === 0
      ? `${network} is not watched here`
      : 'the network is watched in both modes: specify --mode test or live',
  );
}
