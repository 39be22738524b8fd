import { timingSafeEqual } from 'node:crypto';
import { derive, type KeyList, type SealingKey } from '../../../runtime/cryptography/sealing.ts';
import { ShortHmac } from '../../../runtime/cryptography/short-hmac.ts';
import type { Tail } from './append-job.ts';
import type { EventReader } from './event-reader.ts';

const PURPOSE = 'quittance/event-log-seals/v1';
/** A seal is the id of its key and a MAC. */
const KEY_ID_BYTES = 4;

/** Where the log ceases to be what its keys vouch for, and why. */
export interface SealFault {
  readonly position: number;
  readonly reason: string;
}

/**
 * Seals the end of each commit with keys that are not in the data directory: an HMAC-SHA-256 over position and chain.
 * The chain contains the hash of every event before it, so the newest seal vouches for the whole log; earlier ones only
 * tell where a difference begins.
 */
export class LogSeals {
  readonly #setting: string;
  readonly #first: { readonly id: Buffer; readonly hmac: ShortHmac };
  readonly #keys: ReadonlyMap<string, ShortHmac>;

  /** The first key of the list seals; all of them verify. */
  constructor({ setting, keys }: KeyList) {
    this.#setting = setting;
    const [first] = keys;
    this.#first = { id: Buffer.from(first.id, 'hex'), hmac: derived(first) };
    this.#keys = new Map(keys.map((key) => [key.id, derived(key)]));
  }

  seal(end: Tail): Uint8Array {
    return Buffer.concat([this.#first.id, macOf(this.#first.hmac, end)]);
  }

  /** Null if the newest event carries a seal of one of the keys, or if there are no events. */
  faultOfEnd(reader: EventReader): SealFault | null {
    const { position } = reader.tail();
    if (position === 0) return null;
    let newest: Uint8Array | null = null;
    let holds = 0;
    for (const { seal, ...end } of reader.seals()) {
      if (end.position === position) newest = seal;
      if (this.#holds(seal, end)) {
        holds = end.position;
        break;
      }
    }
    if (holds === position) return null;
    return { position: holds + 1, reason: `up to its end, event ${position}, it ${this.#reasonFor(newest)}` };
  }

  #reasonFor(newest: Uint8Array | null): string {
    if (newest === null) return 'lacks the seal that this service puts on everything it writes';
    const id = idOf(newest);
    return this.#keys.has(id)
      ? 'is not what this service wrote: its seal does not hold'
      : `is sealed under the key ${id}, which ${this.#setting} does not hold: add that key`;
  }

  #holds(seal: Uint8Array, end: Tail): boolean {
    const hmac = this.#keys.get(idOf(seal));
    if (!hmac) return false;
    const [expected, given] = [macOf(hmac, end), seal.subarray(KEY_ID_BYTES)];
    return given.length === expected.length && timingSafeEqual(given, expected);
  }
}

const idOf = (seal: Uint8Array): string => Buffer.from(seal.subarray(0, KEY_ID_BYTES)).toString('hex');

const derived = ({ material }: SealingKey): ShortHmac => new ShortHmac(derive(material, PURPOSE).export());

const macOf = (hmac: ShortHmac, { position, chain }: Tail): Buffer => hmac.of(`${position} ${chain}`);
