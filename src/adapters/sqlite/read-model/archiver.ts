import { randomBytes } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { must } from '../../../domain/values/must.ts';
import type { TimeOfRow } from '../../../ports/read-model/projection.ts';
import type { Row } from '../../../ports/read-model/read-model.ts';
import { inTransaction, query } from '../database.ts';
import { ArchiveWriter, isArchived, type ArchivedAt } from './archive-files.ts';

/** Rows examined, or copies removed, at a time, so that applies in between do not wait long. */
const ROWS_AT_A_TIME = 2_000;

interface StoredRow {
  readonly id: number;
  readonly key: string;
  readonly row: string;
}

/** Moves rows out of the read model's own file, and removes archived copies once their rows are written again. */
export class Archiver {
  readonly #db: DatabaseSync;
  readonly #files: ArchiveWriter;

  constructor(db: DatabaseSync, readModelFile: string) {
    this.#db = db;
    this.#files = new ArchiveWriter(db, readModelFile);
  }

  /**
   * Moves rows of a table whose time ended before a second, examining a few after a place. Returns the place to
   * continue from; null once the rest is too recent.
   */
  archive(table: string, timeOf: TimeOfRow, beforeSec: number, after: number): number | null {
    const rows = query<StoredRow>(
      this.#db,
      `SELECT id, key, row FROM ${table} WHERE id > ? ORDER BY id LIMIT ${ROWS_AT_A_TIME}`,
    ).all(after);
    const months = new Map<string, StoredRow[]>();
    let next = rows.at(-1)?.id ?? null;
    for (const stored of rows) {
      const row = JSON.parse(stored.row) as Row;
      if (isArchived(row)) continue;
      const { beganSec, endedSec } = timeOf(row);
      if (beganSec >= beforeSec) {
        next = null;
        break;
      }
      if (endedSec === null || endedSec >= beforeSec) continue;
      const month = new Date(endedSec * 1_000).toISOString().slice(0, 'YYYY-MM'.length);
      const own = months.get(month);
      if (own) own.push(stored);
      else months.set(month, [stored]);
    }
    for (const [month, own] of months) this.#move(table, month, own);
    return next;
  }

  /** Removes some of the copies without references; false if there are none. */
  sweep(): boolean {
    const returned = query<Omit<StoredRow, 'key'>>(
      this.#db,
      `SELECT id, row FROM returned ORDER BY id LIMIT ${ROWS_AT_A_TIME}`,
    ).all();
    if (returned.length === 0) return false;
    const through = must(returned.at(-1)).id;
    this.#files.remove(
      returned.map(({ row }) => JSON.parse(row) as ArchivedAt),
      through,
    );
    this.#db.prepare('DELETE FROM returned WHERE id <= ?').run(through);
    return true;
  }

  close(): void {
    this.#files.close();
  }

  #move(table: string, month: string, rows: readonly StoredRow[]): void {
    const { archive, ids } = this.#files.add(
      month,
      rows.map(({ row }) => row),
    );
    inTransaction(this.#db, () => {
      this.#noteReturns(table);
      // Merely shortening the row would not free its pages.
      const remove = this.#db.prepare(`DELETE FROM ${table} WHERE id = ?`);
      for (const { id } of rows) remove.run(id);
      const point = this.#db.prepare(`INSERT INTO ${table} (id, key, row) VALUES (?, ?, ?)`);
      rows.forEach(({ id, key }, index) => point.run(id, key, JSON.stringify([archive, ids[index]])));
      this.#files.keep(archive, must(ids.at(-1)));
    });
  }

  /** Dropping a table drops its triggers, so whatever removes its rows must record their copies too. */
  #noteReturns(table: string): void {
    if (this.#db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ?").get(table)) return;
    for (const change of ['UPDATE OF row', 'DELETE'])
      this.#db.exec(
        `CREATE TRIGGER returned_${randomBytes(8).toString('hex')} AFTER ${change} ON ${table} WHEN old.row < '{'
         BEGIN INSERT INTO returned (row) VALUES (old.row); END`,
      );
  }
}
