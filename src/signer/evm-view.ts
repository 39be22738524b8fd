import { fromTokenUnits, amountOf, toTokenUnits } from '../domain/money.ts';
import { NATIVE_COIN } from '../domain/networks.ts';
import type { PayoutNetwork } from '../ports/signer-protocol.ts';
import type { DepositProof } from '../domain/deposit-proof.ts';
import type { PayoutOrder } from '../ports/payouts.ts';
import type { MoveDraft, PayoutDraft } from '../domain/events/treasury-events.ts';
import { evmAddressOf } from './account-address.ts';
import { agreed, rpc, type ChainView, type FoundDeposit, type JournaledBytes, type SignedBytes } from './chain-view.ts';
import type { SigningWallet } from './signing-wallet.ts';

interface RawLog {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
  readonly logIndex: string;
}
interface RawReceipt {
  readonly transactionHash: string;
  readonly status: string;
  readonly blockNumber: string;
  readonly blockHash: string;
  readonly logs: readonly RawLog[];
}
type EvmDraft = Extract<PayoutDraft, { kind: 'evm' }>;

/** Keccak-256 of `Transfer(address,address,uint256)`. */
const TRANSFER_TOPIC = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
/** First four bytes of Keccak-256 of `transfer(address,uint256)`. */
export const TRANSFER_CALL = '0xa9059cbb';
/** An amount as a log has it. */
const WORD = /^0x[0-9a-f]{64}$/i;
/** As deep as Ethereum's everyday rule wants a deposit; elsewhere only the chain's own finality counts. */
const ETHEREUM_DEPTH = 12;
/** Bounds that no honest payout needs: what a stolen request could burn at most. */
const MAX_GAS = 400_000n;
const MAX_FEE_PER_GAS = 2_000n * 10n ** 9n;

/** Ethereum and BSC as the signer sees them. */
export class EvmView implements ChainView {
  readonly #network: PayoutNetwork;

  constructor(network: PayoutNetwork) {
    this.#network = network;
  }

  async findDeposit(proof: DepositProof): Promise<FoundDeposit | null> {
    return agreed(this.#network, async (url) => {
      const receipt = (await this.#call(url, 'eth_getTransactionReceipt', [proof.txHash])) as RawReceipt | null;
      if (receipt?.status !== '0x1' || !(await this.#isCanonical(url, receipt))) return null;
      const log = receipt.logs.find((candidate) => Number(candidate.logIndex) === proof.logIndex);
      const token = this.#network.tokens.find(({ address }) => address.toLowerCase() === log?.address.toLowerCase());
      if (!log || !token || log.topics.length !== 3 || log.topics[0] !== TRANSFER_TOPIC || !WORD.test(log.data)) return null;
      if (addressOf(log.topics[2]!) !== proof.toAddress) return null;
      return {
        depositKey: `${this.#network.network}:${receipt.transactionHash.toLowerCase()}:${Number(log.logIndex)}`,
        coin: token.coin,
        units: fromTokenUnits(BigInt(log.data), token.decimals),
        payer: addressOf(log.topics[1]!),
        final: await this.#isFinal(url, Number(receipt.blockNumber)),
      };
    });
  }

  faultOf(draft: MoveDraft, order: { readonly coin: string; readonly amount: string }): string | null {
    if ((draft.kind !== 'evm' && draft.kind !== 'evm-native') || draft.chainId !== this.#network.chainId) return 'the draft is for another chain';
    if (draft.kind === 'evm-native') {
      if (order.coin !== NATIVE_COIN[this.#network.network]) return 'the draft moves another coin';
      if (BigInt(draft.value) !== amountOf(order.amount)) return 'the draft moves another amount';
    } else {
      const token = this.#network.tokens.find(({ coin }) => coin === order.coin);
      if (!token || draft.tokenAddress.toLowerCase() !== token.address.toLowerCase()) return 'the draft moves another token';
      if (BigInt(draft.tokenUnits) !== toTokenUnits(amountOf(order.amount), token.decimals)) return 'the draft moves another amount';
    }
    if (BigInt(draft.gasLimit) > MAX_GAS || BigInt(draft.maxFeePerGas) > MAX_FEE_PER_GAS) return 'the draft could burn too much gas';
    return null;
  }

  async sign(draft: PayoutDraft, order: PayoutOrder, wallet: SigningWallet): Promise<SignedBytes> {
    const { getBytes, hexlify, Transaction } = await import('ethers');
    const { chainId, nonce, tokenAddress, tokenUnits, gasLimit, maxFeePerGas, maxPriorityFeePerGas } = draft as EvmDraft;
    const data = TRANSFER_CALL + order.toAddress.slice(2).toLowerCase().padStart(64, '0') + BigInt(tokenUnits).toString(16).padStart(64, '0');
    const transaction = Transaction.from({
      type: 2,
      chainId: BigInt(chainId),
      nonce,
      to: tokenAddress,
      value: 0n,
      data,
      gasLimit: BigInt(gasLimit),
      maxFeePerGas: BigInt(maxFeePerGas),
      maxPriorityFeePerGas: BigInt(maxPriorityFeePerGas),
    });
    transaction.signature = hexlify(await wallet.signDigest('evm', 'treasury', getBytes(transaction.unsignedHash)));
    return { txHash: transaction.hash!, signedBytes: transaction.serialized };
  }

  /** Whatever competes for the same nonce excludes the other. */
  async mayFollow(last: JournaledBytes, next: MoveDraft): Promise<boolean> {
    return 'nonce' in last.draft && 'nonce' in next && last.draft.nonce === next.nonce;
  }

  /** One of them is in a final block and failed there: the nonce is used, so no other can follow. */
  async hadNoEffect(entries: readonly JournaledBytes[]): Promise<boolean> {
    for (const entry of entries) {
      const failed = await agreed(this.#network, async (url) => {
        const receipt = (await this.#call(url, 'eth_getTransactionReceipt', [entry.txHash])) as RawReceipt | null;
        return (
          receipt?.status === '0x0' &&
          (await this.#isCanonical(url, receipt)) &&
          Number(receipt.blockNumber) <= (await this.#blockNumber(url, 'finalized'))
        );
      });
      if (failed) return true;
    }
    return false;
  }

  async #isFinal(url: string, block: number): Promise<boolean> {
    if (block <= (await this.#blockNumber(url, 'finalized'))) return true;
    return this.#network.network === 'ethereum' && (await this.#blockNumber(url, 'latest')) - block + 1 >= ETHEREUM_DEPTH;
  }

  async #isCanonical(url: string, receipt: RawReceipt): Promise<boolean> {
    const block = (await this.#call(url, 'eth_getBlockByNumber', [receipt.blockNumber, false])) as { hash: string } | null;
    return block?.hash === receipt.blockHash;
  }

  async #blockNumber(url: string, tag: 'finalized' | 'latest'): Promise<number> {
    const block = (await this.#call(url, 'eth_getBlockByNumber', [tag, false])) as { number: string } | null;
    return block ? Number(block.number) : -1;
  }

  #call(url: string, method: string, params: readonly unknown[]): Promise<unknown> {
    return rpc(this.#network, url, method, params);
  }
}

const addressOf = (topic: string): string => evmAddressOf(Buffer.from(topic.slice(26), 'hex'));
