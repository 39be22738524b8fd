import { hexlify, Interface, Wallet } from 'ethers';
import { tokenOf, type Network, type NetworkSettings } from '../domain/networks/networks.ts';
import type { Log } from '../ports/log.ts';
import { findAnvil } from './anvil-binary.ts';
import { BlockProducer, type Cadence } from './block-producer.ts';
import { ChainStore } from './chain-store.ts';
import { EvmPayer } from './evm-payer.ts';
import { contractWallet, ensureTokens, freezeCall, sandboxTokens } from './evm-tokens.ts';
import { quantity } from './json-rpc.ts';
import type { PayerKeys } from './payer-keys.ts';
import {
  KEY_PAYERS,
  type KeyPayer,
  type SandboxChain,
  type SandboxChainUnavailable,
  type SandboxPayer,
  type SandboxPayment,
} from './chain.ts';
import { withFrozenPayer } from './frozen-payer.ts';
import { must } from '../domain/values/must.ts';

interface EvmProfile {
  readonly chainId: number;
  readonly decimals: number;
  /** `finalized` lags the head by twice this. */
  readonly slotsInAnEpoch: number;
}

/** Chain ids that no main network uses: a link or QR code of the sandbox must never move real money. */
const PROFILES = {
  ethereum: { chainId: 31_337, decimals: 6, slotsInAnEpoch: 4 },
  bsc: { chainId: 31_338, decimals: 18, slotsInAnEpoch: 2 },
} as const satisfies Partial<Record<Network, EvmProfile>>;
export type EvmNetwork = keyof typeof PROFILES;

/** 12 confirmations, Ethereum's rule for everyday amounts, take under 4 s; the busy pace covers them with a margin. */
const CADENCE: Cadence = { busyMs: 300, idleMs: 1_000, busyBlocks: 24, blocksPerRun: 4_000 };
/** How long a block stays before it is replaced: a watcher must have seen it for the case to be meaningful. */
const SEEN_MS = 2_000;
/** Gas money in wei: a billion whole coins. */
const GAS_FUNDS = 10n ** 27n;
const BALANCE_OF = new Interface(['function balanceOf(address) view returns (uint256)']);

export interface EvmSandboxOptions {
  readonly directory: string;
  readonly payerKeys: PayerKeys;
  readonly log: Log;
  readonly cadence?: Cadence;
  readonly seenMs?: number;
}

/** Starts one EVM chain: the node, its tokens, its payers. The same directory gives the same chain again. */
export async function startEvmSandboxChain(
  network: EvmNetwork,
  options: EvmSandboxOptions,
): Promise<SandboxChain | SandboxChainUnavailable> {
  const binary = findAnvil();
  if (binary === null)
    return {
      network,
      reason: 'anvil is not installed: neither the package for this platform nor an `anvil` on the PATH',
    };
  const { chainId, decimals, slotsInAnEpoch } = PROFILES[network];
  const walletOf = (role: string): Wallet => new Wallet(hexlify(options.payerKeys(`${network}-${role}`)));
  const deployer = walletOf('deployer');
  const payers = KEY_PAYERS.map((name) => [name, walletOf(name)] as const);
  const payerAddresses = payers.map(([, { address }]) => address);
  const caller = walletOf('contract-caller');
  const settings: NetworkSettings = {
    network,
    mode: 'test',
    chainId: String(chainId),
    tokens: sandboxTokens(deployer.address, decimals),
    simulated: true,
    mainNetwork: false,
    explorerTransactionUrl: null,
    usualFinality: { blocks: 2 * slotsInAnEpoch + 1, seconds: 4 },
  };

  const accounts = [deployer.address, caller.address, ...payerAddresses];
  const contract = contractWallet(deployer.address);
  const producer = await BlockProducer.start(
    { binary, chainId, slotsInAnEpoch },
    new ChainStore(options.directory),
    options.cadence ?? CADENCE,
    options.log,
    async (rpc) => {
      await Promise.all(accounts.map((address) => rpc('anvil_setBalance', [address, quantity(GAS_FUNDS)])));
    },
  );
  try {
    await ensureTokens(producer, deployer, chainId, settings.tokens, [...payerAddresses, contract]);
    // Block 0 of two sandboxes can be equal; block 1 contains transactions by keys that only this sandbox has.
    const { hash: genesis } = await producer.rpc<{ hash: string }>('eth_getBlockByNumber', ['0x1', false]);
    producer.run();
    const payerOf = (wallet: Wallet, paying: string | null = null): EvmPayer =>
      new EvmPayer(wallet, producer, settings, paying);
    const byKey = Object.fromEntries(payers.map(([name, wallet]) => [name, payerOf(wallet)])) as Record<
      KeyPayer,
      EvmPayer
    >;
    const all = { ...byKey, contract: payerOf(caller, contract) };
    return chainOf(settings, genesis, producer, all, payerOf(deployer), options.seenMs ?? SEEN_MS);
  } catch (error) {
    await producer.close();
    throw error;
  }
}

type Payers = Readonly<Record<SandboxPayer, EvmPayer>>;

function chainOf(
  settings: NetworkSettings,
  genesis: string,
  producer: BlockProducer,
  payers: Payers,
  issuer: EvmPayer,
  seenMs: number,
): SandboxChain {
  const payerOf = ({ payer }: SandboxPayment): EvmPayer => payers[payer ?? 'first'];
  return {
    settings,
    genesis,
    rpcUrl: producer.rpcUrl,
    pay: withFrozenPayer(
      (coin, frozen) =>
        issuer.call(must(tokenOf(settings, coin)).address, freezeCall(coin, payers.frozen.address, frozen)),
      (payment) => payerOf(payment).pay(payment),
    ),
    exchangeAddress: payers.exchange.address,
    faults: {
      payThenReorg: (payment) => payerOf(payment).payThenReorg(payment, seenMs),
      payThenLose: (payment) => payerOf(payment).payThenLose(payment, seenMs),
      payAndFail: (payment) => payerOf(payment).payAndFail(payment),
    },
    fundTreasury: (address) => fundTreasury(address, settings, producer, payers.first),
    close: () => producer.close(),
  };
}

/** Whole units of each coin: more than any refund of a test can use. */
const TREASURY_FUNDS = '999999999999';

async function fundTreasury(
  address: string,
  { tokens }: NetworkSettings,
  producer: BlockProducer,
  payer: EvmPayer,
): Promise<void> {
  const native = BigInt(await producer.rpc<string>('eth_getBalance', [address, 'latest']));
  // Setting a balance leaves no transaction, so only a snapshot taken afterwards allows the chain to be restored after
  // a kill.
  if (native < GAS_FUNDS / 2n)
    await producer.exclusive(({ rpc }) => rpc('anvil_setBalance', [address, quantity(GAS_FUNDS)]));
  for (const { coin, address: token, decimals } of tokens) {
    const data = BALANCE_OF.encodeFunctionData('balanceOf', [address]);
    const held = BigInt(await producer.rpc<string>('eth_call', [{ to: token, data }, 'latest']));
    if (held < 10n ** BigInt(decimals + 9)) await payer.pay({ coin, to: address, amount: TREASURY_FUNDS });
  }
}
