import { setImmediate as nextTurn } from 'node:timers/promises';
import { MODES, type Mode, type SessionId } from '../../domain/ids.ts';
import { ADDRESS_FAMILIES, type AddressFamily } from '../../domain/networks.ts';
import type { Position } from '../../ports/event-store.ts';
import type { KeptBytes } from '../../ports/kept-bytes.ts';
import type { ReadModel } from '../../ports/read-model.ts';
import { projectionId } from '../../runtime/projections/batch.ts';
import { seedFrom } from '../../runtime/projections/whole-rows.ts';
import { addressIndex, ADDRESSES_TABLE } from '../../../projections/addresses/address-index.projection.ts';
import { AddressIndex, indexKey, type StoredSession } from './address-index.ts';
import { AddressFilter } from './filter.ts';
import { loadFilter, saveFilter } from './filter-file.ts';

export interface GivenAddressesDeps {
  readonly readModel: Pick<ReadModel, 'checkpoint' | 'generation' | 'peek' | 'keysSince'>;
  /** Where the filter is kept for the next start; null: each start makes it of the rows. */
  readonly kept: KeptBytes | null;
  /** What fails is tried again after more addresses. */
  readonly onError: (error: unknown) => void;
  /** After so many new addresses those that the rows show leave memory. */
  readonly settleEvery?: number;
}

const PROJECTION = projectionId(addressIndex);
const SETTLE_EVERY = 1_024;
/** Keys read in one turn: some milliseconds. */
const PAGE = 2_000;
/** The filter is written when it has so many new keys, and a sixteenth of all: so much the next start reads at most. */
const SAVE_EVERY = 65_536;
const SAVE_SHARE = 1 / 16;

/**
 * The addresses ever given out: a filter over all of them and those that the rows on disk may not show yet are in
 * memory, everything else is asked of the rows. Rows lie in the order in which they were written, so a place among them
 * says which ones the filter was made of.
 */
export class GivenAddresses {
  readonly indexes: ReadonlyMap<string, AddressIndex>;
  readonly #deps: GivenAddressesDeps;
  readonly #settleEvery: number;
  readonly #filter = new AddressFilter();
  /** Of the rows that were read; null before any were. */
  #generation: string | null = null;
  /** Up to where they were read. */
  #place = 0;
  #savedPlace = 0;
  /** Since rows were last read. */
  #added = 0;
  #settling: Promise<void> | null = null;

  constructor(deps: GivenAddressesDeps) {
    this.#deps = deps;
    this.#settleEvery = deps.settleEvery ?? SETTLE_EVERY;
    this.indexes = new Map(
      MODES.flatMap((mode) => ADDRESS_FAMILIES.map((family) => ({ key: indexKey(mode, family), family }))).map(
        ({ key, family }, seed) => [
          key,
          new AddressIndex(family, {
            filter: this.#filter,
            seed,
            stored: (address) => this.#stored(`${key}/${address}`),
          }),
        ],
      ),
    );
  }

  /** The position from which the ledger is to be followed so that none is missed. */
  start(): Promise<Position | null> {
    return seedFrom(this.#deps.readModel, addressIndex, async () => {
      await this.#load();
      await this.#settle();
    });
  }

  add(mode: Mode, family: AddressFamily, address: string, sessionId: SessionId): void {
    this.of(mode, family).add(address, sessionId);
    this.#added += 1;
    if (this.#added >= this.#settleEvery) this.#settleSoon();
  }

  of(mode: Mode, family: AddressFamily): AddressIndex {
    const index = this.indexes.get(indexKey(mode, family));
    if (!index) throw new RangeError(`no addresses are assigned in ${mode}/${family}`);
    return index;
  }

  get filterBytes(): number {
    return this.#filter.memoryBytes;
  }

  /** Nothing may be added any more. */
  async close(): Promise<void> {
    await this.#settling;
    if (this.#place !== this.#savedPlace) await this.#save().catch(this.#deps.onError);
  }

  /** A filter of other rows than those that are served, or of more than there are, is none. */
  async #load(): Promise<void> {
    const { readModel, kept } = this.#deps;
    if (!kept || this.#generation !== null) return;
    const found = await loadFilter(kept).catch((error: unknown) => this.#deps.onError(error));
    if (!found) return;
    const { generation, place, keys } = await readModel.keysSince(PROJECTION, ADDRESSES_TABLE, found.place - 1, 1);
    if (keys.length === 0 || place !== found.place || generation !== found.generation) return;
    this.#filter.adopt(found.layers);
    this.#generation = generation;
    this.#place = this.#savedPlace = place;
  }

  #settleSoon(): void {
    this.#added = 0;
    this.#settling ??= this.#settle()
      .then(() => (this.#isWorthSaving() ? this.#save() : undefined))
      .catch(this.#deps.onError)
      .finally(() => (this.#settling = null));
  }

  /** Reads the rows that were written since, and lets memory forget what they show. */
  async #settle(): Promise<void> {
    for (;;) {
      const { generation, keys, place } = await this.#deps.readModel.keysSince(
        ...([PROJECTION, ADDRESSES_TABLE, this.#place, PAGE] as const),
      );
      if (generation === null) return;
      if (this.#generation !== null && generation !== this.#generation) {
        // Rows that were built anew have places of their own.
        this.#generation = generation;
        this.#place = this.#savedPlace = 0;
        continue;
      }
      this.#generation = generation;
      for (const key of keys) this.#settleKey(key);
      this.#place = place;
      if (keys.length < PAGE) return;
      await nextTurn();
    }
  }

  #settleKey(key: string): void {
    const end = key.indexOf('/', key.indexOf('/') + 1);
    this.indexes.get(key.slice(0, end))?.settle(key.slice(end + 1));
  }

  #isWorthSaving(): boolean {
    return this.#place - this.#savedPlace >= Math.max(SAVE_EVERY, this.#place * SAVE_SHARE);
  }

  async #save(): Promise<void> {
    const { kept } = this.#deps;
    const [generation, place] = [this.#generation, this.#place];
    if (!kept || generation === null) return;
    await saveFilter(kept, { layers: this.#filter.layers, generation, place });
    this.#savedPlace = place;
  }

  #stored(key: string): StoredSession {
    const { row, generation } = this.#deps.readModel.peek(PROJECTION, ADDRESSES_TABLE, key);
    // What rows have once answered for, memory may not have.
    this.#generation ??= generation;
    return { sessionId: (row?.sessionId as SessionId | undefined) ?? null, isWhole: generation !== null };
  }
}
