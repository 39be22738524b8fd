import type { Coin } from '../../domain/money/money.ts';
import type { NetworkSettings } from '../../domain/networks/networks.ts';
import { findAnvil } from '../anvil-binary.ts';
import type { KeyPayer, SandboxChain, SandboxChainUnavailable, SandboxPaid } from '../chain.ts';
import { withFrozenPayer } from '../frozen-payer.ts';
import { createIntervalClock, createManualClock, type BlockPace } from './block-clock.ts';
import { EvmNode } from './evm-node.ts';
import { FacadeChain } from './chain.ts';
import { freezeCall, loadGenesis, pauseCall, type FacadeGenesis } from './genesis.ts';
import { FacadeJournal } from './journal.ts';
import { serveFacade } from './server.ts';
import { fundTreasury } from './fund-treasury.ts';
import { addressHexOf, base58Of, evmAddressOf } from './tron-codec.ts';
import { TronTestWallet } from './tron-test-wallet.ts';
import { must } from '../../domain/values/must.ts';

export interface TronFacadeOptions {
  /** Location of the chain; the same directory gives the same chain again. */
  readonly directory: string;
  /** A transaction is final 19 blocks after its own. */
  readonly pace?: BlockPace;
  /** Blocks only through `mine`, and none kept across restarts: for tests. */
  readonly manual?: boolean;
  readonly nowMs?: () => number;
}

/** The sandbox's TRON chain, with extras for tests. */
export interface TronSandbox extends SandboxChain {
  addressOf(payer: KeyPayer): string;
  privateKeyOf(payer: KeyPayer): string;
  /** A contract that sends to several receivers in one transaction; base58. */
  readonly batchSender: string;
  /** Makes blocks at once; only with `manual`. */
  mine(count: number): void;
  sendNative(to: string, sun: number): Promise<SandboxPaid>;
  freeze(coin: Coin, account: string, frozen: boolean): Promise<void>;
  pause(coin: Coin, paused: boolean): Promise<void>;
  /** Breaks off the next read-only calls, as a busy node does. */
  breakOffCalls(count: number): void;
}

/** No TRON network has this id, so a sandbox transaction references a block that exists nowhere else. */
const CHAIN_ID = 31_339;
/** The busy pace covers finality with a margin. */
const PACE: BlockPace = { busyMs: 150, idleMs: 1_000, busyBlocks: 40 };

/**
 * Starts the `/wallet` API on top of its own anvil: real TRON transactions and signatures on a real EVM, but neither
 * java-tron nor the TVM, so the network is labelled as simulated.
 */
export async function startTronFacade(options: TronFacadeOptions): Promise<TronSandbox | SandboxChainUnavailable> {
  const binary = findAnvil();
  if (binary === null)
    return {
      network: 'tron',
      reason: 'anvil is not installed: neither the package for this platform nor an `anvil` on the PATH',
    };
  const nowMs = options.nowMs ?? Date.now;
  const genesis = loadGenesis(options.directory);
  const journal = new FacadeJournal(options.directory);
  const clock =
    options.manual === true
      ? createManualClock(nowMs)
      : createIntervalClock(options.directory, options.pace ?? PACE, nowMs);
  const evm = await EvmNode.start(binary, CHAIN_ID);
  try {
    const chain = await FacadeChain.open({ evm, clock, genesis, chainId: CHAIN_ID, journal });
    const server = await serveFacade(chain);
    return sandboxOf(chain, server, genesis.payerKeys);
  } catch (error) {
    await evm.close();
    throw error;
  }
}

function sandboxOf(
  chain: FacadeChain,
  server: { url: string; close(): Promise<void> },
  keys: FacadeGenesis['payerKeys'],
): TronSandbox {
  const settings: NetworkSettings = {
    network: 'tron',
    mode: 'test',
    chainId: String(CHAIN_ID),
    tokens: [
      { coin: 'USDT', address: base58Of(chain.contracts.tokens.USDT), decimals: 6 },
      { coin: 'USDC', address: base58Of(chain.contracts.tokens.USDC), decimals: 6 },
    ],
    simulated: true,
    mainNetwork: false,
    explorerTransactionUrl: null,
    usualFinality: { blocks: 20, seconds: 3 },
  };
  const wallet = new TronTestWallet({ chain, settings, url: server.url, keys });
  const freeze = (coin: Coin, account: string, frozen: boolean): Promise<void> =>
    chain.issue(
      evmAddressOf(chain.contracts.tokens[coin]),
      freezeCall(evmAddressOf(addressHexOf(account) ?? ''), frozen),
    );
  let closing: Promise<void> | null = null;
  return {
    settings,
    rpcUrl: server.url,
    genesis: must(chain.block(0)).id,
    pay: withFrozenPayer(
      (coin, frozen) => freeze(coin, wallet.addressOf('frozen'), frozen),
      (payment) => wallet.pay(payment),
    ),
    exchangeAddress: wallet.addressOf('exchange'),
    faults: {
      payThenReorg: (payment) => wallet.payThenFork(payment, true),
      payThenLose: (payment) => wallet.payThenFork(payment, false),
      payAndFail: (payment) => wallet.payAndFail(payment),
    },
    addressOf: (payer) => wallet.addressOf(payer),
    privateKeyOf: (payer) => wallet.privateKeyOf(payer),
    batchSender: base58Of(chain.contracts.batchSender),
    mine: (count) => chain.clock.mine(count),
    sendNative: (to, sun) => wallet.sendNative(to, sun),
    freeze,
    pause: (coin, paused) => chain.issue(evmAddressOf(chain.contracts.tokens[coin]), pauseCall(paused)),
    breakOffCalls: (count) => {
      chain.brokenOffCalls = count;
    },
    fundTreasury: (address) => fundTreasury(chain, address, keys[0]),
    close: () => (closing ??= server.close().then(() => chain.close())),
  };
}
