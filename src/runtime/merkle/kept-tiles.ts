import type { ReadModel } from '../../ports/read-model/read-model.ts';
import type { KeptTile, StoreAudit } from './store-audit.ts';
import { must } from '../../domain/values/must.ts';

const NAME = 'audit-tiles@1';
const TABLE = 'audit-tiles';
const BATCH = 1_000;
const KEY_DIGITS = 10;

/**
 * What this process stored of the Merkle tree in earlier runs. It is not trusted: a signed root must prove the tiles
 * before they are used.
 */
export class KeptTiles {
  readonly #readModel: Pick<ReadModel, 'scan' | 'apply'>;
  #kept = 0;

  constructor(readModel: Pick<ReadModel, 'scan' | 'apply'>) {
    this.#readModel = readModel;
  }

  /** Complete tiles from the first one on, without a gap. */
  async all(): Promise<KeptTile[]> {
    const tiles: KeptTile[] = [];
    for (;;) {
      const page = await this.#readModel.scan(TABLE, {
        limit: BATCH,
        ...(tiles.length > 0 && { afterKey: keyOf(tiles.length - 1) }),
      });
      for (const { key, row } of page) {
        if (key !== keyOf(tiles.length)) return tiles;
        tiles.push(row as unknown as KeptTile);
      }
      if (page.length < BATCH) return tiles;
    }
  }

  /** Stores what was added since this process started. */
  async keep(audit: Pick<StoreAudit, 'tiles' | 'tilesFrom'>): Promise<void> {
    while (this.#kept < audit.tiles) {
      const tiles = audit.tilesFrom(this.#kept).slice(0, BATCH);
      const changes = tiles.map(
        ({ node, through }, offset) =>
          ({ op: 'put', table: TABLE, key: keyOf(this.#kept + offset), row: { node, through } }) as const,
      );
      await this.#readModel.apply(NAME, changes, must(tiles.at(-1)).through);
      this.#kept += tiles.length;
    }
  }
}

const keyOf = (tile: number): string => String(tile).padStart(KEY_DIGITS, '0');
