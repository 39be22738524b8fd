import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { LogAudit } from '../../src/adapters/sqlite/event-log/log-audit.ts';
import { openSqliteEventStore, type SqliteEventStore } from '../../src/adapters/sqlite/event-log/event-store.ts';
import type { KeyList } from '../../src/runtime/cryptography/sealing.ts';
import { parseMasterKeys } from '../../src/runtime/cryptography/sealing.ts';
import { authenticationKeys } from '../../src/settings/sealing-keys.ts';
import { acceptEventLog } from '../../src/composition/commands/accept-event-log.ts';
import { runOffline } from '../../src/composition/commands/offline.ts';
import { readConfig } from '../../src/config.ts';
import { createLogger } from '../../src/observability/logger.ts';
import { signNow } from '../support/audited-log.ts';
import { openForReading } from '../support/opened-for-reading.ts';
import { appendHistory, type HistoryEntry } from '../support/random-history.ts';
import { exchanged, recomputed, rewrite, type Row } from '../support/rewritten-log.ts';
import { auditSignerOf, startServiceInProcess } from '../support/service-in-process.ts';
import { createdFacts, depositFacts } from '../support/session-facts.ts';
import { MASTER_KEY_TEXT, SEAL_KEYS } from '../support/test-keys.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/*
 * Whoever writes the files after a kill: with the sources, time and SQLite, but without the keys. All hashes fit after
 * each change, nothing derived is left, and only what came after the newest checkpoint is touched.
 */

const folder = temporaryFolder('rewritten-tail');
const OTHER_KEYS = authenticationKeys(parseMasterKeys('fedcba9876543210'.repeat(4)));
const SIGNED_SESSIONS = 3;
const NEWEST_SESSIONS = 6;
/** Position of the last event before the newest minute: the checkpoint. */
let signed: number;
let copies = 0;

const historyFrom = (first: number, count: number): HistoryEntry[] =>
  Array.from({ length: count }, (_, index) => first + index).flatMap((session) => [
    {
      session,
      event: {
        type: 'SessionCreated',
        data: createdFacts({ ...idsOf(session), dueAmount: '1000.00', amount: '1000.00' }),
      },
      atMs: 1_800_000_000_000 + session,
    },
    {
      session,
      event: {
        type: 'DepositDetected',
        data: {
          ...depositFacts({ amount: '1.00', txHash: `0x${session}`, toAddress: addressOf(session) }),
          kind: 'on_time',
        },
      },
      atMs: 1_800_000_060_000 + session,
    },
  ]);
const idOf = (session: number) => `cs_${String.fromCharCode(97 + session).repeat(32)}` as never;
const idsOf = (session: number) => ({ sessionId: idOf(session), orderId: `order-${session}` });
const addressOf = (session: number) => createdFacts(idsOf(session)).paymentOptions[0]!.address;

/** A data directory `data` beside `signer`, as a kill leaves it. */
async function killed(name: string, sealKeys: KeyList | undefined): Promise<string> {
  const dataDir = join(folder, name, 'data');
  mkdirSync(dataDir, { recursive: true });
  const store = await openSqliteEventStore({ dataDir, ...(sealKeys && { sealKeys }) });
  await appendHistory(store, historyFrom(0, SIGNED_SESSIONS));
  await signNow(store, dataDir, auditSignerOf(dataDir));
  signed = Number(await store.head());
  await appendHistory(store, historyFrom(SIGNED_SESSIONS, NEWEST_SESSIONS));
  await appendedTogether(store);
  cpSync(join(folder, name), join(folder, `${name}-killed`), { recursive: true });
  await store.close();
  rmSync(join(folder, `${name}-killed`, 'data/events.db-shm'), { force: true });
  return join(folder, `${name}-killed`);
}

/** Several events under one seal. */
async function appendedTogether(store: SqliteEventStore): Promise<void> {
  const entries = historyFrom(SIGNED_SESSIONS + NEWEST_SESSIONS, 3).filter(
    ({ event }) => event.type === 'SessionCreated',
  );
  await Promise.all(entries.map((entry) => appendHistory(store, [entry])));
}

let ours: string;
let foreign: string;
let unsealed: string;
beforeAll(async () => {
  ours = await killed('ours', SEAL_KEYS);
  foreign = await killed('foreign', OTHER_KEYS);
  unsealed = await killed('unsealed', undefined);
}, 60_000);

const configOf = (dataDir: string, settings: object) =>
  readConfig({ DATA_DIR: dataDir, SIGNER_JOURNAL_DIR: join(dataDir, '../signer'), ...settings });

function copyOf(place: string): string {
  copies += 1;
  const copy = join(folder, `copy-${copies}`);
  cpSync(place, copy, { recursive: true });
  return join(copy, 'data');
}

function changed(change: (rows: Row[]) => Row[]): string {
  const dataDir = copyOf(ours);
  rewrite(dataDir, (rows) => recomputed(change(rows)));
  return dataDir;
}

async function damageOf(dataDir: string): Promise<string | null> {
  const opened = await openForReading(dataDir);
  await opened.close();
  return opened.damage;
}

const isNewestDeposit = ({ type, position }: Row): boolean => type === 'DepositDetected' && position > signed;
const enlarged = (rows: Row[]): Row[] => {
  const index = rows.findIndex(isNewestDeposit);
  return rows.map((row, at) =>
    at === index ? { ...row, data: row.data.replace('"amount":"1.00"', '"amount":"1000.00"') } : row,
  );
};
const rowsOf = (dataDir: string): Row[] => {
  let found: Row[] = [];
  rewrite(dataDir, (rows) => (found = rows));
  return found;
};
/** A deposit of somebody who never paid. */
const invented = (rows: Row[]): Row[] => {
  const row = rows.findLast(isNewestDeposit)!;
  const data = row.data.replaceAll(/0x\d+(?=[":])/g, '0x77').replace('"amount":"1.00"', '"amount":"999.00"');
  return [...rows, { ...row, id: `${row.id.slice(0, -4)}ffff`, data }];
};
const newest = (rows: readonly Row[]): Row => rows.at(-1)!;
const withSealOf = (rows: readonly Row[], from: readonly Row[]): Row[] =>
  rows.map((row, index) => ({ ...row, seal: from[index]?.seal ?? newest(from).seal }));

const CHANGES: readonly (readonly [what: string, change: (rows: Row[]) => Row[], where: RegExp])[] = [
  [
    'a deposit of 1 that becomes one of 1,000',
    enlarged,
    /damaged at position \d+: up to its end, event \d+, it is not what this service wrote/,
  ],
  ['an invented deposit', invented, /damaged at position \d+: up to its end, event \d+, it is not what/],
  [
    'an invented deposit under the newest seal',
    (rows) => invented(rows).map((row) => ({ ...row, seal: row.seal ?? newest(rows).seal })),
    /damaged at position \d+/,
  ],
  ['an order that never was', (rows) => rows.filter(({ position }) => position !== signed + 1), /damaged at position/],
  [
    'a deposit deleted from the middle',
    (rows) => rows.filter((row) => row !== rows.find(isNewestDeposit)),
    /damaged at position/,
  ],
  ['two deposits swapped', (rows) => exchanged(rows, signed, signed + 2), /damaged at position/],
  ['an event recorded at another time', (rows) => [...rows.slice(0, -1), { ...newest(rows), at_ms: 1 }], /damaged at/],
  [
    'an event recorded by another actor',
    (rows) => rows.map((row, at) => (at === signed ? { ...row, metadata: row.metadata.replace('test', 'root') } : row)),
    /damaged at/,
  ],
  [
    'every seal removed',
    (rows) => rows.map((row) => ({ ...row, seal: null })),
    /damaged at position 1: .* lacks the seal/,
  ],
  [
    'the newest seal put on the rest of a log cut off there',
    (rows) => [...rows.slice(0, -1).slice(0, signed + 2), ...[]].map((row) => ({ ...row, seal: newest(rows).seal })),
    /damaged at/,
  ],
  [
    'an older seal put on the newest event',
    (rows) => [...rows.slice(0, -1), { ...newest(rows), seal: rows[signed]!.seal }],
    /damaged at/,
  ],
  [
    'half of a seal',
    (rows) => [...rows.slice(0, -1), { ...newest(rows), seal: newest(rows).seal!.slice(0, 20) }],
    /damaged/,
  ],
  ['an empty seal', (rows) => [...rows.slice(0, -1), { ...newest(rows), seal: new Uint8Array() }], /damaged at/],
  ['an end cut off within one commit', (rows) => rows.slice(0, -1), /damaged at position \d+: .* lacks the seal/],
];

describe('the newest events of a log after a kill', () => {
  it('are sound when nobody touched them', async () => {
    expect(await damageOf(copyOf(ours))).toBeNull();
    const untouched = copyOf(ours);
    rewrite(untouched, (rows) => recomputed(rows));
    expect(await damageOf(untouched)).toBeNull();
  });

  it.each(CHANGES)('are refused with the place: %s', async (_, change, where) => {
    expect(await damageOf(changed(change))).toMatch(where);
  });

  it('are refused in the folder of another installation, and with its seals', async () => {
    expect(await damageOf(copyOf(foreign))).toMatch(
      /sealed under the key [0-9a-f]{8}, which MASTER_KEY does not hold: add that key/,
    );
    expect(await damageOf(copyOf(unsealed))).toMatch(/damaged at position 1: .* lacks the seal/);
    const theirs = rowsOf(copyOf(foreign));
    expect(await damageOf(changed((rows) => withSealOf(enlarged(rows), theirs)))).toMatch(/damaged at/);
  });

  it('are refused whatever the change, and wherever', async () => {
    const rows = rowsOf(copyOf(ours));
    const place = fc.integer({ min: signed, max: rows.length - 1 });
    const edit = fc.oneof(
      fc.record({ at: place, field: fc.constantFrom('data', 'metadata', 'type', 'stream', 'id'), bit: fc.nat() }),
      fc.record({ at: place, remove: fc.constant(true) }),
      fc.record({ at: place, repeat: place }),
      fc.record({ at: place, sealOf: fc.integer({ min: 0, max: rows.length - 1 }) }),
    );
    const edits = fc.array(edit, { minLength: 1, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(edits, async (all) => {
        const next = recomputed(all.reduce(applied, rows));
        fc.pre(JSON.stringify(withoutSeals(next)) !== JSON.stringify(withoutSeals(rows)));
        // An end cut off exactly where a commit ended is what this service once wrote: only the signer knows of more.
        fc.pre(!isBeginningOf(next, rows));
        const dataDir = copyOf(ours);
        rewrite(dataDir, () => next);
        expect(await endOf(dataDir)).toMatch(/damaged at position \d+/);
        rmSync(join(dataDir, '..'), { recursive: true });
      }),
      { numRuns: 60 },
    );
  }, 120_000);

  it('make a service read-only that starts on them, and nothing is paid', async () => {
    const dataDir = changed(enlarged);
    const service = await startServiceInProcess(dataDir);
    try {
      expect(service.readOnly()).toMatch(
        /damaged at position \d+: up to its end, event \d+, it is not what this service wrote/,
      );
      const ready = await fetch(`${service.opsUrl}/readyz`);
      expect(ready.status).toBe(503);
    } finally {
      await service.close();
    }
    expect(rowsOf(dataDir)).toHaveLength(rowsOf(copyOf(ours)).length);
  });
});

type Edit =
  | { readonly at: number; readonly field: string; readonly bit: number }
  | { readonly at: number; readonly remove: boolean }
  | { readonly at: number; readonly repeat: number }
  | { readonly at: number; readonly sealOf: number };

function applied(rows: Row[], edit: Edit): Row[] {
  const row = rows[edit.at];
  if (!row) return rows;
  const replaced = (by: Row): Row[] => rows.map((other, index) => (index === edit.at ? by : other));
  if ('remove' in edit) return rows.filter((_, index) => index !== edit.at);
  if ('repeat' in edit) return [...rows.slice(0, edit.at), rows[edit.repeat] ?? row, ...rows.slice(edit.at)];
  if ('sealOf' in edit) return replaced({ ...row, seal: rows[edit.sealOf]?.seal ?? null });
  const text = row[edit.field as 'data'];
  const at = edit.bit % text.length;
  const letter = String.fromCharCode(text.charCodeAt(at) ^ 1);
  return replaced({ ...row, [edit.field]: text.slice(0, at) + letter + text.slice(at + 1) });
}

const withoutSeals = (rows: readonly Row[]) => rows.map(({ seal: _, ...row }) => row);
const isBeginningOf = (next: readonly Row[], rows: readonly Row[]): boolean =>
  next.every((row, index) => row.chain === rows[index]?.chain) && newest(next).seal !== null;

/** What opening the store for work finds at the end of the log. */
async function endOf(dataDir: string): Promise<string> {
  const opened = await openSqliteEventStore({ dataDir, sealKeys: SEAL_KEYS }).catch((error: unknown) => error);
  if (opened instanceof Error) return opened.message;
  await (opened as SqliteEventStore).close();
  return 'sound';
}

describe('keys that change', () => {
  const old = MASTER_KEY_TEXT;
  const next = 'fedcba9876543210'.repeat(4);
  const under = async (dataDir: string, keys: string): Promise<string | null> => {
    const sealKeys = authenticationKeys(parseMasterKeys(keys));
    const store = await openSqliteEventStore({ dataDir, sealKeys, readDamaged: true });
    const { refusal } = store;
    if (refusal === null) {
      const stream = `cs_${String(copies)}`;
      await appendHistory(store, [{ ...historyFrom(20, 1)[0]!, session: 20 + copies }], stream as never);
    }
    await store.close();
    copies += 1;
    return refusal;
  };

  it('hold what the retired one sealed, until the new one has sealed something', async () => {
    const dataDir = copyOf(ours);
    expect(await under(copyOf(ours), next)).toMatch(/sealed under the key [0-9a-f]{8}, which MASTER_KEY does not hold/);
    expect(await under(dataDir, `${next},${old}`)).toBeNull();
    expect(await under(dataDir, next)).toBeNull();
    expect(await under(dataDir, old)).toMatch(/sealed under the key/);
  });

  it('are enough alone after key rewrap, even if it has nothing to store', async () => {
    const dataDir = copyOf(ours);
    const rewrap = (MASTER_KEY: string) =>
      runOffline(configOf(dataDir, { MASTER_KEY }), createLogger('silent'), 'key.rewrap', { operator: 'olga' });
    await rewrap(`${next},${old}`);
    await rewrap(`${old},${next}`);
    await rewrap(`${next},${old}`);
    expect(await under(dataDir, next)).toBeNull();
  });
});

describe('a log whose key is lost', () => {
  const present = { MASTER_KEY: 'fedcba9876543210'.repeat(4) };
  const accept = (dataDir: string, args: object, settings: object = present) =>
    acceptEventLog(configOf(dataDir, settings), { operator: 'olga', reason: 'the key was lost', ...args });

  it('is accepted by somebody who says how long it is and why, which is recorded', async () => {
    const dataDir = copyOf(ours);
    const events = rowsOf(copyOf(ours)).length;
    expect(await accept(dataDir, { events })).toMatchObject({
      accepted_events: events,
      because: expect.stringContaining('is sealed under the key') as string,
    });
    const store = await openSqliteEventStore({
      dataDir,
      sealKeys: authenticationKeys(parseMasterKeys(present.MASTER_KEY)),
    });
    const [act] = await store.readStream('operator-acts');
    await store.close();
    expect(JSON.parse(act!.data)).toMatchObject({
      act: 'audit.accept',
      actor: 'olga',
      subject: `${events} events: the key was lost`,
    });
    await expect(accept(dataDir, { events: events + 1 })).rejects.toThrow('there is nothing to accept');
  });

  it('is not accepted by the way, nor when anything else about it differs', async () => {
    const events = rowsOf(copyOf(ours)).length;
    await expect(accept(copyOf(ours), { events: events - 1 })).rejects.toThrow(
      /up to its end, event \d+, it is sealed under the key/,
    );
    await expect(accept(copyOf(ours), { events, operator: '' })).rejects.toThrow('operator');
    await expect(accept(copyOf(ours), { events, reason: '' })).rejects.toThrow('reason');
    await expect(accept(copyOf(ours), {})).rejects.toThrow('events is missing');
    await expect(accept(copyOf(ours), { events }, {})).rejects.toThrow('MASTER_KEY');
    const early = changed((rows) => rows.map((row) => ({ ...row, id: row.id.replace(/.$/, 'f') })));
    await expect(accept(early, { events })).rejects.toThrow(/history differs/);
    const broken = copyOf(ours);
    rewrite(broken, (rows) => rows.map((row, at) => (at === signed ? { ...row, at_ms: 1 } : row)));
    await expect(accept(broken, { events })).rejects.toThrow(/does not have its hash/);
    expect(rowsOf(early)).toHaveLength(events);
  });
});

describe('an event that somebody changes while the service runs', () => {
  it('is found with the next one, before a checkpoint covers it', async () => {
    const dataDir = copyOf(ours);
    const store = await openSqliteEventStore({ dataDir, sealKeys: SEAL_KEYS });
    const audit = new LogAudit({ dataDir, verifierKey: null, anchors: [] });
    let step = audit.check();
    while (step === 'more') step = audit.check();
    expect([step, audit.follow()]).toEqual(['sound', null]);
    await appendHistory(store, historyFrom(20, 1));
    replaceNewest(dataDir);
    await appendHistory(store, historyFrom(21, 1));
    expect(audit.follow()).toMatch(/damaged at event \d+: the chain is broken before it/);
    audit.close();
    await store.close();
  });
});

/** The newest event, a deposit, with all its hashes. */
function replaceNewest(dataDir: string): void {
  const db = new DatabaseSync(join(dataDir, 'events.db'));
  db.exec('DROP TRIGGER events_are_never_updated');
  const rows = db.prepare('SELECT * FROM events ORDER BY position').all() as unknown as Row[];
  const { data, hash, chain, position } = newest(
    recomputed([...rows.slice(0, -1), { ...newest(rows), data: newest(rows).data.replace('"1.00"', '"1000.00"') }]),
  );
  db.prepare('UPDATE events SET data = ?, hash = ?, chain = ? WHERE position = ?').run(data, hash, chain, position);
  db.close();
}
