import { setImmediate as nextTurn } from 'node:timers/promises';
import { MODES, type Mode, type SessionId } from '../../domain/values/ids.ts';
import { ADDRESS_FAMILIES, type AddressFamily } from '../../domain/networks/networks.ts';
import type { Position } from '../../ports/event-log/event-store.ts';
import type { KeptBytes } from '../../ports/read-model/kept-bytes.ts';
import type { ReadModel } from '../../ports/read-model/read-model.ts';
import { projectionId } from '../../runtime/projections/batch.ts';
import { seedFrom } from '../../runtime/projections/whole-rows.ts';
import { addressIndex, ADDRESSES_TABLE } from '../../../projections/addresses/address-index.projection.ts';
import { AddressIndex, indexKey, type StoredSession } from './address-index.ts';
import { AddressFilter } from './filter.ts';
import { loadFilter, saveFilter } from './filter-file.ts';

export interface GivenAddressesDeps {
  readonly readModel: Pick<ReadModel, 'checkpoint' | 'generation' | 'peek' | 'keysSince'>;
  /** Where the filter is saved for the next start; null rebuilds it from the rows at each start. */
  readonly kept: KeptBytes | null;
  /** Called with errors of background work, which is retried after more addresses were added. */
  readonly onError: (error: unknown) => void;
  /** After this many new addresses, those that the rows contain are dropped from memory. */
  readonly settleEvery?: number;
}

const PROJECTION = projectionId(addressIndex);
const SETTLE_EVERY = 1_024;
/** Keys read per turn; takes a few milliseconds. */
const PAGE = 2_000;
/**
 * The filter is saved after this many new keys, if they are at least a sixteenth of all. This bounds what the next
 * start must read.
 */
const SAVE_EVERY = 65_536;
const SAVE_SHARE = 1 / 16;

/**
 * All addresses ever assigned. Memory holds a filter over all of them and the recent ones that the rows on disk may
 * lack; everything else is read from the rows. Rows lie in the order of writing, so a place among them tells which ones
 * the filter covers.
 */
export class GivenAddresses {
  readonly indexes: ReadonlyMap<string, AddressIndex>;
  readonly #deps: GivenAddressesDeps;
  readonly #settleEvery: number;
  readonly #filter = new AddressFilter();
  /** Generation of the rows that were read; null before any were. */
  #generation: string | null = null;
  /** How far they were read. */
  #place = 0;
  #savedPlace = 0;
  /** Number of addresses added since rows were last read. */
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

  /** The position from which to follow the event log so that no address is missed. */
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

  /** Nothing may be added after this call. */
  async close(): Promise<void> {
    await this.#settling;
    if (this.#place !== this.#savedPlace) await this.#save().catch(this.#deps.onError);
  }

  /** Discards a saved filter that was built from other rows, or from more rows than exist. */
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

  /** Reads the rows written since the last call and drops their addresses from memory. */
  async #settle(): Promise<void> {
    for (;;) {
      const { generation, keys, place } = await this.#deps.readModel.keysSince(
        ...([PROJECTION, ADDRESSES_TABLE, this.#place, PAGE] as const),
      );
      if (generation === null) return;
      if (this.#generation !== null && generation !== this.#generation) {
        // Rebuilt rows have different places.
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
    // Memory may lack addresses that rows have answered for, so the generation stays.
    this.#generation ??= generation;
    return { sessionId: row?.sessionId ?? null, isWhole: generation !== null };
  }
}
