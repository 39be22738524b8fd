import { createPublicKey, verify } from 'node:crypto';
import { base58 } from '../../../src/chain-formats/base58.ts';
import { bytesOf, COMPUTE_BUDGET_PROGRAM } from './solana-addresses.ts';

/** One call of a program. */
export interface Instruction {
  readonly program: string;
  readonly accounts: readonly string[];
  readonly data: Uint8Array;
}

/** What a transaction says, whoever made it. */
export interface Message {
  /** Those that sign come first, the fee payer before all others. */
  readonly keys: readonly string[];
  readonly signers: number;
  readonly instructions: readonly Instruction[];
}

export interface SolanaSigned extends Message {
  readonly txHash: string;
  /** A recent block's, or the value of a nonce account. */
  readonly blockhash: string;
}

/** Not a transaction, or one that its keys did not sign. */
export class InvalidTransaction extends Error {}

const [SIGNATURE_BYTES, KEY_BYTES] = [64, 32];
/** DER of an Ed25519 public key up to its bytes (RFC 8410). */
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');
const LAMPORTS_A_SIGNATURE = 5_000n;
const DEFAULT_COMPUTE_UNITS = 200_000n;
const MICRO = 1_000_000n;

/** Reads the wire format; transactions with a version are not what the service makes. */
class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get rest(): Buffer {
    return this.#bytes.subarray(this.#at);
  }

  take(count: number): Buffer {
    if (this.#at + count > this.#bytes.length) throw new InvalidTransaction('ends too early');
    return this.#bytes.subarray(this.#at, (this.#at += count));
  }

  byte(): number {
    return this.take(1)[0]!;
  }

  /** `compact-u16`: seven bits a byte, the lowest first. */
  length(): number {
    for (let [value, shift] = [0, 0]; ; shift += 7) {
      const byte = this.byte();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }

  list<Item>(read: () => Item): Item[] {
    return Array.from({ length: this.length() }, read);
  }
}

/** Throws `InvalidTransaction`. */
export function readTransaction(bytes: Buffer): SolanaSigned {
  const reader = new Reader(bytes);
  const signatures = reader.list(() => reader.take(SIGNATURE_BYTES));
  const message = reader.rest;
  const signers = reader.byte();
  if (signers >= 0x80) throw new InvalidTransaction('has a version');
  reader.take(2);
  const keys = reader.list(() => base58(reader.take(KEY_BYTES)));
  const blockhash = base58(reader.take(KEY_BYTES));
  const instructions = reader.list((): Instruction => {
    const program = keys[reader.byte()]!;
    const accounts = reader.list(() => keys[reader.byte()]!);
    return { program, accounts, data: reader.take(reader.length()) };
  });
  if (reader.rest.length > 0) throw new InvalidTransaction('goes on behind its end');
  if (signatures.length !== signers || signers === 0) throw new InvalidTransaction('lacks signatures');
  signatures.forEach((signature, index) => {
    const key = createPublicKey({
      key: Buffer.concat([SPKI_PREFIX, bytesOf(keys[index]!)]),
      format: 'der',
      type: 'spki',
    });
    if (!verify(null, message, key, signature)) throw new InvalidTransaction(`${keys[index]} did not sign`);
  });
  return { txHash: base58(signatures[0]!), keys, signers, blockhash, instructions };
}

/** Micro-lamports that it offers for a unit of computing. */
export const unitPriceOf = (message: Message): bigint => budgetOf(message).price;

/** Base fee and priority fee. */
export function feeOf(message: Message): bigint {
  const { price, units } = budgetOf(message);
  return LAMPORTS_A_SIGNATURE * BigInt(message.signers) + (price * units + MICRO - 1n) / MICRO;
}

function budgetOf({ instructions }: Message): { readonly price: bigint; readonly units: bigint } {
  const budget = { price: 0n, units: DEFAULT_COMPUTE_UNITS };
  for (const { program, data } of instructions) {
    if (program !== COMPUTE_BUDGET_PROGRAM) continue;
    const bytes = Buffer.from(data);
    if (bytes[0] === 2) budget.units = BigInt(bytes.readUInt32LE(1));
    if (bytes[0] === 3) budget.price = bytes.readBigUInt64LE(1);
  }
  return budget;
}
