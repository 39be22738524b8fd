import { AbiCoder, getCreateAddress, Interface, type Wallet } from 'ethers';
import { COINS, type Coin } from '../domain/money/money.ts';
import type { Token } from '../domain/networks/networks.ts';
import type { BlockProducer } from './block-producer.ts';
import { readArtifact } from './contract-artifact.ts';
import { signTransaction } from './evm-transaction.ts';
import { must } from '../domain/values/must.ts';

const SOURCE = { USDT: 'sandbox-usdt', USDC: 'sandbox-usdc' } as const satisfies Record<Coin, string>;
/** Whole units that each payer gets: many times any amount the service accepts. */
const PAYER_FUNDS = 10n ** 15n;
const DEPLOY_GAS = 3_000_000n;
const TRANSFER_GAS = 120_000n;

/** `transfer(address,uint256)` without a return value: receipt and log show whether it worked, as for the real USDT. */
export const TRANSFER = new Interface(['function transfer(address to, uint256 value)']);

/** The tokens of a chain. The deployer's first transactions create them, so their addresses follow from its address. */
export function sandboxTokens(deployer: string, decimals: number): readonly Token[] {
  return COINS.map((coin, nonce) => ({ coin, address: getCreateAddress({ from: deployer, nonce }), decimals }));
}

/** The paying contract; created by the deployer right after the tokens. */
export const contractWallet = (deployer: string): string => getCreateAddress({ from: deployer, nonce: COINS.length });

/** `pay` of that contract. */
export const CONTRACT_WALLET = new Interface(['function pay(address token, address to, uint256 value)']);

/** A call by a coin's issuer that freezes or unfreezes an account; Tether and Circle name it differently. */
export function freezeCall(coin: Coin, account: string, frozen: boolean): string {
  const name = coin === 'USDT' ? (frozen ? 'addBlackList' : 'removeBlackList') : frozen ? 'blacklist' : 'unBlacklist';
  return ISSUER.encodeFunctionData(name, [account]);
}
const ISSUER = new Interface(
  ['addBlackList', 'removeBlackList', 'blacklist', 'unBlacklist'].map((name) => `function ${name}(address account)`),
);

/**
 * Ensures that the tokens and the paying contract exist and the payers have money. The steps are the deployer's
 * transactions in a fixed order, so a chain that lost its newest blocks continues where it is and gets the same
 * addresses.
 */
export async function ensureTokens(
  producer: BlockProducer,
  deployer: Wallet,
  chainId: number,
  tokens: readonly Token[],
  payers: readonly string[],
): Promise<void> {
  const wallet = { to: null, data: readArtifact('sandbox-contract-wallet').bytecode, gasLimit: DEPLOY_GAS };
  const steps = [
    ...tokens.map(deploymentOf),
    wallet,
    ...tokens.flatMap((token) => payers.map((payer) => funding(token, payer))),
  ];
  const done = Number(await producer.rpc<string>('eth_getTransactionCount', [deployer.address, 'latest']));
  if (done >= steps.length) return;
  await producer.exclusive(async (chain) => {
    const hashes: string[] = [];
    for (let nonce = done; nonce < steps.length; nonce += 1) {
      hashes.push(
        await chain.rpc<string>('eth_sendRawTransaction', [
          await signTransaction(deployer, { chainId, nonce, ...must(steps[nonce]) }),
        ]),
      );
    }
    await chain.mine();
    for (const hash of hashes) {
      const receipt = await chain.rpc<{ status: string } | null>('eth_getTransactionReceipt', [hash]);
      if (receipt?.status !== '0x1') throw new Error('the tokens of a sandbox chain could not be made');
    }
  });
}

interface Step {
  readonly to: string | null;
  readonly data: string;
  readonly gasLimit: bigint;
}

/** The transaction that creates a token; its sender becomes the owner and holds the whole supply. */
export function deploymentOf({ coin, decimals }: Token): Step {
  const supply = PAYER_FUNDS * 10n ** BigInt(decimals + 3);
  const parameters = AbiCoder.defaultAbiCoder().encode(['uint256', 'uint8'], [supply, decimals]);
  return { to: null, data: readArtifact(SOURCE[coin]).bytecode + parameters.slice(2), gasLimit: DEPLOY_GAS };
}

function funding({ address, decimals }: Token, payer: string): Step {
  return {
    to: address,
    data: TRANSFER.encodeFunctionData('transfer', [payer, PAYER_FUNDS * 10n ** BigInt(decimals)]),
    gasLimit: TRANSFER_GAS,
  };
}
