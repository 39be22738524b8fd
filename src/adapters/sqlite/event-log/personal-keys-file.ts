import { join } from 'node:path';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { openDatabase, pragma, query, type Query } from '../database.ts';

/*
 * Salts are only appended to the end of their table and never move between pages, so overwriting the cell leaves no
 * copy behind. The random subjects, which do move, are in a table without secrets.
 */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS salts (number INTEGER PRIMARY KEY AUTOINCREMENT, salt BLOB NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS subjects (subject TEXT PRIMARY KEY, number INTEGER NOT NULL) STRICT, WITHOUT ROWID;
`;

export const PERSONAL_KEYS_FILE = 'personal-keys.db';

export interface SubjectSalt {
  readonly subject: string;
  readonly salt: Uint8Array;
}

/** Numbers increase with each new salt and are never reused. */
export interface NumberedSalt extends SubjectSalt {
  readonly number: number;
}

/** `personal-keys.db`: separate from the log, so that salts can be erased and backed up on their own. */
export class PersonalKeysFile {
  readonly #database: DatabaseSync;
  readonly #insertSalt: StatementSync;
  readonly #insertSubject: StatementSync;
  readonly #moveSubject: StatementSync;
  readonly #select: Query<Omit<NumberedSalt, 'subject'>>;

  constructor(dataDir: string) {
    this.#database = openDatabase(join(dataDir, PERSONAL_KEYS_FILE), { synchronous: 'FULL' });
    this.#database.exec('PRAGMA secure_delete = ON');
    this.#database.exec(SCHEMA);
    this.#insertSalt = this.#database.prepare('INSERT INTO salts (number, salt) VALUES (?, ?)');
    this.#insertSubject = this.#database.prepare(
      'INSERT INTO subjects (subject, number) VALUES (?, ?) ON CONFLICT (subject) DO NOTHING',
    );
    this.#moveSubject = this.#database.prepare('UPDATE subjects SET number = ? WHERE subject = ?');
    this.#select = query(
      this.#database,
      'SELECT number, salt FROM subjects JOIN salts USING (number) WHERE subject = ?',
    );
  }

  /**
   * Durable when it returns. A newer salt of a subject wins: an older one belongs to an append that was never
   * committed. Copies keep their numbers.
   */
  put(salts: readonly (SubjectSalt & Partial<NumberedSalt>)[]): void {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      for (const { subject, salt, number: given = null } of salts) {
        const number = this.#insertSalt.run(given, salt).lastInsertRowid;
        if (this.#insertSubject.run(subject, number).changes === 1) continue;
        this.#overwrite(subject);
        this.#moveSubject.run(number, subject);
      }
      this.#database.exec('COMMIT');
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
  }

  get(subject: string): Uint8Array | null {
    return this.#select.get(subject)?.salt ?? null;
  }

  /** Every salt that was not erased, oldest first. */
  all(): Iterable<SubjectSalt> {
    const sql = 'SELECT subject, salt FROM salts JOIN subjects USING (number) ORDER BY number';
    return query<SubjectSalt>(this.#database, sql).iterate();
  }

  /** Salts made after this number, oldest first. */
  after(number: number, limit: number): readonly NumberedSalt[] {
    const sql =
      'SELECT number, subject, salt FROM salts JOIN subjects USING (number) WHERE number > ? ORDER BY number LIMIT ?';
    return query<NumberedSalt>(this.#database, sql).all(number, limit);
  }

  count(): number {
    return query<{ salts: number }>(this.#database, 'SELECT count(*) AS salts FROM subjects').get()?.salts ?? 0;
  }

  /** Overwrites the salt in place and removes it. Old pages may remain in the WAL until `truncateWal` succeeds. */
  remove(subject: string): void {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      this.#overwrite(subject);
      this.#database.prepare('DELETE FROM subjects WHERE subject = ?').run(subject);
      this.#database.exec('COMMIT');
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
  }

  /** False while another connection is in the way. */
  truncateWal(): boolean {
    return pragma(this.#database, 'wal_checkpoint(TRUNCATE)') === 0;
  }

  close(): void {
    this.#database.close();
  }

  #overwrite(subject: string): void {
    const row = this.#select.get(subject);
    if (!row) return;
    this.#database.prepare('UPDATE salts SET salt = zeroblob(length(salt)) WHERE number = ?').run(row.number);
    this.#database.prepare('DELETE FROM salts WHERE number = ?').run(row.number);
  }
}
