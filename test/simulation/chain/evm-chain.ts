import { Transaction } from 'ethers';
import { transferIn, ZERO_ACCOUNT, type Executed, type Movement, type PoolTransaction } from './block.ts';
import type { EvmBlock, EvmReceipt } from './evm-block.ts';
import { least, SimulatedChain } from './simulated-chain.ts';

const TRANSFER_GAS = 52_000n;
const NATIVE_GAS = 21_000n;

type EvmTransaction = PoolTransaction<Transaction>;

/** An EVM chain: accounts number their transactions, and pay for gas. */
export class EvmChain extends SimulatedChain<Transaction, EvmReceipt> {
  /** By their bytes: what nobody shows is handed in again and again. */
  readonly #transactions = new Map<string, Transaction>();

  /** What somebody hands in: taken or refused, as a node does. Throws with the node's words. */
  submit(signedBytes: string): string {
    const signed = this.#read(signedBytes);
    const txHash = signed.hash!.toLowerCase();
    if (String(signed.chainId) !== this.options.chainId || signed.from === null) throw new Error('invalid sender');
    if (this.isKnown(txHash)) throw new Error('already known');
    const account = signed.from.toLowerCase();
    if (BigInt(signed.nonce) < this.valueAt(`nonce/${account}`, this.view)) throw new Error('nonce too low');
    const rival = [...this.pool.values()].find(
      (other) => other.signed?.from === signed.from && other.signed.nonce === signed.nonce,
    );
    if (rival) {
      const dear = (fee: bigint): bigint => (fee * 110n) / 100n;
      if (
        signed.maxFeePerGas! < dear(rival.signed!.maxFeePerGas!) ||
        signed.maxPriorityFeePerGas! < dear(rival.signed!.maxPriorityFeePerGas!)
      )
        throw new Error('replacement transaction underpriced');
      this.pool.delete(rival.txHash);
    }
    const to = signed.to!.toLowerCase();
    const movement = transferIn(to, account, signed.data) ?? {
      kind: 'transfer' as const,
      asset: 'native',
      from: account,
      to,
      units: signed.value,
    };
    return this.take({ txHash, signed, movements: [movement] });
  }

  /** Finding out who signed is dear. */
  #read(signedBytes: string): Transaction {
    const known = this.#transactions.get(signedBytes) ?? Transaction.from(signedBytes);
    this.#transactions.set(signedBytes, known);
    return known;
  }

  protected override execute(
    { movements }: EvmTransaction,
    signed: Transaction,
    block: EvmBlock,
  ): Executed<EvmReceipt> | null {
    const [movement] = movements;
    const from = movement!.from;
    const isCall = movement!.asset !== 'native';
    const gasUsed = isCall ? TRANSFER_GAS : NATIVE_GAS;
    const held = this.valueAt(`native/${from}`, this.view);
    if (BigInt(signed.nonce) !== this.valueAt(`nonce/${from}`, this.view) || signed.maxFeePerGas! < block.price)
      return null;
    if (held < signed.gasLimit * signed.maxFeePerGas! + signed.value) return null;
    const gasPrice = block.price + least(signed.maxPriorityFeePerGas!, signed.maxFeePerGas! - block.price);
    this.set(`nonce/${from}`, BigInt(signed.nonce) + 1n, block);
    this.set(`native/${from}`, held - gasUsed * gasPrice, block);
    return { succeeded: !isCall || this.wouldSucceed(movement!), receipt: { gasUsed, gasPrice, from } };
  }

  protected override executePayment({ movements }: EvmTransaction): Executed<EvmReceipt> {
    const from = movements.find(({ asset }) => asset !== 'native')?.from ?? ZERO_ACCOUNT;
    return { succeeded: true, receipt: { gasUsed: 0n, gasPrice: 0n, from } };
  }

  protected override inOrder(own: readonly EvmTransaction[]): readonly EvmTransaction[] {
    return own.toSorted((one, other) => one.signed!.nonce - other.signed!.nonce);
  }

  protected override hashOf(digits: string): string {
    return `0x${digits}`;
  }

  protected override blockHashOf(digits: string): string {
    return `0x${digits}`;
  }

  protected override logIndexes(movements: readonly Movement[], _: EvmReceipt, logsBefore: number): number[] {
    return movements.map((_movement, index) => logsBefore + index);
  }

  protected override remadeSec(timeSec: number): number {
    return timeSec;
  }

  protected override hasEnded(): boolean {
    return false;
  }
}
