import { join } from 'node:path';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { openDatabase, query } from '../database.ts';

/** Numbered, so that every insert goes to the end. The random digests need no index here; memory has one. */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS nonces (number INTEGER PRIMARY KEY, digest BLOB NOT NULL, expires_at_sec INTEGER NOT NULL) STRICT;
`;

/** Maximum number of rows removed per write: more than are added, so that the file stays as small as the window. */
const SWEEP_LIMIT = 1_024;
const SWEEP_AFTER_ROWS = 512;

export interface UsedNonce {
  /** 16 bytes. */
  readonly digest: Uint8Array;
  readonly expiresAtSec: number;
}

export const NONCES_FILE = 'nonces.db';

/**
 * `nonces.db` survives the process, but not a power cut (after which the timestamps of all but the latest nonces have
 * expired).
 */
export class NoncesFile {
  readonly #database: DatabaseSync;
  readonly #insert: StatementSync;
  readonly #sweep: StatementSync;
  #rowsSinceSweep = 0;

  constructor(dataDir: string, nowSec: number) {
    this.#database = openDatabase(join(dataDir, NONCES_FILE), { synchronous: 'NORMAL' });
    this.#database.exec(SCHEMA);
    this.#database.prepare('DELETE FROM nonces WHERE expires_at_sec < ?').run(nowSec);
    this.#insert = this.#database.prepare('INSERT INTO nonces (digest, expires_at_sec) VALUES (?, ?)');
    this.#sweep = this.#database.prepare(
      'DELETE FROM nonces WHERE number IN (SELECT number FROM nonces ORDER BY number LIMIT ?) AND expires_at_sec < ?',
    );
  }

  write(nonces: readonly UsedNonce[], nowSec: number): void {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      for (const { digest, expiresAtSec } of nonces) this.#insert.run(digest, expiresAtSec);
      this.#rowsSinceSweep += nonces.length;
      if (this.#rowsSinceSweep >= SWEEP_AFTER_ROWS) {
        this.#rowsSinceSweep = 0;
        this.#sweep.run(Math.max(SWEEP_LIMIT, 2 * nonces.length), nowSec);
      }
      this.#database.exec('COMMIT');
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
  }

  all(): Iterable<UsedNonce> {
    return query<UsedNonce>(this.#database, 'SELECT digest, expires_at_sec AS expiresAtSec FROM nonces').iterate();
  }

  close(): void {
    this.#database.close();
  }
}
