import { createEvmChain, type EvmChainOptions } from '../../src/adapters/evm/chain.ts';
import { createTronChain, type TronChainOptions } from '../../src/adapters/tron/chain.ts';
import type { RangeScanned } from '../../src/domain/events/operations-events.ts';
import type { FinalityRule } from '../../src/domain/events/session-events.ts';
import type { AddressIndex } from '../../src/features/addresses/address-index.ts';
import { ChainWatcher } from '../../src/features/deposits/chain/watch.process.ts';
import { systemClock } from '../../src/ports/clock.ts';
import type { DepositBook } from '../e2e/evm-watch-world.ts';
import { localSettings } from './anvil.ts';
import type { NetworkSettings } from '../../src/domain/networks/networks.ts';
import type { Chain } from '../../src/ports/chain/chain.ts';
import type { RpcProvider } from '../../src/ports/chain/rpc-pool.ts';
import { ModelPool } from './lying-evm.ts';
import { keepingAll } from './watching.ts';

type ChainOptions = EvmChainOptions & TronChainOptions;

export interface ModelWatcherParts {
  readonly token: string;
  readonly providers: readonly RpcProvider[];
  /** Default: Ethereum. */
  readonly settings?: NetworkSettings;
  readonly addresses: AddressIndex;
  readonly book: DepositBook;
  readonly rule: FinalityRule;
  /** Final ranges read so far, oldest first: what a watcher that starts anew goes on from. */
  readonly ranges: RangeScanned['data'][];
  readonly onRange?: (range: RangeScanned['data']) => void;
  readonly onTick: () => void;
  readonly confirmWithSecond?: (units: bigint) => boolean;
}

/** The real watcher and adapter over providers in memory, without a pause between its rounds. */
export function modelWatcher(parts: ModelWatcherParts): ChainWatcher {
  const {
    token,
    providers,
    settings = localSettings(token),
    addresses,
    book,
    rule,
    ranges,
    onRange,
    onTick,
    confirmWithSecond,
  } = parts;
  const create: (options: ChainOptions) => Chain = settings.network === 'tron' ? createTronChain : createEvmChain;
  const covered = (range: RangeScanned['data'] | undefined) =>
    range ? { block: range.toBlock, hash: range.toBlockHash, timeSec: range.toBlockTimeSec } : null;
  return new ChainWatcher(
    {
      chain: create({
        settings,
        pool: new ModelPool(providers),
        lagProbeMs: Infinity,
        ...(confirmWithSecond && { confirmWithSecond }),
      }),
      addresses,
      deposits: keepingAll(book),
      clock: systemClock,
      coverage: {
        lastCovered: async () => covered(ranges.at(-1)),
        recordAgain: async () => undefined,
        coveredBelow: async (block) => covered(ranges.findLast(({ toBlock }) => toBlock < block)),
        record: async (range) => {
          ranges.push(range);
          onRange?.(range);
        },
      },
      finalityRuleOf: () => rule,
      pendingDeposits: async () =>
        [...book.deposits.values()].map(({ sessionId, facts, status }) => ({
          ...{ sessionId, facts, rule, status },
          ...(status === 'reverted' && { revertedForSec: 60 }),
        })),
      oldestSessionSec: () => 0,
      observer: { onTick, onTrouble: onTick },
    },
    { pollIntervalMs: 0, secondReadingMs: 0, coverageIntervalMs: 0 },
  );
}
