import { z } from 'zod';
import { fromTokenUnits, amountOf, least, most } from '../../domain/money/money.ts';
import { gwei, type NativeLimits } from '../../domain/networks/native-limits.ts';
import { NATIVE_COIN } from '../../domain/networks/networks.ts';
import { OUTCOMES } from '../../domain/networks/outcomes.ts';
import type { OutgoingTransaction } from '../../ports/outgoing/transaction.ts';
import type { PayoutNetwork } from '../../ports/signer/protocol.ts';
import type { DepositProof, NativeTransfer } from '../../domain/networks/deposit-proof.ts';
import type { TransactionDraft } from '../../domain/events/transaction-draft.ts';
import { evmAddressOf } from './account-address.ts';
import {
  agreed,
  cautiousGas,
  isExactly,
  opinions,
  Refused,
  rpc,
  ViewUnavailable,
  type ChainView,
  type FoundDeposit,
  type FoundNativeTransfer,
  type JournaledBytes,
  type SweepGas,
} from './chain-view.ts';
import { excludeEachOther, isEvm } from '../exclusive.ts';

const quantity = z
  .string()
  .regex(/^0x[0-9a-f]{1,64}$/i)
  .transform(BigInt);
/** Some node services write hex in upper case. */
const hex = z
  .string()
  .regex(/^0x[0-9a-f]*$/i)
  .toLowerCase();
const place = hex.regex(/^0x[0-9a-f]+$/);
const log = z.object({ address: hex, topics: z.array(hex), data: hex, logIndex: place });
const receipt = z.object({
  transactionHash: hex,
  status: z.enum(['0x0', '0x1']),
  blockNumber: place,
  blockHash: hex,
  logs: z.array(log),
});
type Receipt = z.infer<typeof receipt>;
const transaction = z
  .object({
    hash: hex,
    blockHash: hex.nullish(),
    from: hex,
    to: hex.nullish(),
    value: quantity,
  })
  .nullable();
const block = z.object({ number: place, hash: hex, baseFeePerGas: quantity.nullish() }).nullable();

/** Keccak-256 of `Transfer(address,address,uint256)`. */
const TRANSFER_TOPIC = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
/** First four bytes of Keccak-256 of `transfer(address,uint256)`. */
const TRANSFER_CALL = '0xa9059cbb';
/** First four bytes of Keccak-256 of `balanceOf(address)`. */
const BALANCE_CALL = '0x70a08231';
/** An amount in a log. */
const WORD = /^0x[0-9a-f]{64}$/i;
/** The default confirmations of a deposit on Ethereum; elsewhere only the chain's own finality counts. */
const ETHEREUM_DEPTH = 12;
/** More than any legitimate payout needs; `feeRefusal` limits the price per unit. */
const MAX_GAS = 400_000n;
/** Exact gas of a plain transfer to an account without code. */
const NATIVE_GAS = 21_000n;
/** Senders may have delegated code (EIP-7702), which runs when they are paid. */
const RETURN_GAS = 100_000n;
/** A quarter for token code that behaves differently in another block, times two for rising fees. */
const SWEEP_MARGIN = 250n;
const HUNDRED = 100n;

/** The place of a log among those of its transaction: in the block they are counted on from other transactions. */
const placeAmong = (
  logs: readonly { readonly logIndex: string }[],
  { logIndex }: { readonly logIndex: string },
): number => Number(logIndex) - Math.min(...logs.map((each) => Number(each.logIndex)));

/** The signer's view of Ethereum and BSC. */
export class EvmView implements ChainView {
  readonly #network: PayoutNetwork;
  readonly #limits: NativeLimits;

  constructor(network: PayoutNetwork, limits: NativeLimits) {
    this.#network = network;
    this.#limits = limits;
  }

  async findDeposit(proof: DepositProof): Promise<FoundDeposit | null> {
    return agreed(this.#network, async (url) => {
      const found = await this.#receiptOf(url, proof);
      if (!found || OUTCOMES.evm(found) !== 'moved' || !(await this.#isCanonical(url, found))) return null;
      const moved = found.logs.find(({ logIndex }) => Number(logIndex) === proof.logIndex);
      const token = this.#network.tokens.find(({ address }) => address.toLowerCase() === moved?.address);
      if (!moved || !token || !WORD.test(moved.data)) return null;
      const [topic, from, to, ...others] = moved.topics;
      if (topic !== TRANSFER_TOPIC || from === undefined || to === undefined || others.length > 0) return null;
      if (addressOf(to) !== proof.toAddress) return null;
      return {
        depositKey: `${this.#network.network}:${found.transactionHash}:${Number(moved.logIndex)}`,
        place: `${this.#network.network}:${found.transactionHash}#${placeAmong(found.logs, moved)}`,
        txHash: found.transactionHash,
        coin: token.coin,
        units: fromTokenUnits(BigInt(moved.data), token.decimals),
        // Minted money has no payer.
        payer: /^0x0+$/.test(from) ? null : addressOf(from),
        final: await this.#isFinal(url, Number(found.blockNumber)),
      };
    });
  }

  /** Only the direct transfer of the transaction; what contracts moved shows only in balances. */
  findNativeTransfer({
    txHash,
    toAddress,
  }: Pick<NativeTransfer, 'txHash' | 'toAddress'>): Promise<FoundNativeTransfer | null> {
    return agreed(this.#network, async (url) => {
      const found = await this.#receipt(url, txHash);
      if (!found || OUTCOMES['evm-native'](found) !== 'moved' || !(await this.#isCanonical(url, found))) return null;
      const sent = await this.#call(url, transaction, 'eth_getTransactionByHash', txHash);
      if (sent?.hash !== txHash || sent.blockHash !== found.blockHash) return null;
      if (!sent.to || accountOf(sent.to) !== toAddress || sent.value === 0n) return null;
      return {
        fromAddress: accountOf(sent.from),
        units: sent.value,
        final: await this.#isFinal(url, Number(found.blockNumber)),
      };
    });
  }

  faultOf(draft: TransactionDraft, order: Pick<OutgoingTransaction, 'kind' | 'coin' | 'amount'>): string | null {
    if (!isEvm(draft) || draft.chainId !== this.#network.chainId) return 'the draft is for another chain';
    if (draft.kind === 'evm-native') {
      if (order.coin !== NATIVE_COIN[this.#network.network]) return 'the draft moves a different coin';
      if (BigInt(draft.value) !== amountOf(order.amount)) return 'the draft moves a different amount';
    } else if (draft.kind === 'evm') {
      const token = this.#network.tokens.find(({ coin }) => coin === order.coin);
      if (!token || draft.tokenAddress.toLowerCase() !== token.address.toLowerCase())
        return 'the draft moves a different token';
      if (!isExactly(draft.tokenUnits, order.amount, token.decimals)) return 'the draft moves a different amount';
    }
    const most = draft.kind === 'evm' ? MAX_GAS : order.kind === 'native_return' ? RETURN_GAS : NATIVE_GAS;
    return BigInt(draft.gasLimit) > most ? 'the draft could burn too much gas' : null;
  }

  /** The account's own nonce makes it unique. */
  /** Its drafts pay addresses. */
  payeeFault(): Promise<null> {
    return Promise.resolve(null);
  }

  sequenceFault(): Promise<null> {
    return Promise.resolve(null);
  }

  /** Transactions with the same nonce exclude each other. */
  mayFollow(earlier: readonly JournaledBytes[], next: TransactionDraft): Promise<boolean> {
    return Promise.resolve(earlier.every(({ draft }) => excludeEachOther(draft, next)));
  }

  /** One of them is in a final block and failed there, or moves nothing: the nonce is used, so no other can land. */
  async hadNoEffect(entries: readonly JournaledBytes[], seenIn?: number): Promise<boolean> {
    for (const { draft, txHash } of entries) {
      if (!isEvm(draft)) return false;
      const failed = await agreed(this.#network, async (url) => {
        const found = await this.#receiptOf(url, { txHash, blockNumber: seenIn });
        return (
          found !== null &&
          OUTCOMES[draft.kind](found) === 'nothing' &&
          (await this.#isCanonical(url, found)) &&
          Number(found.blockNumber) <= (await this.#blockNumber(url, 'finalized'))
        );
      });
      if (failed) return true;
    }
    return false;
  }

  /** Its nonce is used, by it or by another of the same account's; a node forgets hashes, and never a count. */
  hasLanded({ draft, fromAddress }: JournaledBytes & { readonly fromAddress: string }): Promise<boolean> {
    if (!isEvm(draft)) return Promise.resolve(false);
    return agreed(
      this.#network,
      async (url) =>
        (await this.#call(url, quantity, 'eth_getTransactionCount', fromAddress, 'latest')) > BigInt(draft.nonce),
    );
  }

  async sweepGas(address: string, treasury: string): Promise<SweepGas> {
    return cautiousGas(
      await opinions(this.#network, async (url) => ({
        needed:
          ((await this.#dearestSweep(url, address, treasury)) * (await this.#gasPrice(url)) * SWEEP_MARGIN) / HUNDRED,
        held: await this.#call(url, quantity, 'eth_getBalance', address, 'latest'),
      })),
    );
  }

  /** Gas for the address's token that needs the most; 0 if it holds none. */
  async #dearestSweep(url: string, address: string, treasury: string): Promise<bigint> {
    let dearest = 0n;
    for (const { address: to } of this.#network.tokens) {
      const balanceOf = { to, data: BALANCE_CALL + word(address) };
      const units = await this.#call(url, quantity, 'eth_call', balanceOf, 'latest');
      if (units === 0n) continue;
      const transfer = { from: address, to, data: transferCall(treasury, units) };
      const gas = await this.#call(url, quantity, 'eth_estimateGas', transfer);
      if (gas < NATIVE_GAS) throw new Refused('a provider estimated less gas than any transaction takes');
      dearest = most(dearest, least(gas, MAX_GAS));
    }
    return dearest;
  }

  async #gasPrice(url: string): Promise<bigint> {
    const { maxGasPriceGwei, maxPriorityFeeGwei } = this.#limits;
    const newest = await this.#block(url, 'latest');
    const baseFee = newest?.baseFeePerGas ?? null;
    if (baseFee === null) throw new ViewUnavailable('a provider does not say the base fee of its newest block');
    const tip = least(await this.#call(url, quantity, 'eth_maxPriorityFeePerGas'), gwei(maxPriorityFeeGwei));
    return least(baseFee * 2n + tip, gwei(maxGasPriceGwei));
  }

  async #isFinal(url: string, block: number): Promise<boolean> {
    if (block <= (await this.#blockNumber(url, 'finalized'))) return true;
    return (
      this.#network.network === 'ethereum' && (await this.#blockNumber(url, 'latest')) - block + 1 >= ETHEREUM_DEPTH
    );
  }

  async #isCanonical(url: string, { blockNumber, blockHash }: Receipt): Promise<boolean> {
    return (await this.#block(url, blockNumber))?.hash === blockHash;
  }

  /** -1 if the node says that it has none: what is not known to be final is not. */
  async #blockNumber(url: string, tag: 'finalized' | 'latest'): Promise<number> {
    const found = await this.#block(url, tag).catch(ifRefused(null));
    return found ? Number(found.number) : -1;
  }

  /** By its hash, or in its block: a node forgets the hashes of old transactions and keeps their blocks. */
  async #receiptOf(
    url: string,
    { txHash, blockNumber }: Pick<DepositProof, 'txHash' | 'blockNumber'>,
  ): Promise<Receipt | null> {
    if (blockNumber === undefined) return this.#receipt(url, txHash);
    const found = await this.#receipt(url, txHash).catch(ifRefused(null));
    if (found !== null) return found;
    const at = `0x${blockNumber.toString(16)}`;
    const inBlock = await this.#call(url, z.array(receipt).nullable(), 'eth_getBlockReceipts', at);
    return inBlock?.find(({ transactionHash }) => transactionHash === txHash) ?? null;
  }

  #block(url: string, at: string): Promise<z.infer<typeof block>> {
    return this.#call(url, block, 'eth_getBlockByNumber', at, false);
  }

  #receipt(url: string, txHash: string): Promise<Receipt | null> {
    return this.#call(url, receipt.nullable(), 'eth_getTransactionReceipt', txHash);
  }

  #call<Value>(url: string, form: z.ZodType<Value>, method: string, ...params: unknown[]): Promise<Value> {
    return rpc(this.#network, url, { method, params }, form);
  }
}

/** The call data of a token transfer. */
export const transferCall = (toAddress: string, units: bigint): string =>
  TRANSFER_CALL + word(toAddress) + units.toString(16).padStart(64, '0');

/** Takes a refusal for this answer; passes on that nobody answered. */
const ifRefused =
  <Value>(value: Value) =>
  (error: unknown): Value => {
    if (error instanceof Refused) return value;
    throw error;
  };

const word = (address: string): string => address.slice(2).toLowerCase().padStart(64, '0');

const accountOf = (address: string): string => evmAddressOf(Buffer.from(address.slice(2), 'hex'));
const addressOf = (topic: string): string => accountOf(`0x${topic.slice(26)}`);
