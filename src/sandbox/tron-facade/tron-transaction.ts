import { recoverAddress } from 'ethers';
import { bytesField, bytesOf, readFields, varintField, varintOf } from './protobuf.ts';
import { addressHexOf, base58Of, bytesOfHex, hexOf, sha256, tronAddressOf } from './tron-codec.ts';

/* Field numbers: protocol/core/Tron.proto and core/contract/*.proto of java-tron. */

export type TronContract =
  | { readonly type: 'TransferContract'; readonly owner: string; readonly to: string; readonly amountSun: bigint }
  | {
      readonly type: 'TriggerSmartContract';
      readonly owner: string;
      readonly contract: string;
      readonly callValueSun: bigint;
      readonly data: string;
    };

/** The signed part of a transaction. Addresses are 41-hex, byte strings hex. */
export interface RawTransaction {
  readonly refBlockBytes: string;
  readonly refBlockHash: string;
  readonly expirationMs: number;
  readonly timestampMs: number;
  readonly feeLimitSun: bigint;
  readonly note: string;
  readonly contract: TronContract;
}

const CONTRACT_NUMBER = { TransferContract: 1, TriggerSmartContract: 31 } as const;

/** Reads `raw_data` bytes. Throws for bytes that are no transaction of the two supported kinds. */
export function decodeRaw(rawHex: string): RawTransaction {
  const fields = readFields(bytesOfHex(rawHex));
  const contracts = fields.filter((field) => field.number === 11);
  if (contracts.length !== 1) throw new RangeError('a transaction holds exactly one contract');
  return {
    refBlockBytes: hexOf(bytesOf(fields, 1)),
    refBlockHash: hexOf(bytesOf(fields, 4)),
    expirationMs: Number(varintOf(fields, 8)),
    note: hexOf(bytesOf(fields, 10)),
    contract: decodeContract(bytesOf(fields, 11)),
    timestampMs: Number(varintOf(fields, 14)),
    feeLimitSun: varintOf(fields, 18),
  };
}

function decodeContract(bytes: Uint8Array): TronContract {
  const fields = readFields(bytes);
  const value = readFields(bytesOf(readFields(bytesOf(fields, 2)), 2));
  const owner = addressIn(bytesOf(value, 1));
  switch (Number(varintOf(fields, 1))) {
    case CONTRACT_NUMBER.TransferContract:
      return { type: 'TransferContract', owner, to: addressIn(bytesOf(value, 2)), amountSun: varintOf(value, 3) };
    case CONTRACT_NUMBER.TriggerSmartContract:
      return {
        type: 'TriggerSmartContract',
        owner,
        contract: addressIn(bytesOf(value, 2)),
        callValueSun: varintOf(value, 3),
        data: hexOf(bytesOf(value, 4)),
      };
    default:
      throw new RangeError(`contract type ${varintOf(fields, 1)} is not part of the sandbox`);
  }
}

function addressIn(bytes: Uint8Array): string {
  const address = addressHexOf(hexOf(bytes));
  if (address === null) throw new RangeError('malformed address');
  return address;
}

export function encodeRaw(raw: RawTransaction): string {
  const { contract } = raw;
  const value =
    contract.type === 'TransferContract'
      ? [
          bytesField(1, bytesOfHex(contract.owner)),
          bytesField(2, bytesOfHex(contract.to)),
          varintField(3, contract.amountSun),
        ]
      : [
          bytesField(1, bytesOfHex(contract.owner)),
          bytesField(2, bytesOfHex(contract.contract)),
          varintField(3, contract.callValueSun),
          bytesField(4, bytesOfHex(contract.data)),
        ];
  const parameter = [
    bytesField(1, Buffer.from(`type.googleapis.com/protocol.${contract.type}`)),
    bytesField(2, Buffer.concat(value)),
  ];
  const wrapped = Buffer.concat([
    varintField(1, CONTRACT_NUMBER[contract.type]),
    bytesField(2, Buffer.concat(parameter)),
  ]);
  return hexOf(
    Buffer.concat([
      bytesField(1, bytesOfHex(raw.refBlockBytes)),
      bytesField(4, bytesOfHex(raw.refBlockHash)),
      varintField(8, raw.expirationMs),
      bytesField(10, bytesOfHex(raw.note)),
      bytesField(11, wrapped),
      varintField(14, raw.timestampMs),
      varintField(18, raw.feeLimitSun),
    ]),
  );
}

export const transactionId = (rawHex: string): string => hexOf(sha256(bytesOfHex(rawHex)));

/** The 41-hex account that signed; null for an invalid signature. */
export function signerOf(txId: string, signature: string): string | null {
  const bytes = bytesOfHex(signature);
  if (bytes.length !== 65) return null;
  const recovery = (bytes[64] ?? 0) >= 27 ? (bytes[64] ?? 0) : (bytes[64] ?? 0) + 27;
  try {
    return tronAddressOf(recoverAddress(`0x${txId}`, `0x${hexOf(bytes.subarray(0, 64))}${recovery.toString(16)}`));
  } catch {
    return null;
  }
}

/** `raw_data` as the HTTP API prints it; addresses are base58 when `visible`. */
export function rawToJson(raw: RawTransaction, visible: boolean): Record<string, unknown> {
  const shown = (address: string): string => (visible ? base58Of(address) : address);
  const { contract } = raw;
  const value =
    contract.type === 'TransferContract'
      ? { amount: Number(contract.amountSun), owner_address: shown(contract.owner), to_address: shown(contract.to) }
      : {
          data: contract.data,
          owner_address: shown(contract.owner),
          contract_address: shown(contract.contract),
          ...(contract.callValueSun === 0n ? {} : { call_value: Number(contract.callValueSun) }),
        };
  return {
    ...(raw.note === '' ? {} : { data: raw.note }),
    contract: [
      { parameter: { value, type_url: `type.googleapis.com/protocol.${contract.type}` }, type: contract.type },
    ],
    ref_block_bytes: raw.refBlockBytes,
    ref_block_hash: raw.refBlockHash,
    expiration: raw.expirationMs,
    ...(raw.feeLimitSun === 0n ? {} : { fee_limit: Number(raw.feeLimitSun) }),
    ...(raw.timestampMs === 0 ? {} : { timestamp: raw.timestampMs }),
  };
}

interface RawJson {
  readonly ref_block_bytes?: string;
  readonly ref_block_hash?: string;
  readonly expiration?: number;
  readonly timestamp?: number;
  readonly fee_limit?: number;
  readonly data?: string;
  readonly contract?: readonly {
    readonly type?: string;
    readonly parameter?: { readonly value?: Readonly<Record<string, unknown>> };
  }[];
}

/**
 * The transaction that `raw_data` describes. Java-tron signs and stores what `raw_data` says and ignores
 * `raw_data_hex`, so a client whose two fields disagree must fail here too.
 */
export function rawFromJson(json: RawJson): RawTransaction {
  const contract = json.contract?.[0];
  const value = contract?.parameter?.value ?? {};
  const text = (name: string): string => String((value[name] as string | undefined) ?? '');
  const number = (name: string): bigint => BigInt((value[name] as number | undefined) ?? 0);
  const owner = addressHexOf(text('owner_address')) ?? '';
  return {
    refBlockBytes: json.ref_block_bytes ?? '',
    refBlockHash: json.ref_block_hash ?? '',
    expirationMs: json.expiration ?? 0,
    timestampMs: json.timestamp ?? 0,
    feeLimitSun: BigInt(json.fee_limit ?? 0),
    note: json.data ?? '',
    contract:
      contract?.type === 'TransferContract'
        ? { type: 'TransferContract', owner, to: addressHexOf(text('to_address')) ?? '', amountSun: number('amount') }
        : {
            type: 'TriggerSmartContract',
            owner,
            contract: addressHexOf(text('contract_address')) ?? '',
            callValueSun: number('call_value'),
            data: text('data'),
          },
  };
}
