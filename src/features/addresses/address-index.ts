import { base32nopad } from '@scure/base';
import { base32 } from '../../domain/ids.ts';
import type { Mode, SessionId } from '../../domain/ids.ts';
import type { AddressFamily } from '../../domain/networks.ts';
import type { IsOurs } from '../../ports/chain.ts';
import { hexWord, writeAddressKey } from './key.ts';

/** Addresses are told apart by mode and family: what was given out in one is nobody's in the other. */
export const indexKey = (mode: Mode, family: AddressFamily): string => `${mode}/${family}`;

/**
 * Every address ever given out in one mode and family, and the session it was given to. Transfers to strangers, nearly
 * all there are, end at one bit. Two dense arrays hold the facts, a table of 32-bit entry numbers finds them (open
 * addressing, linear probing), so an address takes some 50 to 60 bytes and no object.
 */
export class AddressIndex {
  readonly family: AddressFamily;
  readonly #keyWords: number;
  readonly #wanted: Uint32Array;
  readonly #session = new Uint8Array(SESSION_BYTES);
  /** For chain adapters. */
  readonly isOurs: IsOurs;
  readonly #chunks: Chunk[] = [];
  #size = 0;
  #slots = new Uint32Array(1024);
  #bitmap = new Uint32Array(256);
  #hashes = new Uint32Array(0);

  constructor(family: AddressFamily) {
    this.family = family;
    this.#keyWords = family === 'solana' ? 8 : 5;
    this.#wanted = new Uint32Array(this.#keyWords);
    const has = (address: string): boolean => this.has(address);
    this.isOurs =
      family === 'solana' ? has : Object.assign(has, { sift: (hexTexts: readonly string[]) => this.#sift(hexTexts) });
  }

  get size(): number {
    return this.#size;
  }

  /** Bytes held for all addresses together. */
  get memoryBytes(): number {
    return (
      this.#slots.byteLength +
      this.#bitmap.byteLength +
      this.#chunks.reduce((sum, chunk) => sum + chunk.keys.byteLength + chunk.sessions.byteLength, 0)
    );
  }

  /**
   * Accepts every form of the family (EVM: hex in any case; TRON: base58 or hex; Solana: base58, owner or token
   * account). Repeating is harmless; an address of another session is a bug and throws.
   */
  add(address: string, sessionId: SessionId): void {
    if (!writeAddressKey(this.family, address, this.#wanted))
      throw new Error(`not a ${this.family} address: ${address.slice(0, 80)}`);
    packSessionId(sessionId, this.#session);
    const slot = this.#findSlot();
    const entry = this.#slots[slot]!;
    if (entry !== 0) {
      if (!this.#holdsSession(entry - 1)) throw new Error(`the address ${address} was given out twice`);
      return;
    }
    const chunk = (this.#chunks[this.#size >>> CHUNK_BITS] ??= createChunk(this.#keyWords));
    const at = this.#size & CHUNK_MASK;
    chunk.keys.set(this.#wanted, at * this.#keyWords);
    chunk.sessions.set(this.#session, at * SESSION_BYTES);
    this.#size += 1;
    this.#slots[slot] = this.#size;
    this.#mark(hashOf(this.#wanted));
    if (this.#size * 4 > this.#slots.length * 3) this.#grow();
  }

  /** Whether the address was ever given out. Anything unreadable was not. */
  has(address: string): boolean {
    return this.#entryOf(address) !== 0;
  }

  sessionOf(address: string): SessionId | null {
    const entry = this.#entryOf(address);
    return entry === 0 ? null : this.#sessionAt(entry - 1);
  }

  #entryOf(address: string): number {
    if (!writeAddressKey(this.family, address, this.#wanted) || !this.#isMarked(hashOf(this.#wanted))) return 0;
    return this.#slots[this.#findSlot()]!;
  }

  /** The slot that holds the wanted key, or the free one where it belongs. */
  #findSlot(): number {
    const mask = this.#slots.length - 1;
    for (let slot = hashOf(this.#wanted) & mask; ; slot = (slot + 1) & mask) {
      const entry = this.#slots[slot]!;
      if (entry === 0 || this.#isWanted(entry - 1)) return slot;
    }
  }

  #isWanted(entry: number): boolean {
    const { keys } = this.#chunks[entry >>> CHUNK_BITS]!;
    const base = (entry & CHUNK_MASK) * this.#keyWords;
    for (let word = 0; word < this.#keyWords; word += 1) if (keys[base + word] !== this.#wanted[word]) return false;
    return true;
  }

  /** Whether the entry belongs to the session that was packed last. */
  #holdsSession(entry: number): boolean {
    const { sessions } = this.#chunks[entry >>> CHUNK_BITS]!;
    const base = (entry & CHUNK_MASK) * SESSION_BYTES;
    for (let at = 0; at < SESSION_BYTES; at += 1) if (sessions[base + at] !== this.#session[at]) return false;
    return true;
  }

  #sessionAt(entry: number): SessionId {
    const base = (entry & CHUNK_MASK) * SESSION_BYTES;
    return unpackSessionId(this.#chunks[entry >>> CHUNK_BITS]!.sessions.subarray(base, base + SESSION_BYTES));
  }

  /** First all hashes, then all bits: the processor overlaps the cache misses of a loop that does nothing else. */
  #sift(hexTexts: readonly string[]): number[] {
    if (this.#hashes.length < hexTexts.length) this.#hashes = new Uint32Array(hexTexts.length);
    for (let at = 0; at < hexTexts.length; at += 1) {
      const text = hexTexts[at]!;
      this.#hashes[at] = mix(hexWord(text, text.length - 16), hexWord(text, text.length - 8));
    }
    const found: number[] = [];
    for (let at = 0; at < hexTexts.length; at += 1) if (this.#isMarked(this.#hashes[at]!)) found.push(at);
    return found;
  }

  #isMarked(hash: number): boolean {
    const bit = bitOf(hash, this.#bitmap);
    return (this.#bitmap[bit >>> 5]! & (1 << (bit & 31))) !== 0;
  }

  #mark(hash: number): void {
    const bit = bitOf(hash, this.#bitmap);
    this.#bitmap[bit >>> 5]! |= 1 << (bit & 31);
  }

  #grow(): void {
    this.#slots = new Uint32Array(this.#slots.length * 2);
    this.#bitmap = new Uint32Array(this.#bitmap.length * 2);
    const mask = this.#slots.length - 1;
    for (let entry = 0; entry < this.#size; entry += 1) {
      const base = (entry & CHUNK_MASK) * this.#keyWords;
      const hash = hashOf(this.#chunks[entry >>> CHUNK_BITS]!.keys.subarray(base, base + this.#keyWords));
      let slot = hash & mask;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
      this.#slots[slot] = entry + 1;
      this.#mark(hash);
    }
  }
}

interface Chunk {
  readonly keys: Uint32Array;
  readonly sessions: Uint8Array;
}

/** Entries of a chunk: small enough that an installation with few addresses stays small. */
const CHUNK_BITS = 9;
const CHUNK_MASK = (1 << CHUNK_BITS) - 1;
const SESSION_BYTES = 20;

const createChunk = (keyWords: number): Chunk => ({
  keys: new Uint32Array(keyWords << CHUNK_BITS),
  sessions: new Uint8Array(SESSION_BYTES << CHUNK_BITS),
});

const hashOf = (key: Uint32Array): number => mix(key[3]!, key[4]!);

/**
 * Addresses are hashes or curve points already; two words mixed spread vanity addresses too (MurmurHash3 finaliser).
 */
function mix(first: number, second: number): number {
  let hash = first ^ Math.imul(second, 0x9e3779b1);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/**
 * The slot comes from the hash's low bits, the bitmap's bit from its high ones. The bitmap has a power of two of words.
 */
function bitOf(hash: number, bitmap: Uint32Array): number {
  return hash >>> (Math.clz32(bitmap.length) - 4);
}

const SESSION_ID_LENGTH = 35;

/** `cs_` and 32 base32 characters are 160 bits. */
function packSessionId(sessionId: SessionId, bytes: Uint8Array): void {
  if (sessionId.length !== SESSION_ID_LENGTH) throw new Error('not a session id');
  bytes.set(base32nopad.decode(sessionId.slice(3).toUpperCase()));
}

const unpackSessionId = (bytes: Uint8Array): SessionId => `cs_${base32(bytes)}` as SessionId;
