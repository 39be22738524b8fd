import { join } from 'node:path';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { NotificationId } from '../../domain/values/ids.ts';
import type { DeliveryAnswer, DeliveryAnswers } from '../../ports/webhooks/delivery-answers.ts';
import { createDataDir, openDatabase, query, type Query } from './database.ts';

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS answers (
    notification_id TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (notification_id, attempt)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS answers_by_time ON answers (at_ms);
`;

/** How long answers are kept. */
const LIFETIME_MS = 30 * 86_400_000;
const FLUSH_AFTER_MS = 200;
const FLUSH_AT = 512;
const EXPIRE_EVERY_MS = 60_000;
/** Rows deleted at a time, so that the thread is never blocked for long. */
const EXPIRE_AT_ONCE = 2_000;
const CHECKPOINT_PAGES = 1_000;

export interface DeliveryAnswersOptions {
  readonly dataDir: string;
  readonly nowMs: () => number;
}

/**
 * Receivers' answers in `delivery-answers.db`. Not part of the event log: a lost file costs merchants only a
 * convenience.
 */
export class SqliteDeliveryAnswers implements DeliveryAnswers {
  readonly #database: DatabaseSync;
  readonly #insert: StatementSync;
  readonly #select: Query<{ attempt: number; body: Uint8Array }>;
  readonly #expire: StatementSync;
  readonly #options: DeliveryAnswersOptions;
  #pending: DeliveryAnswer[] = [];
  #timer: NodeJS.Timeout | null = null;
  #expiredAtMs = 0;

  constructor(options: DeliveryAnswersOptions) {
    createDataDir(options.dataDir);
    this.#options = options;
    this.#database = openDatabase(join(options.dataDir, 'delivery-answers.db'), { synchronous: 'NORMAL' });
    this.#database.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    this.#database.exec(SCHEMA);
    this.#insert = this.#database.prepare(
      'INSERT OR REPLACE INTO answers (notification_id, attempt, at_ms, body) VALUES (?, ?, ?, ?)',
    );
    this.#select = query(
      this.#database,
      'SELECT attempt, body FROM answers WHERE notification_id = ? AND at_ms >= ? ORDER BY attempt',
    );
    this.#expire = this.#database.prepare(
      'DELETE FROM answers WHERE (notification_id, attempt) IN (SELECT notification_id, attempt FROM answers WHERE at_ms < ? ORDER BY at_ms LIMIT ?)',
    );
  }

  keep(answer: DeliveryAnswer): void {
    this.#pending.push(answer);
    if (this.#pending.length >= FLUSH_AT) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), FLUSH_AFTER_MS);
  }

  async of(notificationId: NotificationId): Promise<ReadonlyMap<number, Uint8Array>> {
    this.#flush();
    const rows = this.#select.all(notificationId, this.#horizonMs());
    return new Map(rows.map(({ attempt, body }) => [attempt, body]));
  }

  async close(): Promise<void> {
    this.#flush();
    this.#database.close();
  }

  #horizonMs(): number {
    return this.#options.nowMs() - LIFETIME_MS;
  }

  #flush(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    const pending = this.#pending;
    this.#pending = [];
    try {
      this.#write(pending);
    } catch {
      // An optional convenience must make neither a delivery nor the service fail; what could not be written is lost.
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
    }
  }

  #write(answers: readonly DeliveryAnswer[]): void {
    if (answers.length > 0) {
      this.#database.exec('BEGIN IMMEDIATE');
      for (const { notificationId, attempt, atMs, body } of answers)
        this.#insert.run(notificationId, attempt, atMs, body);
      this.#database.exec('COMMIT');
    }
    const nowMs = this.#options.nowMs();
    if (nowMs - this.#expiredAtMs < EXPIRE_EVERY_MS) return;
    this.#expiredAtMs = nowMs;
    this.#expire.run(this.#horizonMs(), EXPIRE_AT_ONCE);
  }
}
