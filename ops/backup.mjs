#!/usr/bin/env node
/*
 * Online backup of the embedded profile: npx node ops/backup.mjs <DATA_DIR> <target> (Node 24, as npm ci installs it)
 * Copies each database with SQLite's own backup while the service runs, and checks every copy. The read model and the
 * lock are left out: the one is rebuilt from the ledger, the other belongs to the running process.
 */
import { copyFileSync, existsSync, mkdirSync, readdirSync, chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';

/** The ledger comes first: whatever its events need (salts, names of streams) is then in the later copies as well. */
const FIRST = 'events.db';
const LEFT_OUT = /^(read-model|lock)\.db/;
/** Sealed or needed beside the databases. Sockets, logs and what the sandbox prints are not. */
const FILES = ['master.key', 'demo-merchant.json'];
const PAGES_AT_A_TIME = 512;

const [dataDir, target] = process.argv.slice(2);
if (!dataDir || !target) fail('usage: node ops/backup.mjs <DATA_DIR> <target directory>');
if (!existsSync(join(dataDir, 'events.db'))) fail(`${dataDir} holds no ledger (events.db)`);
if (existsSync(target) && readdirSync(target).length > 0) fail(`${target} is not empty`);
mkdirSync(target, { recursive: true, mode: 0o700 });

// A service started on the copy leaves out the addresses that may have been given out since (docs/runbook.md, Backup and restore).
writeFileSync(join(target, 'backup.json'), `${JSON.stringify({ made_at: new Date().toISOString() })}\n`, { mode: 0o600 });

const databases = readdirSync(dataDir).filter((name) => name.endsWith('.db') && !LEFT_OUT.test(name));
for (const name of databases.toSorted((left, right) => Number(right === FIRST) - Number(left === FIRST))) await copyDatabase(name);
for (const name of FILES.filter((candidate) => existsSync(join(dataDir, candidate)))) {
  copyFileSync(join(dataDir, name), join(target, name));
  chmodSync(join(target, name), 0o600);
}

async function copyDatabase(name) {
  const source = new DatabaseSync(join(dataDir, name), { readOnly: true, timeout: 10_000 });
  try {
    await backup(source, join(target, name), { rate: PAGES_AT_A_TIME });
  } finally {
    source.close();
  }
  chmodSync(join(target, name), 0o600);
  const copy = new DatabaseSync(join(target, name));
  const [{ integrity_check: verdict }] = copy.prepare('PRAGMA integrity_check').all();
  copy.close();
  if (verdict !== 'ok') fail(`the copy of ${name} is damaged: ${verdict}`);
  console.log(`${name} copied and checked`);
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
