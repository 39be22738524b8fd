import type { Mode, SessionId } from '../../domain/values/ids.ts';
import type { AddressFamily } from '../../domain/networks/networks.ts';
import type { IsOurs } from '../../ports/chain/chain.ts';
import { StoreUnavailable } from '../../ports/event-log/event-store.ts';
import { AddressFilter } from './filter.ts';
import { addressText, hexWord, writeAddressKey } from './key.ts';

/** Mode and family separate address spaces: an address assigned in one means nothing in another. */
export const indexKey = (mode: Mode, family: AddressFamily): string => `${mode}/${family}`;

/** What the look-ups on disk know about an address. The session id stays in its stored form. */
export interface StoredSession {
  readonly sessionId: SessionId | null;
  /** Whether the look-ups contain every address that is not in memory. */
  readonly isWhole: boolean;
}

export interface AddressIndexParts {
  readonly filter: AddressFilter;
  /** Separates this index's addresses from those of other indexes in a shared filter. */
  readonly seed: number;
  readonly stored: (address: string) => StoredSession;
}

/** An index that keeps everything in memory. */
const alone = (): AddressIndexParts => ({
  filter: new AddressFilter(),
  seed: 0,
  stored: () => ({ sessionId: null, isWhole: true }),
});

/**
 * Every address ever assigned in one mode and family, with its session. A filter in memory rejects nearly all
 * transfers, which go to strangers. An address that passes it is looked up first among the recent addresses that the
 * rows on disk may not show yet, then in those rows. An address of ours is never mistaken for a stranger's: when
 * neither can tell, the look-up throws `StoreUnavailable`.
 */
export class AddressIndex {
  readonly family: AddressFamily;
  readonly #parts: AddressIndexParts;
  /** The address of the latest query, and its hashes. */
  readonly #wanted: Uint32Array;
  #first = 0;
  #second = 0;
  /** The predicate that chain adapters use. */
  readonly isOurs: IsOurs;
  /** Addresses that have not yet appeared in the look-ups, with their sessions. */
  readonly #recent = new Map<string, SessionId>();
  #firsts = new Uint32Array(0);
  #seconds = new Uint32Array(0);

  constructor(family: AddressFamily, parts: AddressIndexParts = alone()) {
    this.family = family;
    this.#parts = parts;
    this.#wanted = new Uint32Array(family === 'solana' ? 8 : 5);
    const has = (address: string): boolean => this.has(address);
    this.isOurs =
      family === 'solana' ? has : Object.assign(has, { sift: (hexTexts: readonly string[]) => this.#sift(hexTexts) });
  }

  /** Number of addresses kept in memory. */
  get recent(): number {
    return this.#recent.size;
  }

  /**
   * Accepts every notation of the family (EVM: hex in any case; TRON: base58 or hex; Solana: base58, owner or token
   * account). Adding an address again does nothing; adding one that belongs to another session is a bug and throws.
   */
  add(address: string, sessionId: SessionId): void {
    const known = this.#find(address);
    if (known === 'unreadable') throw new Error(`not a ${this.family} address: ${address.slice(0, 80)}`);
    if (known?.sessionId === sessionId) return;
    if (known?.sessionId) throw new Error(`the address ${address} was assigned twice`);
    this.#parts.filter.add(this.#first, this.#second);
    this.#recent.set(addressText(this.family, this.#wanted), sessionId);
  }

  /** Drops the address from memory once the look-ups on disk contain it. */
  settle(address: string): void {
    if (!this.#read(address)) return;
    this.#parts.filter.add(this.#first, this.#second);
    if (this.#recent.size > 0) this.#recent.delete(address);
  }

  /** Whether the address was ever assigned. False for malformed text. */
  has(address: string): boolean {
    return this.sessionOf(address) !== null;
  }

  sessionOf(address: string): SessionId | null {
    const found = this.#find(address);
    if (found === null || found === 'unreadable') return null;
    if (found.sessionId === null && !found.isWhole) throw new StoreUnavailable('the address look-ups are being built');
    return found.sessionId;
  }

  /** Null if the address is certainly not ours. */
  #find(address: string): StoredSession | 'unreadable' | null {
    if (!this.#read(address)) return 'unreadable';
    if (!this.#parts.filter.mayHave(this.#first, this.#second)) return null;
    const text = addressText(this.family, this.#wanted);
    const recent = this.#recent.get(text);
    return recent === undefined ? this.#parts.stored(text) : { sessionId: recent, isWhole: true };
  }

  /** Makes `address` the current query; false if it is not an address of the family. */
  #read(address: string): boolean {
    if (!writeAddressKey(this.family, address, this.#wanted)) return false;
    const [third, fourth] = [this.#wanted[3] ?? 0, this.#wanted[4] ?? 0];
    this.#first = firstOf(this.#parts.seed, third, fourth);
    this.#second = secondOf(third, fourth);
    return true;
  }

  /** Computes all hashes before it tests any bit, so that the processor overlaps the cache misses. */
  #sift(hexTexts: readonly string[]): number[] {
    if (this.#firsts.length < hexTexts.length) {
      this.#firsts = new Uint32Array(hexTexts.length);
      this.#seconds = new Uint32Array(hexTexts.length);
    }
    const { filter, seed } = this.#parts;
    for (const [at, text] of hexTexts.entries()) {
      const [third, fourth] = [hexWord(text, text.length - 16), hexWord(text, text.length - 8)];
      this.#firsts[at] = firstOf(seed, third, fourth);
      this.#seconds[at] = secondOf(third, fourth);
    }
    const found: number[] = [];
    for (let at = 0; at < hexTexts.length; at += 1)
      if (filter.mayHave(this.#firsts[at] ?? 0, this.#seconds[at] ?? 0)) found.push(at);
    return found;
  }
}

/*
 * Two hashes of the fourth and fifth word, which are the last two of an EVM or TRON address. Addresses are already
 * hashes or curve points; mixing also spreads vanity addresses.
 */
const firstOf = (seed: number, third: number, fourth: number): number => mix(third ^ seed, fourth);
const secondOf = (third: number, fourth: number): number => mix(fourth ^ 0x2545f491, third);

/** The finaliser of MurmurHash3. */
function mix(one: number, other: number): number {
  let hash = one ^ Math.imul(other, 0x9e3779b1);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
