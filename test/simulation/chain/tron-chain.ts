import { bandwidthFee } from '../../../src/sandbox/tron-facade/transaction-rules.ts';
import { bytesOfHex } from '../../../src/sandbox/tron-facade/tron-codec.ts';
import {
  decodeRaw,
  signerOf,
  transactionId,
  type RawTransaction,
} from '../../../src/sandbox/tron-facade/tron-transaction.ts';
import { transferIn, type ChainView, type Executed, type Movement, type PoolTransaction } from './block.ts';
import { least, SimulatedChain } from './simulated-chain.ts';
import { accountOfHex, SIGNATURE_BYTES, type TronBlock, type TronReceipt, type TronSigned } from './tron-block.ts';

type TronTransaction = PoolTransaction<TronSigned>;

/** Of a token transfer to an account that holds some of it, and to one that holds none yet. */
const [ENERGY, ENERGY_OF_A_FIRST] = [64_285n, 130_285n];
const ENERGY_OF_A_REVERT = 9_000n;
/** For making an account: what the protocol takes, and the bandwidth of it. */
const ACTIVATION_SUN = 1_100_000n;
const MAX_LIFETIME_MS = 24 * 3_600_000;
const [ONE_STRANGER, OTHER_STRANGER] = [`0x${'5a'.repeat(20)}`, `0x${'5b'.repeat(20)}`];
const REFERENCE_WINDOW = 65_536;

/** Why a node does not take a transaction, by the codes of java-tron. */
export class TronRefusal extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * TRON: transactions end at their expiration, refer to a block of their branch, and burn TRX for energy and bandwidth
 * up to their fee limit.
 */
export class TronChain extends SimulatedChain<TronSigned, TronReceipt> {
  /** What somebody hands in, with an id of its own bytes. */
  submit(rawHex: string, signatures: readonly string[]): string {
    const raw = decodeRaw(rawHex);
    const txHash = transactionId(rawHex);
    const [signature] = signatures;
    if (signature === undefined || signatures.length > 1 || signerOf(txHash, signature) !== raw.contract.owner)
      throw new TronRefusal('SIGERROR', 'Validate signature error: the signature is not the owner’s');
    if (this.isKnown(txHash)) throw new TronRefusal('DUP_TRANSACTION_ERROR', 'Dup transaction.');
    const head = this.view.branch[this.view.height]!;
    if (isOver(raw, head) || raw.expirationMs > head.timeSec * 1000 + MAX_LIFETIME_MS)
      throw new TronRefusal('TRANSACTION_EXPIRATION_ERROR', 'Transaction expired');
    if (!this.#refersToBranch(raw)) throw new TronRefusal('TAPOS_ERROR', 'Tapos check error.');
    const signed = { raw, rawHex, signature, sizeBytes: bytesOfHex(rawHex).length + SIGNATURE_BYTES };
    const movement = this.#movementOf(raw);
    if (movement === null)
      throw new TronRefusal(
        'CONTRACT_VALIDATE_ERROR',
        'Contract validate error : No contract or not a valid smart contract',
      );
    if (this.#spendable(movement, signed) < 0n)
      throw new TronRefusal('BANDWITH_ERROR', 'Account resource insufficient error.');
    return this.take({ txHash, signed, movements: [movement] });
  }

  /** No block of TRON holds one transfer alone. */
  override pay(movement: Omit<Movement, 'kind'>): string {
    super.pay({ ...movement, from: ONE_STRANGER, to: OTHER_STRANGER });
    return super.pay(movement);
  }

  /** What a transfer would take of energy now; of one that fails, up to the failure. */
  energyOf(movement: Movement, view: ChainView<TronBlock>): bigint {
    if (!this.wouldSucceed(movement)) return ENERGY_OF_A_REVERT;
    return this.valueAt(`${movement.asset}/${movement.to}`, view) > 0n ? ENERGY : ENERGY_OF_A_FIRST;
  }

  protected override execute(
    { movements }: TronTransaction,
    signed: TronSigned,
    block: TronBlock,
  ): Executed<TronReceipt> | null {
    const movement = movements[0]!;
    const spendable = this.#spendable(movement, signed);
    if (!this.#refersToBranch(signed.raw) || spendable < 0n) return null;
    const netFee = this.#netFee(movement, signed);
    const { energyFee, ...done } =
      movement.asset === 'native' ? PLAIN : this.#call(movement, least(signed.raw.feeLimitSun, spendable), block);
    const account = `native/${movement.from}`;
    this.set(account, this.valueAt(account, this.view) - netFee - energyFee, block);
    return { succeeded: done.result === null || done.result === 'SUCCESS', receipt: { ...done, energyFee, netFee } };
  }

  #call(movement: Movement, limitSun: bigint, { price }: TronBlock): Omit<TronReceipt, 'netFee'> {
    const energy = this.energyOf(movement, this.view);
    const affordable = limitSun / price;
    if (energy > affordable) return { result: 'OUT_OF_ENERGY', energy: affordable, energyFee: affordable * price };
    return { result: this.wouldSucceed(movement) ? 'SUCCESS' : 'REVERT', energy, energyFee: energy * price };
  }

  /** What is left for energy; below zero for what cannot even be in a block. */
  #spendable(movement: Movement, signed: TronSigned): bigint {
    const given = movement.asset === 'native' ? movement.units : 0n;
    return this.valueAt(`native/${movement.from}`, this.view) - given - this.#netFee(movement, signed);
  }

  #netFee({ asset, to }: Movement, { sizeBytes }: TronSigned): bigint {
    return asset === 'native' && this.valueAt(`native/${to}`, this.view) === 0n
      ? ACTIVATION_SUN
      : bandwidthFee(sizeBytes);
  }

  #movementOf({ contract }: RawTransaction): Movement | null {
    const from = accountOfHex(contract.owner);
    if (contract.type === 'TransferContract')
      return { kind: 'transfer', asset: 'native', from, to: accountOfHex(contract.to), units: contract.amountSun };
    const asset = accountOfHex(contract.contract);
    return this.options.tokens.includes(asset) ? transferIn(asset, from, contract.data) : null;
  }

  /** A recent block of this very branch, by the low bytes of its number and eight bytes of its id. */
  #refersToBranch({ refBlockBytes, refBlockHash }: RawTransaction): boolean {
    const { branch, height } = this.view;
    const number = height - ((height - Number.parseInt(refBlockBytes, 16)) & (REFERENCE_WINDOW - 1));
    return branch[number]?.hash.slice(16, 32) === refBlockHash;
  }

  protected override executePayment({ movements }: TronTransaction): Executed<TronReceipt> {
    const isNative = movements[0]!.asset === 'native';
    const receipt: TronReceipt = isNative
      ? { ...PLAIN, netFee: bandwidthFee(SIGNATURE_BYTES) }
      : { result: 'SUCCESS', energy: ENERGY, energyFee: ENERGY * this.price, netFee: 0n };
    return { succeeded: true, receipt };
  }

  /** As they came. */
  protected override inOrder(own: readonly TronTransaction[]): readonly TronTransaction[] {
    return own;
  }

  protected override hashOf(digits: string): string {
    return digits;
  }

  /** Begins with the number; the first block's ends with the chain id. */
  protected override blockHashOf(digits: string, number: number): string {
    const id = number.toString(16).padStart(16, '0') + digits.slice(16);
    return number === 0 ? id.slice(0, 56) + Number(this.options.chainId).toString(16).padStart(8, '0') : id;
  }

  /** Logs are counted within their transaction. */
  protected override logIndexes(movements: readonly Movement[]): number[] {
    return [...movements.keys()];
  }

  /** Another producer's block comes from another slot. */
  protected override remadeSec(timeSec: number): number {
    return timeSec + 1;
  }

  protected override hasEnded({ raw }: TronSigned, parent: TronBlock): boolean {
    return isOver(raw, parent);
  }
}

const PLAIN = { result: null, energy: 0n, energyFee: 0n };

/** Judged by the time of the block before: after a gap, a block can hold what ended long before it. */
const isOver = ({ expirationMs }: RawTransaction, { timeSec }: TronBlock): boolean => expirationMs <= timeSec * 1000;
