import { hexlify, Interface, Wallet } from 'ethers';
import type { Coin } from '../../src/domain/money/money.ts';
import type { Network, NetworkSettings, Token } from '../../src/domain/networks/networks.ts';
import { findAnvil } from '../../src/sandbox/anvil-binary.ts';
import { AnvilNode } from '../../src/sandbox/anvil-node.ts';
import { readArtifact } from '../../src/sandbox/contract-artifact.ts';
import { deploymentOf, sandboxTokens } from '../../src/sandbox/evm-tokens.ts';
import { signTransaction } from '../../src/sandbox/evm-transaction.ts';
import { quantity, type Rpc } from '../../src/sandbox/json-rpc.ts';

const ABI = {
  USDT: new Interface(JSON.stringify(readArtifact('sandbox-usdt').abi)),
  USDC: new Interface(JSON.stringify(readArtifact('sandbox-usdc').abi)),
};

/**
 * A chain under the test's own hand: blocks only when asked for, both tokens deployed, the owner holding the supply.
 */
export interface TokenChain {
  readonly url: string;
  readonly rpc: Rpc;
  readonly settings: NetworkSettings;
  readonly owner: string;
  token(coin: Coin): Token;
  /** Makes blocks; `timeSec` is the first one's time. */
  mine(count?: number, timeSec?: number): Promise<void>;
  /** Hands a call of a token to the pool, unmined; answers the transaction hash. */
  send(coin: Coin, method: string, args: readonly unknown[], from?: Wallet): Promise<string>;
  /** A new account with gas. */
  account(): Promise<Wallet>;
  balanceOf(coin: Coin, address: string): Promise<bigint>;
  close(): Promise<void>;
}

export async function startTokenChain(
  options: { network?: Network; chainId?: number; decimals?: number; slotsInAnEpoch?: number } = {},
): Promise<TokenChain> {
  const { network = 'ethereum', chainId = 31_337, decimals = 6, slotsInAnEpoch = 2 } = options;
  const binary = findAnvil();
  if (binary === null) throw new Error('anvil is not installed');
  const node = await AnvilNode.start(
    { binary, chainId, slotsInAnEpoch, genesisTimeSec: Math.floor(Date.now() / 1000) - 3600 },
    0,
    null,
  );
  const { rpc } = node;
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
  const fund = (address: string): Promise<unknown> => rpc('anvil_setBalance', [address, quantity(10n ** 24n)]);
  const token = (coin: Coin): Token => tokens.find((it) => it.coin === coin)!;
  const submit = async (from: Wallet, call: { to: string | null; data: string; gasLimit: bigint }): Promise<string> => {
    const nonce = Number(await rpc<string>('eth_getTransactionCount', [from.address, 'pending']));
    return rpc('eth_sendRawTransaction', [await signTransaction(from, { chainId, nonce, ...call })]);
  };
  const chain: TokenChain = {
    url: node.url,
    rpc,
    settings,
    owner: owner.address,
    token,
    mine: async (count = 1, timeSec) => {
      if (timeSec !== undefined) await rpc('evm_setNextBlockTimestamp', [timeSec]);
      await rpc('anvil_mine', [quantity(count)]);
    },
    send: (coin, method, args, from = owner) =>
      submit(from, { to: token(coin).address, data: ABI[coin].encodeFunctionData(method, args), gasLimit: 200_000n }),
    account: async () => {
      const account = new Wallet(hexlify(crypto.getRandomValues(new Uint8Array(32))));
      await fund(account.address);
      return account;
    },
    balanceOf: async (coin, address) =>
      BigInt(
        await rpc<string>('eth_call', [
          { to: token(coin).address, data: ABI[coin].encodeFunctionData('balanceOf', [address]) },
          'latest',
        ]),
      ),
    close: () => node.end(),
  };
  await fund(owner.address);
  for (const each of tokens) await submit(owner, deploymentOf(each));
  await chain.mine();
  return chain;
}
