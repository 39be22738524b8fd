import { z } from 'zod';
import { hash } from 'node:crypto';
import { fromBase58 } from '../../chain-formats/base58.ts';
import type { TransactionDraft, TokenDraft } from '../../domain/events/transaction-draft.ts';
import type { SignedBytes } from './chain-view.ts';
import type { KeyPlace, SigningWallet } from '../keys/signing-wallet.ts';

type TronDraft = Extract<TokenDraft, { kind: 'tron' }>;
type TronNativeDraft = Extract<TransactionDraft, { kind: 'tron-native' }>;

/* Field numbers: protocol/core/Tron.proto and core/contract/smart_contract.proto of java-tron. */

/** Field 8 of `raw_data`, a number. */
const EXPIRATION_TAG = 8n << 3n;
const TRANSFER_CONTRACT = 1;
const TRIGGER_SMART_CONTRACT = 31;
const TRANSFER_TYPE_URL = 'type.googleapis.com/protocol.TransferContract';
const TYPE_URL = 'type.googleapis.com/protocol.TriggerSmartContract';

export interface TronRaw {
  /** `raw_data` as signed. */
  readonly rawHex: string;
  /** The same in the form of the HTTP API. */
  readonly rawData: Readonly<Record<string, unknown>>;
  /** SHA-256 of the bytes. */
  readonly txId: string;
}

/** Builds the `raw_data` of a token transfer offline, from the draft alone. */
export function tronTokenBytes(draft: TronDraft, from: string, to: string): TronRaw {
  const owner = accountOf(from);
  const contract = accountOf(draft.tokenAddress);
  const data = `a9059cbb${accountOf(to).subarray(1).toString('hex').padStart(64, '0')}${BigInt(draft.tokenUnits).toString(16).padStart(64, '0')}`;
  const bytes = Buffer.concat([bytesField(1, owner), bytesField(2, contract), bytesField(4, Buffer.from(data, 'hex'))]);
  const value = { data, owner_address: owner.toString('hex'), contract_address: contract.toString('hex') };
  return rawOf(
    draft,
    { number: TRIGGER_SMART_CONTRACT, type: 'TriggerSmartContract', typeUrl: TYPE_URL, bytes, value },
    draft.feeLimit,
  );
}

/** Builds the `raw_data` of a transfer of TRX. */
export function tronNativeBytes(draft: TronNativeDraft, from: string, to: string): TronRaw {
  const [owner, target] = [accountOf(from), accountOf(to)];
  const bytes = Buffer.concat([bytesField(1, owner), bytesField(2, target), varintField(3, draft.sun)]);
  const value = { owner_address: owner.toString('hex'), to_address: target.toString('hex'), amount: Number(draft.sun) };
  return rawOf(
    draft,
    { number: TRANSFER_CONTRACT, type: 'TransferContract', typeUrl: TRANSFER_TYPE_URL, bytes, value },
    null,
  );
}

/** What a transaction does: one protocol contract, in bytes and as nodes show it. */
interface TronContract {
  readonly number: number;
  readonly type: string;
  readonly typeUrl: string;
  readonly bytes: Buffer;
  readonly value: Readonly<Record<string, unknown>>;
}

/** `feeLimit` in sun; null for contracts that call no code. */
function rawOf(
  { refBlockBytes, refBlockHash, expirationMs, timestampMs }: TronDraft | TronNativeDraft,
  { number, type, typeUrl, bytes, value }: TronContract,
  feeLimit: number | null,
): TronRaw {
  const parameter = Buffer.concat([bytesField(1, Buffer.from(typeUrl)), bytesField(2, bytes)]);
  const raw = Buffer.concat([
    bytesField(1, Buffer.from(refBlockBytes, 'hex')),
    bytesField(4, Buffer.from(refBlockHash, 'hex')),
    varintField(8, expirationMs),
    bytesField(11, Buffer.concat([varintField(1, number), bytesField(2, parameter)])),
    varintField(14, timestampMs),
    ...(feeLimit === null ? [] : [varintField(18, feeLimit)]),
  ]);
  const rawData = {
    contract: [{ parameter: { value, type_url: typeUrl }, type }],
    ref_block_bytes: refBlockBytes,
    ref_block_hash: refBlockHash,
    expiration: expirationMs,
    ...(feeLimit !== null && { fee_limit: feeLimit }),
    timestamp: timestampMs,
  };
  return { rawHex: raw.toString('hex'), rawData, txId: hash('sha256', raw, 'hex') };
}

/** In the form that nodes accept for broadcast. */
export async function signedTron(
  { rawHex, rawData, txId }: TronRaw,
  place: KeyPlace,
  wallet: SigningWallet,
): Promise<SignedBytes> {
  const signature = Buffer.from(await wallet.signDigest('tron', place, Buffer.from(txId, 'hex'))).toString('hex');
  const signedBytes = JSON.stringify({
    visible: false,
    txID: txId,
    raw_data: rawData,
    raw_data_hex: rawHex,
    signature: [signature],
  });
  return { txHash: txId, signedBytes };
}

const signed = z.object({ raw_data_hex: z.string() });

/**
 * The expiration in the bytes that id and signature cover; the fields beside them prove nothing. Throws if the bytes do
 * not belong to this id.
 */
export function signedExpirationMs(signedBytes: string, txId: string): number {
  const raw = Buffer.from(signed.parse(JSON.parse(signedBytes)).raw_data_hex, 'hex');
  if (hash('sha256', raw, 'hex') !== txId) throw new RangeError('the bytes belong to another transaction');
  for (let at = 0; at < raw.length;) {
    const tag = readVarint(raw, at);
    const value = readVarint(raw, tag.end);
    if (tag.value === EXPIRATION_TAG) return Number(value.value);
    at = (tag.value & 7n) === 2n ? value.end + Number(value.value) : value.end;
  }
  throw new RangeError('the bytes have no expiration');
}

function readVarint(bytes: Buffer, from: number): { readonly value: bigint; readonly end: number } {
  let value = 0n;
  for (let at = from; at < bytes.length; at += 1) {
    value |= BigInt((bytes[at] ?? 0) & 0x7f) << BigInt(7 * (at - from));
    if ((bytes[at] ?? 0) < 0x80) return { value, end: at + 1 };
  }
  throw new RangeError('the bytes end too early');
}

/** 21 bytes: `41` and the account. */
export function accountOf(address: string): Buffer {
  const bytes = Buffer.from(fromBase58(address) ?? []);
  const checksum = hash('sha256', hash('sha256', bytes.subarray(0, 21), 'buffer'), 'buffer').subarray(0, 4);
  if (bytes.length !== 25 || bytes[0] !== 0x41 || !checksum.equals(bytes.subarray(21)))
    throw new RangeError('not a TRON address');
  return bytes.subarray(0, 21);
}

function bytesField(number: number, value: Uint8Array): Buffer {
  return Buffer.concat([varint((number << 3) | 2), varint(value.length), value]);
}

function varintField(number: number, value: number | string): Buffer {
  return Buffer.concat([varint(number << 3), varint(value)]);
}

function varint(value: number | string): Buffer {
  const bytes: number[] = [];
  let rest = BigInt(value);
  for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return Buffer.from([...bytes, Number(rest)]);
}
