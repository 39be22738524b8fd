import { execFile, spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { cpSync, existsSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeAll, describe, expect, it } from 'vitest';
import { canonicalText } from '../../src/domain/events/canonical-text.ts';
import { checkpointText, noteOf, parseCheckpoint, parseVerifierKey } from '../../src/runtime/merkle/checkpoint-note.ts';
import { openSqliteEventStore } from '../../src/adapters/sqlite/event-log/event-store.ts';
import { appendOf, FIRST } from '../contract/event-store-samples.ts';
import { LogAudit } from '../../src/adapters/sqlite/event-log/log-audit.ts';
import { TILE_LEAVES } from '../../src/runtime/merkle/log.ts';
import { MerkleFrontier } from '../../src/runtime/merkle/frontier.ts';
import { leafHash } from '../../src/runtime/merkle/tree.ts';
import { AuditKey } from '../../src/signer/audit/key.ts';
import { auditLine } from '../../src/features/audit/lines.ts';
import { SpilledMap } from '../../src/adapters/sqlite/read-model/spilled-map.ts';
import { verifyExport, type VerifyReport } from '../../src/features/audit/verify.ts';
import { eventually } from '../support/running-sandbox.ts';
import { exchanged, recomputed, rewrite, type Row } from '../support/rewritten-log.ts';
import { exportOf, foundAtStart, growAuditedLog, type AuditedLog } from '../support/audited-log.ts';
import { SEAL_KEYS } from '../support/test-keys.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const PARTS = 3;
const VERIFIER = resolve(import.meta.dirname, '../../docs/verify/verify.py');
const HAS_PYTHON = spawnSync('python3', ['--version']).status === 0;
const folder = temporaryFolder('mutations');
const dataDir = join(folder, 'data');
const crashed = join(folder, 'crashed');
const backup = join(folder, 'backup');
let log: AuditedLog;
let lines: readonly string[];
let copies = 0;

beforeAll(async () => {
  log = await growAuditedLog(dataDir, PARTS, async (store) => {
    // The note of where the log ended is written within a second.
    const note = `"position":${String(await store.head())},`;
    await eventually('the note of where the log ended', async () => noteIn(dataDir).includes(note));
    cpSync(dataDir, crashed, { recursive: true });
    rmSync(join(crashed, 'events.db-shm'), { force: true });
  });
  lines = (await exportOf(dataDir)) as readonly string[];
  cpSync(dataDir, backup, { recursive: true });
  rewrite(backup, (rows) => rows.slice(0, Math.floor(rows.length / 2)));
}, 60_000);

const noteIn = (directory: string): string => {
  const file = join(directory, 'events.anchor.json');
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
};

function copyOf(directory: string): string {
  copies += 1;
  const copy = join(folder, `copy-${copies}`);
  cpSync(directory, copy, { recursive: true });
  return copy;
}

const withAmount = (row: Row): Row => ({ ...row, data: row.data.replace(/"amount":"[^"]+"/, '"amount":"987654.00"') });

async function verified(
  exported: readonly string[],
  { checkpoints, verifierKey }: AuditedLog = log,
): Promise<VerifyReport> {
  return verifyExport({
    lines: async function* () {
      yield* exported;
    },
    checkpoints: [parseCheckpoint(checkpoints.at(-1)!.checkpoint)!],
    key: parseVerifierKey(verifierKey)!,
    memory: () => new SpilledMap(),
  });
}

interface PythonAnswer {
  readonly code: number;
  readonly text: string;
}

async function verifiedByPython(exported: readonly string[]): Promise<PythonAnswer> {
  const file = join(folder, 'export.jsonl');
  const checkpoint = join(folder, 'checkpoint.txt');
  writeFileSync(file, exported.map((line) => `${line}\n`).join(''));
  writeFileSync(checkpoint, log.checkpoints.at(-1)!.checkpoint);
  return new Promise((done) => {
    execFile(
      'python3',
      [VERIFIER, '--export', file, '--checkpoint', checkpoint, '--key', log.verifierKey],
      (error, stdout, stderr) =>
        done({ code: typeof error?.code === 'number' ? error.code : 0, text: stdout + stderr }),
    );
  });
}

/* Each: what was done to the log, and what must be named. */
const MUTATIONS: readonly (readonly [what: string, change: (rows: Row[]) => Row[], where: RegExp])[] = [
  [
    'a changed amount',
    (rows) => rows.map((row) => (row.type === 'DepositDetected' ? withAmount(row) : row)),
    /event \d+ .*does not have its hash/,
  ],
  [
    'a changed amount with its own hash recomputed',
    (rows) => alone(rows, depositIn(rows)),
    /event \d+ .*does not name the hash/,
  ],
  [
    'a changed amount with the whole chain recomputed',
    (rows) => recomputed(rows.map((row, index) => (index === depositIn(rows) ? withAmount(row) : row))),
    /history differs between .* checkpoint of \d+ events/,
  ],
  [
    'two swapped events',
    (rows) => exchanged(rows, 4, 9).map((row, index) => ({ ...row, position: index + 1 })),
    /event \d+/,
  ],
  [
    'two events of different streams swapped, with the chain recomputed',
    (rows) => recomputed(exchanged(rows, ...neighboursIn(rows))),
    /history differs/,
  ],
  ['the last five events deleted', (rows) => rows.slice(0, -5), /(ends after \d+ events, but \d+ were signed)/],
  ['an event deleted from the middle', (rows) => rows.filter((_, index) => index !== 20), /event \d+|position/],
  [
    'an event deleted from the middle, with the chain recomputed',
    (rows) => recomputed(rows.filter((_, index) => index !== 20)),
    /(history differs|ends after)/,
  ],
  [
    'a whole stream deleted, with the chain recomputed',
    (rows) => recomputed(rows.filter(({ stream }) => stream !== rows[0]!.stream)),
    /(history differs|ends after|more than there were)/,
  ],
  [
    'an event told twice, with the chain recomputed',
    (rows) => recomputed([...rows.slice(0, 10), rows[9]!, ...rows.slice(10)]),
    /history differs/,
  ],
  [
    'a checkpoint signed by somebody else, with the chain recomputed',
    (rows) =>
      recomputed(rows.map((row) => (row.type === 'CheckpointSigned' ? { ...row, data: forged(row.data) } : row))),
    /checkpoint.*signature|signature.*checkpoint|history differs/,
  ],
  [
    'an event moved by a day',
    (rows) => recomputed(rows.map((row, index) => (index === 7 ? { ...row, at_ms: row.at_ms - 86_400_000 } : row))),
    /history differs/,
  ],
];

const depositIn = (rows: readonly Row[]): number =>
  rows.findIndex(
    ({ type, stream }, index) =>
      type === 'DepositDetected' && rows.some((row, later) => later > index && row.stream === stream),
  );

function alone(rows: readonly Row[], index: number): Row[] {
  const row = withAmount(rows[index]!);
  const own = hash('sha256', canonicalText({ ...row, atMs: row.at_ms }), 'hex');
  return rows.map((other, place) => (place === index ? { ...row, hash: own } : other));
}

function neighboursIn(rows: readonly Row[]): [number, number] {
  const index = rows.findIndex(
    (row, place) =>
      place > 3 &&
      row.revision > 0 &&
      rows[place + 1]!.revision > 0 &&
      row.stream !== rows[place + 1]!.stream &&
      !/audit/.test(row.stream + rows[place + 1]!.stream),
  );
  return [index, index + 1];
}

const forged = (data: string): string =>
  data.replace(/(\u2014 \S+ \S{20})(.)/, (_, before: string, letter: string) => before + (letter === 'A' ? 'B' : 'A'));

describe('an unchanged log', () => {
  it('verifies, at the start and from its export', async () => {
    expect(log.events).toBeGreaterThan(50);
    expect(await foundAtStart(copyOf(dataDir), log)).toBeNull();
    expect(await foundAtStart(copyOf(crashed), log)).toBeNull();
    const report = await verified(lines);
    expect(report).toMatchObject({ ok: true, fault: null, events: log.events, checkpoints: PARTS + 1, uncovered: 1 });
  });
});

describe('a log that was changed', () => {
  it.each(MUTATIONS)('is found out: %s', async (_, change, where) => {
    const copy = copyOf(dataDir);
    rewrite(copy, change);
    expect(await foundAtStart(copy, log)).toMatch(/event \d+|events|position \d+/);
    const exported = (await exportOf(copy)) as readonly string[];
    const report = await verified(exported);
    expect(report.ok).toBe(false);
    expect(report.fault).toMatch(where);
  });

  it.each(MUTATIONS)('is found out behind a running service: %s', (_, change) => {
    const copy = copyOf(dataDir);
    const audit = new LogAudit({ dataDir: copy, verifierKey: log.verifierKey, anchors: log.checkpoints });
    let step = audit.check();
    while (step === 'more') step = audit.check();
    expect(step).toBe('sound');
    // One round and the beginning of the next.
    const round = Array.from({ length: Math.ceil(log.events / TILE_LEAVES) + 1 });
    expect(round.map(() => audit.recheck()).filter((fault) => fault !== null)).toEqual([]);
    rewrite(copy, change);
    const found = round.map(() => audit.recheck()).find((fault) => fault !== null);
    audit.close();
    expect(found).toMatch(/event \d+|events \d+ to \d+/);
  });

  it('is not accused while it only grows', async () => {
    const copy = copyOf(dataDir);
    const store = await openSqliteEventStore({ dataDir: copy, sealKeys: SEAL_KEYS });
    const audit = new LogAudit({ dataDir: copy, verifierKey: log.verifierKey, anchors: log.checkpoints });
    let step = audit.check();
    while (step === 'more') step = audit.check();
    const faults = [];
    for (let round = 0; round < 60; round += 1) {
      await store.append(appendOf(`growing-${round}`, FIRST, 11));
      if (round % 3 === 0) audit.follow();
      faults.push(audit.recheck());
    }
    expect(faults.filter((fault) => fault !== null)).toEqual([]);
    audit.close();
    await store.close();
  });

  it('is detected if an old copy replaced it, note included', async () => {
    const copy = copyOf(backup);
    expect(await foundAtStart(copy, log)).toMatch(/ends after \d+ events, but \d+ were signed/);
    const exported = (await exportOf(copy)) as readonly string[];
    expect((await verified(exported)).fault).toMatch(/at the end are missing/);
  });

  it('is found out wherever its write-ahead file was cut off', async () => {
    const size = statSync(join(crashed, 'events.db-wal')).size;
    for (const share of [0, 0.1, 0.35, 0.6, 0.85, 0.99]) {
      const copy = copyOf(crashed);
      truncateSync(join(copy, 'events.db-wal'), Math.floor(size * share));
      const exported = await exportOf(copy);
      expect(await foundAtStart(copy, log), `cut at ${share}`).toMatch(
        /damaged|position \d+|no such table|cannot start/,
      );
      // What came after the newest checkpoint is under no signature yet: only the start knows of it.
      const isShort = Array.isArray(exported) && exported.length < log.checkpoints.at(-1)!.size;
      if (isShort)
        expect((await verified(exported as string[])).fault, `cut at ${share}`).toMatch(/at the end are missing/);
    }
  });

  it('is found out when one bit flips, on whatever page, or the flip changed nothing that is read', async () => {
    const bytes = readFileSync(join(dataDir, 'events.db'));
    const pageSize = bytes.readUInt16BE(16);
    const pages = bytes.length / pageSize;
    const detected = new Set<number>();
    for (let page = 0; page < pages; page += 1) {
      for (const offset of offsetsOn(bytes, page, pageSize)) {
        const copy = copyOf(dataDir);
        const flipped = Buffer.from(bytes);
        flipped[page * pageSize + offset]! ^= 1 << (offset % 8);
        writeFileSync(join(copy, 'events.db'), flipped);
        const atStart = await foundAtStart(copy, log);
        const exported = await exportOf(copy);
        const isSame = Array.isArray(exported) && exported.join('\n') === lines.join('\n');
        if (atStart !== null) detected.add(page);
        if (!isSame) {
          expect(atStart, `page ${page + 1}, byte ${offset}`).not.toBeNull();
          if (Array.isArray(exported))
            expect((await verified(exported as string[])).ok, `page ${page + 1}, byte ${offset}`).toBe(false);
        }
        rmSync(copy, { recursive: true });
      }
    }
    expect(pages).toBeGreaterThan(8);
    expect([...detected].length).toBe(pages);
  }, 120_000);
});

describe('the second verifier', () => {
  it.skipIf(!HAS_PYTHON)(
    'says the same of the unchanged log and of each changed one (needs python3)',
    async () => {
      expect(await verifiedByPython(lines)).toEqual({
        code: 0,
        text: expect.stringContaining(`ok: ${log.events} events`) as string,
      });
      for (const [what, change, where] of MUTATIONS) {
        const copy = copyOf(dataDir);
        rewrite(copy, change);
        const { code, text } = await verifiedByPython((await exportOf(copy)) as readonly string[]);
        expect(code, what).toBe(1);
        expect(text, what).toMatch(where);
      }
    },
    60_000,
  );

  it('is short enough to be read: at most 350 lines', () => {
    expect(readFileSync(VERIFIER, 'utf8').trimEnd().split('\n').length).toBeLessThanOrEqual(350);
  });
});

describe('an export that was signed although its history is not legal', () => {
  it('is refused by the replay, which names the event and the state', async () => {
    const rows = new DatabaseSync(join(dataDir, 'events.db'), { readOnly: true })
      .prepare('SELECT * FROM events ORDER BY position')
      .all() as unknown as Row[];
    const paid = rows.findIndex(({ type }) => type === 'SessionPaid');
    const twice = recomputed([...rows.slice(0, paid + 1), rows[paid]!]);
    const exported = twice.map(({ at_ms: atMs, ...row }, index) =>
      auditLine({ ...row, atMs, position: String(index + 1) }, index + 1),
    );
    const tree = new MerkleFrontier();
    for (const row of twice) tree.append(leafHash(Buffer.from(row.hash, 'hex')));
    const key = new AuditKey(Buffer.alloc(64, 7));
    const text = checkpointText({ origin: key.verifierKey.name, size: twice.length, root: tree.root() });
    const checkpoint = {
      size: twice.length,
      rootHash: tree.root().toString('base64'),
      checkpoint: noteOf(text, key.verifierKey, key.sign(text)),
    };
    const report = await verified(exported, { ...log, checkpoints: [checkpoint] });
    expect(report.fault).toMatch(
      /event \d+ \(revision \d+ of stream session-.*history is not legal: SessionPaid is not legal in paid/,
    );
  });
});

/** The page's header, its last bytes (where its first cell lies) and a byte of a cell in between. */
function offsetsOn(bytes: Buffer, page: number, pageSize: number): number[] {
  const header = page === 0 ? 100 : 0;
  const at = page * pageSize + header;
  const content = bytes.readUInt16BE(at + 5) || pageSize;
  const inside = content + Math.floor((pageSize - content) / 3);
  return [header, Math.min(inside, pageSize - 1), pageSize - 2];
}
