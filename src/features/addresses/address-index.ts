import type { Mode, SessionId } from '../../domain/ids.ts';
import type { AddressFamily } from '../../domain/networks.ts';
import type { IsOurs } from '../../ports/chain.ts';
import { StoreUnavailable } from '../../ports/event-store.ts';
import { AddressFilter } from './filter.ts';
import { addressText, hexWord, writeAddressKey } from './key.ts';

/** Addresses are told apart by mode and family: what was given out in one is nobody's in the other. */
export const indexKey = (mode: Mode, family: AddressFamily): string => `${mode}/${family}`;

/** What the look-ups on disk say of an address, in the form in which they write it. */
export interface StoredSession {
  readonly sessionId: SessionId | null;
  /** Whether they hold every address that memory left to them. */
  readonly isWhole: boolean;
}

export interface AddressIndexParts {
  readonly filter: AddressFilter;
  /** Sets the addresses of this index apart from those of others in the same filter. */
  readonly seed: number;
  readonly stored: (address: string) => StoredSession;
}

/** Everything in memory. */
const alone = (): AddressIndexParts => ({
  filter: new AddressFilter(),
  seed: 0,
  stored: () => ({ sessionId: null, isWhole: true }),
});

/**
 * Every address ever given out in one mode and family, and the session it was given to. Transfers to strangers, nearly
 * all there are, end at a filter in memory; whoever passes it is looked for among the addresses that the look-ups may
 * not show yet, and then in the look-ups on disk. No address of ours is ever taken for a stranger's: where neither can
 * tell, the question throws `StoreUnavailable`.
 */
export class AddressIndex {
  readonly family: AddressFamily;
  readonly #parts: AddressIndexParts;
  /** The address that was asked for last, and its hashes. */
  readonly #wanted: Uint32Array;
  #first = 0;
  #second = 0;
  /** For chain adapters. */
  readonly isOurs: IsOurs;
  /** By address: those that were not seen in the look-ups. */
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

  /** Addresses that memory keeps. */
  get recent(): number {
    return this.#recent.size;
  }

  /**
   * Accepts every form of the family (EVM: hex in any case; TRON: base58 or hex; Solana: base58, owner or token
   * account). Repeating is harmless; an address of another session is a bug and throws.
   */
  add(address: string, sessionId: SessionId): void {
    const known = this.#find(address);
    if (known === 'unreadable') throw new Error(`not a ${this.family} address: ${address.slice(0, 80)}`);
    if (known?.sessionId === sessionId) return;
    if (known?.sessionId) throw new Error(`the address ${address} was assigned twice`);
    this.#parts.filter.add(this.#first, this.#second);
    this.#recent.set(addressText(this.family, this.#wanted), sessionId);
  }

  /** The look-ups on disk have the address: memory need not keep it. */
  settle(address: string): void {
    if (!this.#read(address)) return;
    this.#parts.filter.add(this.#first, this.#second);
    if (this.#recent.size > 0) this.#recent.delete(address);
  }

  /** Whether the address was ever given out. Anything unreadable was not. */
  has(address: string): boolean {
    return this.sessionOf(address) !== null;
  }

  sessionOf(address: string): SessionId | null {
    const found = this.#find(address);
    if (found === null || found === 'unreadable') return null;
    if (found.sessionId === null && !found.isWhole) throw new StoreUnavailable('the address look-ups are being built');
    return found.sessionId;
  }

  /** Null for who is certainly a stranger. */
  #find(address: string): StoredSession | 'unreadable' | null {
    if (!this.#read(address)) return 'unreadable';
    if (!this.#parts.filter.mayHave(this.#first, this.#second)) return null;
    const text = addressText(this.family, this.#wanted);
    const recent = this.#recent.get(text);
    return recent === undefined ? this.#parts.stored(text) : { sessionId: recent, isWhole: true };
  }

  /** Makes the address the wanted one; false when it is none of the family. */
  #read(address: string): boolean {
    if (!writeAddressKey(this.family, address, this.#wanted)) return false;
    const [third, fourth] = [this.#wanted[3] ?? 0, this.#wanted[4] ?? 0];
    this.#first = firstOf(this.#parts.seed, third, fourth);
    this.#second = secondOf(third, fourth);
    return true;
  }

  /** First all hashes, then all bits: the processor overlaps the cache misses of a loop that does nothing else. */
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
 * Two hashes of the fourth and fifth word, the last ones of an EVM or TRON address. Addresses are hashes or curve
 * points already; mixing spreads vanity addresses, too.
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
