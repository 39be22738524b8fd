import { hexText } from '../../../src/sandbox/tron-facade/tron-codec.ts';
import { rawToJson, type RawTransaction } from '../../../src/sandbox/tron-facade/tron-transaction.ts';
import type { ChainBlock, Included, Movement, PoolTransaction } from './block.ts';

export interface TronSigned {
  readonly raw: RawTransaction;
  readonly rawHex: string;
  readonly signature: string;
  readonly sizeBytes: number;
}

export interface TronReceipt {
  /** Null for what calls no code. */
  readonly result: 'SUCCESS' | 'REVERT' | 'OUT_OF_ENERGY' | null;
  readonly energy: bigint;
  /** In sun. */
  readonly energyFee: bigint;
  readonly netFee: bigint;
}

export type TronBlock = ChainBlock<TronSigned, TronReceipt>;
type TronIncluded = Included<TronSigned, TronReceipt>;

/** As far as the provider takes it apart. */
export interface JsonInfo {
  readonly id: string;
  readonly receipt: object;
  readonly log?: readonly object[];
}

interface Rendered {
  /** Without its transactions. */
  readonly header: object;
  readonly whole: object;
  readonly transactions: readonly { readonly txID: string }[];
  /** The receipts. */
  readonly infos: readonly JsonInfo[];
}

const TRANSFER_TOPIC = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const WORDS = { REVERT: 'REVERT opcode executed', OUT_OF_ENERGY: 'Not enough energy for the operation executing' };
/** Bytes of the signature with its tag. */
export const SIGNATURE_BYTES = 67;

/** `0x` and an account as java-tron writes it. */
export const hexOfAccount = (account: string): string => `41${account.slice(2)}`;
export const accountOfHex = (hex: string): string => `0x${hex.slice(2)}`;
export const word = (value: bigint): string => value.toString(16).padStart(64, '0');
const wordOf = (account: string): string => account.slice(2).padStart(64, '0');
const rendered = new WeakMap<TronBlock, Rendered>();

/** A block as the HTTP API shows it. Fields that hold nothing are left out, as java-tron does. */
export function render(block: TronBlock): Rendered {
  const known = rendered.get(block);
  if (known) return known;
  const raw = {
    ...(block.number > 0 && { number: block.number }),
    txTrieRoot: (block.included.length > 0 ? '1' : '0').repeat(64),
    witness_address: `41${'0'.repeat(40)}`,
    parentHash: block.parentHash,
    timestamp: block.timeSec * 1000,
  };
  const header = { blockID: block.hash, block_header: { raw_data: raw, witness_signature: '' } };
  const transactions = block.included.map(transactionOf);
  const result = {
    header,
    transactions,
    whole: { ...header, ...(transactions.length > 0 && { transactions }) },
    infos: block.included.map((included) => infoOf(included, block)),
  };
  rendered.set(block, result);
  return result;
}

function transactionOf({ transaction, receipt }: TronIncluded) {
  const { txHash, signed } = transaction;
  return {
    ret: [{ contractRet: receipt.result ?? 'SUCCESS' }],
    txID: txHash,
    ...(signed
      ? { raw_data: rawToJson(signed.raw, false), raw_data_hex: signed.rawHex, signature: [signed.signature] }
      : { raw_data: { contract: [contractOf(transaction)] } }),
  };
}

/** Of a payment: what its payer must have asked for. */
function contractOf({ movements }: PoolTransaction<TronSigned>): object {
  const { asset, from, to, units } = movements[0]!;
  const isNative = asset === 'native';
  const value = isNative
    ? { amount: Number(units), to_address: hexOfAccount(to) }
    : { contract_address: hexOfAccount(asset), data: `a9059cbb${wordOf(to)}${word(units)}` };
  return {
    type: isNative ? 'TransferContract' : 'TriggerSmartContract',
    parameter: { value: { owner_address: hexOfAccount(from), ...value } },
  };
}

function infoOf({ transaction, movements, receipt }: TronIncluded, { number, timeSec }: TronBlock) {
  const { result, energy, energyFee, netFee } = receipt;
  const fee = Number(energyFee + netFee);
  const [asked] = transaction.movements;
  return {
    id: transaction.txHash,
    ...(fee > 0 && { fee }),
    ...{ blockNumber: number, blockTimeStamp: timeSec * 1000, contractResult: [''] },
    ...(result !== null && { contract_address: hexOfAccount(asked!.asset) }),
    receipt: {
      ...(energyFee > 0n && { energy_fee: Number(energyFee) }),
      ...(energy > 0n && { energy_usage_total: Number(energy) }),
      ...(netFee > 0n && { net_fee: Number(netFee) }),
      ...(result !== null && { result }),
    },
    ...(movements.length > 0 && { log: movements.map(logOf) }),
    ...(result !== null && result !== 'SUCCESS' && { result: 'FAILED', resMessage: hexText(WORDS[result]) }),
  };
}

/** Logs have neither the prefix of addresses nor `0x`. */
const logOf = ({ asset, from, to, units }: Movement): object => ({
  address: asset.slice(2),
  topics: [TRANSFER_TOPIC, wordOf(from), wordOf(to)],
  data: word(units),
});
