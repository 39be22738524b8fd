import { hash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { canonicalText } from '../../src/domain/events/canonical-text.ts';

export interface Row {
  position: number;
  stream_number: number;
  revision: number;
  stream: string;
  id: string;
  type: string;
  version: number;
  at_ms: number;
  data: string;
  metadata: string;
  hash: string;
  chain: string;
  seal: Uint8Array | null;
}

/**
 * Rewrites the log as somebody would who has the file, the sources and time: triggers put back, what was derived
 * removed.
 */
export function rewrite(directory: string, change: (rows: Row[]) => Row[]): void {
  const db = new DatabaseSync(join(directory, 'events.db'));
  db.exec('BEGIN');
  const triggers = db.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").all() as {
    name: string;
    sql: string;
  }[];
  for (const { name } of triggers) db.exec(`DROP TRIGGER ${name}`);
  const rows = change(db.prepare('SELECT * FROM events ORDER BY position').all() as unknown as Row[]);
  db.exec('DELETE FROM events');
  const insert = db.prepare('INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)');
  for (const row of rows) {
    const {
      position,
      stream_number: number,
      revision,
      stream,
      id,
      type,
      version,
      at_ms: atMs,
      data,
      metadata,
      hash: own,
      chain,
      seal,
    } = row;
    insert.run(position, number, revision, stream, id, type, version, atMs, data, metadata, own, chain, seal);
  }
  for (const { sql } of triggers) db.exec(sql);
  db.exec('COMMIT');
  db.close();
  for (const name of ['events.anchor.json', 'stream-names.db', 'stream-names.db-wal', 'stream-names.db-shm'])
    rmSync(join(directory, name), { force: true });
}

/** Numbers, hashes, `prev` and the chain made to fit again. */
export function recomputed(rows: readonly Row[]): Row[] {
  const heads = new Map<string, { number: number; revision: number; hash: string }>();
  let chain = '0'.repeat(64);
  return rows.map((row, index) => {
    const before = heads.get(row.stream);
    const position = index + 1;
    const metadata = row.metadata.replace(/"prev":"[0-9a-f]*"/, `"prev":"${before?.hash ?? ''}"`);
    const revision = (before?.revision ?? -1) + 1;
    const own = hash('sha256', canonicalText({ ...row, revision, atMs: row.at_ms, metadata }), 'hex');
    chain = hash('sha256', chain + own, 'hex');
    heads.set(row.stream, { number: before?.number ?? position, revision, hash: own });
    return { ...row, position, stream_number: before?.number ?? position, revision, metadata, hash: own, chain };
  });
}

export const exchanged = (rows: readonly Row[], one: number, other: number): Row[] =>
  rows.map((row, index) => (index === one ? rows[other]! : index === other ? rows[one]! : row));
