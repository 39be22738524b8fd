import { hash } from 'node:crypto';
import { ReadModelMoved, type Change, type ReadModel } from '../ports/read-model.ts';
import type { KeptTile, StoreAudit } from '../runtime/merkle/store-audit.ts';

/** What the process that signs tells the others. */
export interface AuditNotice {
  /** The public key as auditors keep it. */
  readonly verifierKey: string;
  /** What is wrong with the history; null when nothing is. */
  readonly fault: string | null;
}

const NAME = 'audit-board@1';
const TILES_TABLE = 'audit-tiles';
const NOTICE_TABLE = 'audit-notice';
const NOTICE_KEY = 'newest';
const BATCH = 1_000;
const KEY_DIGITS = 10;

/**
 * The audit as processes on shared servers tell each other of it. Nothing on it is trusted: tiles are proved by a signed root before they are
 * used, and whoever lost the status reads the ledger instead.
 */
export class AuditStatusStore {
  readonly #read: ReadModel;
  readonly #written: ReadModel;
  #mark: string | null = null;
  #tiles = 0;

  constructor({ readModel, writtenModel }: { readonly readModel: ReadModel; readonly writtenModel: ReadModel }) {
    this.#read = readModel;
    this.#written = writtenModel;
  }

  /** Null when nobody has said anything, or it was lost. */
  async notice(): Promise<AuditNotice | null> {
    return (await this.#read.get(NOTICE_TABLE, NOTICE_KEY)) as AuditNotice | null;
  }

  /** Complete tiles from the first one on, without a gap. */
  async tiles(): Promise<KeptTile[]> {
    const tiles: KeptTile[] = [];
    for (;;) {
      const page = await this.#read.scan(TILES_TABLE, { limit: BATCH, ...(tiles.length > 0 && { afterKey: keyOf(tiles.length - 1) }) });
      for (const { key, row } of page) {
        if (key !== keyOf(tiles.length)) return tiles;
        tiles.push(row as unknown as KeptTile);
      }
      if (page.length < BATCH) return tiles;
    }
  }

  /** Says what is new, or all of it where the status was lost or another process wrote to it. */
  async publish(notice: AuditNotice, audit: Pick<StoreAudit, 'tiles' | 'tilesFrom'> | null): Promise<void> {
    const tiles = audit?.tilesFrom(0) ?? [];
    // A position has no spaces; what is said of a fault has.
    const mark = hash('sha256', JSON.stringify([notice.verifierKey, notice.fault, tiles.length, tiles.at(-1)?.node ?? null]), 'hex');
    const stored = await this.#written.checkpoint(NAME);
    if (stored === mark) return;
    const isOurs = stored !== null && stored === this.#mark;
    // What is not as it was left takes no change until it is begun anew.
    if (!isOurs) await this.#written.begin(NAME);
    const changes: Change[] = tiles.slice(isOurs ? this.#tiles : 0).map((tile, offset) => ({
      op: 'put',
      table: TILES_TABLE,
      key: keyOf((isOurs ? this.#tiles : 0) + offset),
      row: { node: tile.node, through: tile.through },
    }));
    try {
      for (let from = 0; from + BATCH < changes.length; from += BATCH)
        await this.#written.apply(NAME, changes.slice(from, from + BATCH), `${mark}/${from}`);
      const rest = changes.length === 0 ? [] : changes.slice(Math.floor((changes.length - 1) / BATCH) * BATCH);
      await this.#written.apply(NAME, [...rest, { op: 'put', table: NOTICE_TABLE, key: NOTICE_KEY, row: { ...notice } }], mark);
      this.#mark = mark;
      this.#tiles = tiles.length;
    } catch (error) {
      // Somebody else wrote meanwhile: the next time says everything.
      if (!(error instanceof ReadModelMoved)) throw error;
      this.#mark = null;
    }
  }
}

const keyOf = (tile: number): string => String(tile).padStart(KEY_DIGITS, '0');
