import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { openSqliteEventStore } from '../../../src/adapters/sqlite/event-log/event-store.ts';
import { runBackupCommand } from '../../../src/backup/commands.ts';
import { lostPayments } from '../../../src/backup/lost-payments.ts';
import { describeData } from '../../../src/backup/make.ts';
import { readConfig } from '../../../src/config.ts';
import type { AdminArguments } from '../../../src/operator/server/commands.ts';
import { createSealer, parseMasterKeys } from '../../../src/runtime/cryptography/sealing.ts';
import { authenticationKeys } from '../../../src/settings/sealing-keys.ts';
import { AuditKey } from '../../../src/signer/audit/key.ts';
import { AuditSigner, keptAnchors } from '../../../src/signer/audit/signer.ts';
import { Journal, type JournalEntry } from '../../../src/signer/journal/journal.ts';
import { isStopped } from '../../../src/signer/policies/limits.ts';
import { appendOf, FIRST, sampleEvent } from '../../contract/event-store-samples.ts';
import { growAuditedLog, signNow, type AuditedLog } from '../../support/audited-log.ts';
import { recomputed, rewrite } from '../../support/rewritten-log.ts';
import { MASTER_KEY_TEXT, SEAL_KEYS } from '../../support/test-keys.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const folder = temporaryFolder('backup');
const dataDir = join(folder, 'data');
const backup = join(folder, 'backup');
let log: AuditedLog;
let copies = 0;

const run = async (
  command: string,
  args: AdminArguments,
  dir = dataDir,
  more: Readonly<Record<string, string | undefined>> = {},
): Promise<Record<string, unknown>> =>
  (await runBackupCommand(
    readConfig({ DATA_DIR: dir, MASTER_KEY: MASTER_KEY_TEXT, ...more }),
    command,
    args,
  )) as Record<string, unknown>;
const filesIn = (directory: string): string[] => readdirSync(directory).toSorted();

const NO_KEY = { MASTER_KEY: undefined };

/** A data directory elsewhere, with what the signer of the first one remembers. */
function elsewhere(): string {
  copies += 1;
  const place = join(folder, `place-${copies}`, 'data');
  mkdirSync(place, { recursive: true });
  cpSync(`${dataDir}-signer`, `${place}-signer`, { recursive: true });
  return place;
}

function changed(file: string, change: (bytes: Buffer) => Buffer): string {
  copies += 1;
  const copy = join(folder, `changed-${copies}`);
  cpSync(backup, copy, { recursive: true });
  writeFileSync(join(copy, file), change(readFileSync(join(copy, file))));
  return copy;
}

function signedBy(journal: Journal, id: string, txHash: string, atMs: number): JournalEntry {
  const money = { coin: 'USDT', units: `25${'0'.repeat(17)}`, fromAddress: 'T1', toAddress: 'T2' } as const;
  const draft = { kind: 'tron-native', sun: '1' } as never;
  const fact = {
    kind: 'signed',
    purpose: 'refund',
    network: 'tron',
    id,
    attempt: 1,
    ...money,
    draft,
    takenFrom: [],
    txHash,
    signedBytes: '0x',
  };
  return journal.append(fact as never, atMs);
}

beforeAll(async () => {
  log = await growAuditedLog(dataDir, 2);
  await run('backup.make', { to: backup });
  await signMore();
});

/** Checkpoints that the backup does not have. */
async function signMore(): Promise<void> {
  const store = await openSqliteEventStore({ dataDir, sealKeys: SEAL_KEYS });
  await store.append(appendOf('elsewhere-1', FIRST, 1));
  await signNow(store, dataDir, AuditSigner.open(`${dataDir}-signer`, new AuditKey(Buffer.alloc(64, 7))));
  await store.close();
}

describe('a backup', () => {
  it('contains the event log, the record of its end and what the signer remembers, readable by its owner only, and its date', () => {
    expect(filesIn(backup)).toEqual(
      expect.arrayContaining(['backup.json', 'events.anchor.json', 'events.db', 'signer']),
    );
    expect(filesIn(join(backup, 'signer'))).toEqual([expect.stringMatching(/^audit-[0-9a-f]+\.json$/)]);
    for (const name of filesIn(backup)) expect(statSync(join(backup, name)).mode & 0o077).toBe(0);
    expect(JSON.parse(readFileSync(join(dataDir, 'last-backup.json'), 'utf8'))).toMatchObject({ events: log.events });
    // The signer tells the service of its own, whose directory it may not read.
    const signer = AuditSigner.open(`${dataDir}-signer`, new AuditKey(Buffer.alloc(64, 7)));
    const { made_at: madeAt } = JSON.parse(readFileSync(join(backup, 'backup.json'), 'utf8')) as { made_at: string };
    expect(signer.identity().backedUpAtMs).toBe(Date.parse(madeAt));
  });

  it('is read through and gives the root hash of the checkpoint of its size', async () => {
    const sound = { ok: true, events: log.events, faults: [] };
    expect(await run('backup.verify', { folder: backup })).toMatchObject({ ...sound, secrets: 'open' });
    expect(await run('backup.verify', { folder: backup }, dataDir, NO_KEY)).toMatchObject({
      ...sound,
      secrets: 'not tried: no key is set',
    });
    expect(filesIn(backup)).not.toContain('events.db-wal');
  });

  it.each([
    ['events.db', 'a byte of the event log', (bytes: Buffer) => bytes.fill(bytes[9_000]! ^ 1, 9_000, 9_001)],
    ['events.db', 'the end of the event log', (bytes: Buffer) => bytes.subarray(0, bytes.length / 2)],
    ['events.anchor.json', 'the note of the end', () => Buffer.from('{}')],
  ])('%s: is not restored when %s differs, and nothing is changed', async (file, _, change) => {
    const damaged = changed(file, change);
    expect(await run('backup.verify', { folder: damaged })).toMatchObject({
      ok: false,
      faults: [expect.stringContaining(`${file} differs from the backup`)],
    });
    const place = elsewhere();
    await expect(run('backup.restore', { from: damaged }, place)).rejects.toThrow('nothing was restored');
    expect(filesIn(place)).toEqual([]);
  });

  it('is refused when its newest events were rewritten, with digests and hashes that fit', async () => {
    const crafted = changed('backup.json', (bytes) => bytes);
    rewrite(crafted, (rows) =>
      recomputed(rows.map((row, at) => (at === rows.length - 1 ? { ...row, at_ms: 1 } : row))),
    );
    const manifest = JSON.parse(readFileSync(join(crafted, 'backup.json'), 'utf8')) as object;
    rmSync(join(crafted, 'backup.json'));
    const data = await describeData(crafted);
    writeFileSync(join(crafted, 'backup.json'), JSON.stringify({ ...manifest, data }));
    const faults = [
      expect.stringMatching(/damaged at position \d+: up to its end, event \d+, it is not what this service wrote/),
    ];
    expect(await run('backup.verify', { folder: crafted })).toMatchObject({ ok: false, faults });
    await expect(run('backup.restore', { from: crafted }, elsewhere())).rejects.toThrow('nothing was restored');
  });

  it('is restored with the keys that sealed its event log only', async () => {
    const place = elsewhere();
    await expect(run('backup.restore', { from: backup }, place, NO_KEY)).rejects.toThrow('MASTER_KEY is missing');
    const another = { MASTER_KEY: 'fedcba9876543210'.repeat(4) };
    await expect(run('backup.restore', { from: backup }, place, another)).rejects.toThrow(
      /sealed under the key [0-9a-f]{8}, which MASTER_KEY does not hold: add that key/,
    );
    expect(filesIn(place)).toEqual([]);
  });

  it('names no file outside its folder', async () => {
    const crafted = changed('backup.json', (bytes) =>
      Buffer.from(bytes.toString().replace('"events.db"', '"../../events.db"')),
    );
    await expect(run('backup.restore', { from: crafted }, elsewhere())).rejects.toThrow('is not what a backup holds');
  });

  it.each([
    ['backup.make', { to: backup }, dataDir, 'is not empty'],
    ['backup.make', { to: join(folder, 'none') }, folder, 'holds no event log'],
    ['backup.make', { to: join(folder, 'none'), only: 'wallet' }, dataDir, 'only must be data or signer'],
    ['backup.make', {}, dataDir, 'to is missing'],
    ['backup.verify', { folder: dataDir }, dataDir, 'is not a backup'],
    ['backup.restore', { from: backup }, dataDir, '--move-aside'],
  ])('%s %j is refused with a sentence', async (command, args, dir, sentence) => {
    await expect(run(command, args, dir)).rejects.toThrow(sentence);
  });

  it('never replaces an event log that is in use', async () => {
    const place = elsewhere();
    const store = await openSqliteEventStore({ dataDir: place, sealKeys: SEAL_KEYS });
    await expect(run('backup.restore', { from: backup, moveAside: true }, place)).rejects.toThrow('in use by process');
    await store.close();
  });
});

describe('the keys that a backup needs', () => {
  const [older, newer] = ['1f'.repeat(15) + '2e3d', '2c'.repeat(15) + '4b5a'].map((text) => text.padEnd(64, '0'));
  const sealed = createSealer(parseMasterKeys(older!)).seal('webhook-secrets', Buffer.from('secret'), 'somewhere');
  const keyId = sealed.split('.')[1];

  it.each([
    ['the newer key alone', newer!, [keyId]],
    ['both', `${newer!},${older!}`, []],
  ])('are told apart: %s', async (_, MASTER_KEY, keysMissing) => {
    const place = elsewhere();
    cpSync(dataDir, place, { recursive: true });
    const sealKeys = authenticationKeys(parseMasterKeys(`${MASTER_KEY},${MASTER_KEY_TEXT}`));
    const store = await openSqliteEventStore({ dataDir: place, sealKeys });
    await store.append({ stream: 'sealed-1', expected: 'no-stream', events: [sampleEvent('sealed-1', FIRST, sealed)] });
    await store.close();
    const made = join(folder, `sealed-${copies}`);
    await run('backup.make', { to: made }, place);
    const verified = await run('backup.verify', { folder: made }, place, { MASTER_KEY });
    expect(verified).toMatchObject({ ok: true, secrets: 'open', keys_missing: keysMissing });
    expect(await run('backup.verify', { folder: made }, place, NO_KEY)).toMatchObject({ keys_missing: null });
  });
});

describe('a restored event log', () => {
  it('continues where the backup ended: later signatures are kept as evidence, and an event says what is lost', async () => {
    const place = elsewhere();
    const restored = await run('backup.restore', { from: backup, operator: 'olga' }, place);
    expect(restored).toMatchObject({
      data_dir: place,
      moved_aside: null,
      kept_checkpoints: [expect.stringContaining('.before-restore-')],
    });
    expect(Number(restored.lost_events)).toBeGreaterThan(0);
    expect(keptAnchors(`${place}-signer`).every(({ size }) => size <= log.events)).toBe(true);
    expect(keptAnchors(`${dataDir}-signer`).some(({ size }) => size > log.events)).toBe(true);
    const store = await openSqliteEventStore({ dataDir: place, sealKeys: SEAL_KEYS });
    const [event] = await store.readStream('operator-acts');
    await store.close();
    expect(event).toMatchObject({ type: 'EventLogRestored', position: String(log.events + 1) });
    expect(JSON.parse(event!.data)).toMatchObject({
      events: log.events,
      signedEvents: log.events + Number(restored.lost_events),
      actor: 'olga',
    });
  });

  it('learns which payments the signer signed without its knowledge, so that nobody pays them again', async () => {
    const place = elsewhere();
    const journal = Journal.open(join(`${place}-signer`, 'payouts-live-0a.jsonl'));
    const first = signedBy(journal, 're_known-1', '0x01', 1);
    journal.append({ kind: 'stopped', by: 'ada' }, 2);
    signedBy(journal, 're_lost-1', '0x02', 3);
    journal.close();
    const restored = await run('backup.restore', { from: backup, operator: 'olga' }, place);
    const payment = {
      mode: 'live',
      network: 'tron',
      kind: 'refund',
      attempt: 1,
      coin: 'USDT',
      amount: '2.50',
      to_address: 'T2',
    };
    const lost = { ...payment, id: 're_lost-1', tx_hash: '0x02', signed_at: expect.any(String) as string };
    expect(restored.unknown_payments).toEqual([expect.objectContaining({ id: 're_known-1' }), lost]);
    expect((restored.next as string[])[0]).toContain('signed 2 payments that this event log does not know');
    expect(lostPayments(`${place}-signer`, new Set([first.hash]))).toEqual([lost]);
  });

  it('pays nothing with a journal from the backup until approvers resume it, and does not claim that nothing was lost', async () => {
    const place = elsewhere();
    const [journalDir, made] = [`${place}-signer`, join(folder, `with-journal-${copies}`)];
    const name = 'payouts-live-0a.jsonl';
    const journal = Journal.open(join(journalDir, name));
    signedBy(journal, 're_known-1', '0x01', 1);
    journal.close();
    cpSync(dataDir, place, { recursive: true });
    await run('backup.make', { to: made }, place);
    const later = Journal.open(join(journalDir, name));
    signedBy(later, 're_late-1', '0x02', 2);
    later.close();
    rmSync(place, { recursive: true });
    rmSync(journalDir, { recursive: true });
    const restored = await run('backup.restore', { from: made, operator: 'olga' }, place);
    const own = Journal.open(join(journalDir, name));
    expect(own.entries.map(({ kind }) => kind)).toEqual(['signed', 'stopped']);
    expect(own.entries.at(-1)).toMatchObject({ by: 'olga' });
    expect(isStopped(own)).toBe(true);
    own.close();
    expect(filesIn(journalDir).filter((file) => file.includes('restoring'))).toEqual([]);
    // What the journal of the backup has and its event log lacks is listed all the same.
    expect(restored.unknown_payments).toEqual([expect.objectContaining({ id: 're_known-1' })]);
    expect((restored.next as string[]).some((step) => step.includes(`payouts are stopped (${name})`))).toBe(true);
  });

  it('returns null, not an empty list, for later payments if no journal is left that could tell', async () => {
    const place = elsewhere();
    expect(await run('backup.restore', { from: backup, operator: 'olga' }, place)).toMatchObject({
      unknown_payments: null,
    });
    const [other, made] = [elsewhere(), join(folder, `stopped-${copies}`)];
    const journal = Journal.open(join(`${other}-signer`, 'payouts-live-0a.jsonl'));
    journal.append({ kind: 'stopped', by: 'ada' }, 1);
    journal.close();
    cpSync(dataDir, other, { recursive: true });
    await run('backup.make', { to: made }, other);
    rmSync(`${other}-signer`, { recursive: true });
    const restored = await run('backup.restore', { from: made, operator: 'olga', moveAside: true }, other);
    expect(restored).toMatchObject({ unknown_payments: null });
    rmSync(other, { recursive: true });
    // It came from the same backup, and still cannot; once a signer used it, it is newer than any copy.
    expect(await run('backup.restore', { from: made, only: 'signer' }, other)).toMatchObject({
      unknown_payments: null,
    });
    const used = Journal.open(join(`${other}-signer`, 'payouts-live-0a.jsonl'));
    used.append({ kind: 'stopped', by: 'ada' }, 2);
    used.close();
    expect(await run('backup.restore', { from: made, operator: 'olga' }, other)).toMatchObject({
      unknown_payments: [],
    });
  });

  it('is not made where a journal of the backup is broken, and nothing is changed', async () => {
    const [place, made] = [elsewhere(), join(folder, `broken-${copies}`)];
    const journal = Journal.open(join(`${place}-signer`, 'payouts-live-0a.jsonl'));
    signedBy(journal, 're_one-1', '0x01', 1);
    signedBy(journal, 're_two-1', '0x02', 2);
    journal.close();
    const path = join(`${place}-signer`, 'payouts-live-0a.jsonl');
    writeFileSync(path, readFileSync(path, 'utf8').split('\n').slice(1).join('\n'));
    cpSync(dataDir, place, { recursive: true });
    await run('backup.make', { to: made }, place);
    expect(await run('backup.verify', { folder: made })).toMatchObject({
      ok: false,
      faults: [expect.stringMatching(/payouts-live-0a\.jsonl: entry 2 of the journal does not follow/)],
    });
    const empty = elsewhere();
    rmSync(`${empty}-signer`, { recursive: true });
    await expect(run('backup.restore', { from: made, operator: 'olga' }, empty)).rejects.toThrow(
      'nothing was restored',
    );
    expect([existsSync(`${empty}-signer`), filesIn(empty)]).toEqual([false, []]);
    // A broken one of the signer's own ends it before anything of the backup is placed.
    rmSync(place, { recursive: true });
    const unlocked = (directory: string): string[] => filesIn(directory).filter((file) => !file.startsWith('lock.'));
    const before = filesIn(`${place}-signer`);
    await expect(run('backup.restore', { from: backup, operator: 'olga' }, place)).rejects.toThrow(
      /entry 2 of the journal does not follow/,
    );
    expect([unlocked(`${place}-signer`), unlocked(place)]).toEqual([before, []]);
  });

  it('of a service whose signer is another user says that the signer has to do its part', async () => {
    const signer = { SIGNER_SOCKET: '/run/signer.sock', SIGNER_SECRET_FILE: '/run/secret' };
    const made = await run('backup.make', { to: join(folder, 'apart') }, dataDir, signer);
    expect(made['without_signer']).toMatch(/run "quittance backup --only signer" as that user/);
    const { next } = await run('backup.restore', { from: backup }, elsewhere(), signer);
    expect((next as string[])[0]).toMatch(/run "quittance restore --only signer" as that user/);
    const own = await run('backup.restore', { from: backup, only: 'signer' }, elsewhere());
    expect((own['next'] as string[]).join()).not.toContain('--only signer');
  });

  it('restores no file for the signer that a signer does not write', async () => {
    const crafted = changed('backup.json', (bytes) =>
      Buffer.from(bytes.toString().replace(/"audit-[0-9a-f]+\.json"/, '"payouts-live-0a.jsonl.head"')),
    );
    await expect(run('backup.restore', { from: crafted }, elsewhere())).rejects.toThrow('is not what a backup holds');
  });

  it('replaces another event log, whose files are kept beside it', async () => {
    const place = elsewhere();
    const store = await openSqliteEventStore({ dataDir: place, sealKeys: SEAL_KEYS });
    await store.close();
    const { moved_aside: aside } = await run('backup.restore', { from: backup, moveAside: true }, place);
    expect(filesIn(aside as string)).toContain('events.db');
    expect(existsSync(join(place, 'backup.json'))).toBe(true);
  });

  it('gets from the backup what the signer lost, and leaves what the signer has', async () => {
    const place = elsewhere();
    rmSync(`${place}-signer`, { recursive: true });
    await run('backup.restore', { from: backup, only: 'signer' }, place);
    expect(keptAnchors(`${place}-signer`).at(-1)!.size).toBeLessThanOrEqual(log.events);
    expect(filesIn(place)).toEqual([]);
  });

  it("from the signer's own backup stops, and proves nothing about what was signed after it, however often it is asked", async () => {
    const place = elsewhere();
    const [journalDir, own, name] = [`${place}-signer`, join(folder, `own-${copies}`), 'payouts-live-0a.jsonl'];
    const journal = Journal.open(join(journalDir, name));
    journal.append({ kind: 'released', id: 're_1', reason: 'tried' }, 1);
    journal.close();
    await run('backup.make', { to: own, only: 'signer' }, place);
    expect(await run('backup.verify', { folder: own }, place)).toMatchObject({ ok: true, events: null, faults: [] });
    const late = Journal.open(join(journalDir, name));
    signedBy(late, 're_late-1', '0x02', 2);
    late.close();
    rmSync(journalDir, { recursive: true });
    const { next } = await run('backup.restore', { from: own, only: 'signer', operator: 'olga' }, place);
    expect((next as string[]).join()).toContain(`payouts are stopped (${name})`);
    // Then compared with a backup of the event log.
    expect(await run('backup.restore', { from: backup, only: 'signer', operator: 'olga' }, place)).toMatchObject({
      unknown_payments: null,
    });
    const restored = Journal.open(join(journalDir, name));
    expect([restored.entries.map(({ kind }) => kind), isStopped(restored)]).toEqual([['released', 'stopped'], true]);
    restored.close();
  });
});
