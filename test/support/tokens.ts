import { hexlify, Interface, Wallet } from 'ethers';
import type { Coin } from '../../src/domain/money/money.ts';
import type { Network, NetworkSettings, Token } from '../../src/domain/networks/networks.ts';
import { findAnvil } from '../../src/sandbox/anvil-binary.ts';
import { AnvilNode } from '../../src/sandbox/anvil-node.ts';
import { readArtifact } from '../../src/sandbox/contract-artifact.ts';
import { deploymentOf, sandboxTokens } from '../../src/sandbox/evm-tokens.ts';
import { signTransaction } from '../../src/sandbox/evm-transaction.ts';
import { quantity, type Rpc } from '../../src/sandbox/json-rpc.ts';

/** Wei. */
const FUNDS = 10n ** 24n;

const ABI = {
  USDT: new Interface(JSON.stringify(readArtifact('sandbox-usdt').abi)),
  USDC: new Interface(JSON.stringify(readArtifact('sandbox-usdc').abi)),
};

/** A node that makes blocks only when asked for. */
export interface HandledNode {
  readonly url: string;
  readonly rpc: Rpc;
  /** Makes blocks; `timeSec` is the first one's time. */
  mine(count?: number, timeSec?: number): Promise<void>;
  /** Gives the account at least this much native coin, in wei. */
  fund(address: string, wei: bigint): Promise<void>;
  /** Loses its newest blocks and all that was pending; what the blocks held is in no block. */
  rewind(blocks: number): Promise<void>;
  /** Loses what is pending. */
  dropPending(): Promise<void>;
  end(): Promise<void>;
}

/**
 * A chain under the test's own hand: blocks only when asked for, both tokens deployed, the owner holding the supply.
 */
export interface TokenChain extends Omit<HandledNode, 'end'> {
  readonly settings: NetworkSettings;
  readonly owner: string;
  token(coin: Coin): Token;
  /** Hands a call of a token to the pool, unmined; answers the transaction hash. */
  send(coin: Coin, method: string, args: readonly unknown[], from?: Wallet): Promise<string>;
  /** A new account with gas. */
  account(): Promise<Wallet>;
  balanceOf(coin: Coin, address: string): Promise<bigint>;
  close(): Promise<void>;
}

export interface TokenChainOptions {
  readonly network?: Network;
  readonly chainId?: number;
  readonly decimals?: number;
  readonly slotsInAnEpoch?: number;
}

export async function startTokenChain(options: TokenChainOptions = {}): Promise<TokenChain> {
  const { chainId = 31_337, slotsInAnEpoch = 2 } = options;
  return tokenChainOn(await startAnvil(chainId, slotsInAnEpoch), { ...options, chainId });
}

async function startAnvil(chainId: number, slotsInAnEpoch: number): Promise<HandledNode> {
  const binary = findAnvil();
  if (binary === null) throw new Error('anvil is not installed');
  const node = await AnvilNode.start(
    { binary, chainId, slotsInAnEpoch, genesisTimeSec: Math.floor(Date.now() / 1000) - 3600 },
    0,
    null,
  );
  const { rpc, url } = node;
  const dropPending = () => rpc<void>('anvil_dropAllTransactions', []);
  return {
    url,
    rpc,
    mine: async (count = 1, timeSec) => {
      if (timeSec !== undefined) await rpc('evm_setNextBlockTimestamp', [timeSec]);
      await rpc('anvil_mine', [quantity(count)]);
    },
    fund: (address, wei) => rpc('anvil_setBalance', [address, quantity(wei)]),
    rewind: async (blocks) => {
      await rpc('anvil_rollback', [blocks]);
      await dropPending();
    },
    dropPending,
    end: () => node.end(),
  };
}

/** Deploys the tokens on a fresh node. */
export async function tokenChainOn(
  node: HandledNode,
  { network = 'ethereum', chainId, decimals = 6 }: TokenChainOptions & { readonly chainId: number },
): Promise<TokenChain> {
  const { rpc, fund, end, ...hands } = node;
  const owner = Wallet.createRandom() as unknown as Wallet;
  const tokens = sandboxTokens(owner.address, decimals);
  const settings: NetworkSettings = {
    network,
    mode: 'test',
    chainId: String(chainId),
    tokens,
    simulated: true,
    mainNetwork: false,
    explorerTransactionUrl: null,
  };
  const token = (coin: Coin): Token => tokens.find((it) => it.coin === coin)!;
  const submit = async (from: Wallet, call: { to: string | null; data: string; gasLimit: bigint }): Promise<string> => {
    const nonce = Number(await rpc<string>('eth_getTransactionCount', [from.address, 'pending']));
    return rpc('eth_sendRawTransaction', [await signTransaction(from, { chainId, nonce, ...call })]);
  };
  const chain: TokenChain = {
    ...{ ...hands, rpc, fund, settings, owner: owner.address, token },
    send: (coin, method, args, from = owner) =>
      submit(from, { to: token(coin).address, data: ABI[coin].encodeFunctionData(method, args), gasLimit: 200_000n }),
    account: async () => {
      const account = new Wallet(hexlify(crypto.getRandomValues(new Uint8Array(32))));
      await fund(account.address, FUNDS);
      return account;
    },
    balanceOf: async (coin, address) =>
      BigInt(
        await rpc<string>('eth_call', [
          { to: token(coin).address, data: ABI[coin].encodeFunctionData('balanceOf', [address]) },
          'latest',
        ]),
      ),
    close: end,
  };
  await fund(owner.address, FUNDS);
  for (const each of tokens) await submit(owner, deploymentOf(each));
  await node.mine();
  return chain;
}
