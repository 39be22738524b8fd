import fc from 'fast-check';
import { nodeRandom } from '../../src/adapters/node/random.ts';
import { LogAudit } from '../../src/adapters/sqlite/event-log/log-audit.ts';
import { openSqliteEventStoreReader } from '../../src/adapters/sqlite/event-log/event-store-reader.ts';
import { openSqliteEventStore, type SqliteEventStore } from '../../src/adapters/sqlite/event-log/event-store.ts';
import type { AuditAnchor, AuditTree } from '../../src/ports/event-log/audit.ts';
import { systemClock } from '../../src/ports/clock.ts';
import { silentLog } from '../../src/ports/log.ts';
import { SignAuditCheckpoints } from '../../src/features/audit/sign-checkpoints.process.ts';
import { AuditSigner } from '../../src/signer/audit/signer.ts';
import { AuditKey } from '../../src/signer/audit/key.ts';
import { auditLine } from '../../src/features/audit/lines.ts';
import { SEAL_KEYS } from './test-keys.ts';
import { appendHistory, historyOf, steps, type HistoryEntry } from './random-history.ts';

export interface AuditedLog {
  readonly verifierKey: string;
  /** Oldest first. */
  readonly checkpoints: readonly AuditAnchor[];
  readonly events: number;
}

/**
 * Grows a log of legal histories and has it signed after each of `parts`; leaves it closed unless `whileOpen` wants it.
 */
export async function growAuditedLog(
  dataDir: string,
  parts: number,
  whileOpen?: (store: SqliteEventStore) => Promise<void>,
): Promise<AuditedLog> {
  const entries = longHistory();
  const store = await openSqliteEventStore({ dataDir, sealKeys: SEAL_KEYS });
  const executor = AuditSigner.open(`${dataDir}-signer`, new AuditKey(Buffer.alloc(64, 7)));
  const checkpoints: AuditAnchor[] = [];
  for (let part = 0; part < parts; part += 1) {
    const [from, to] = [part, part + 1].map((bound) => Math.floor((bound * entries.length) / parts));
    await appendHistory(store, entries.slice(from, to));
    checkpoints.push(await signNow(store, dataDir, executor));
  }
  await whileOpen?.(store);
  const events = Number(await store.head());
  await store.close();
  return { verifierKey: executor.identity().verifierKey, checkpoints, events };
}

/** Appends a long legal history of several sessions. */
export const appendRandomHistory = (store: SqliteEventStore): Promise<void> => appendHistory(store, longHistory());

function longHistory(): readonly HistoryEntry[] {
  const histories = fc.sample(steps, { seed: 7, numRuns: 150 }).map((drawn) => historyOf(drawn).entries);
  return histories.reduce((longest, history) => (history.length > longest.length ? history : longest));
}

/** Has all that there is signed. */
export async function signNow(store: SqliteEventStore, dataDir: string, executor: AuditSigner): Promise<AuditAnchor> {
  const audit = soundAudit(dataDir);
  const sequencer = new SignAuditCheckpoints({
    store,
    tree: treeOf(audit),
    signer: {
      auditIdentity: async () => executor.identity(),
      signCheckpoint: async (request) => executor.sign(request),
    },
    last: null,
    isLeader: () => true,
    clock: systemClock,
    random: nodeRandom,
    log: silentLog,
    everyEvents: 1,
    everyMs: 1,
    witness: null,
    onRefused: () => undefined,
  });
  const anchor = await sequencer.signNow();
  await sequencer.stop();
  audit.close();
  return anchor;
}

function soundAudit(dataDir: string): LogAudit {
  const audit = new LogAudit({ dataDir, verifierKey: null, anchors: [] });
  let step = audit.check();
  while (step === 'more') step = audit.check();
  if (step !== 'sound') throw new Error(step.fault);
  return audit;
}

/** The tree in this thread. */
const treeOf = (audit: LogAudit): AuditTree => ({
  get state() {
    return { size: audit.tree.size, integrity: 'sound', fault: null } as const;
  },
  head: async (since) => {
    audit.follow();
    return audit.head(since);
  },
  inclusionProof: async (leaf, size) => audit.tree.inclusionProof(leaf, size).map((node) => node.toString('base64')),
  consistencyProof: async (first, second) =>
    audit.tree.consistencyProof(first, second).map((node) => node.toString('base64')),
  leafOf: async (position) => Number(position) - 1,
});

/** What a start finds, at once or in the background; null when nothing. */
export async function foundAtStart(dataDir: string, { verifierKey, checkpoints }: AuditedLog): Promise<string | null> {
  let store: SqliteEventStore;
  try {
    store = await openSqliteEventStore({ dataDir, sealKeys: SEAL_KEYS, readDamaged: true });
  } catch (error) {
    return `cannot start: ${(error as Error).message}`;
  }
  try {
    if (store.refusal !== null) return store.refusal;
    const audit = new LogAudit({ dataDir, verifierKey, anchors: checkpoints });
    let step = audit.check();
    while (step === 'more') step = audit.check();
    audit.close();
    return step === 'sound' ? null : step.fault;
  } finally {
    await store.close();
  }
}

/** The audit export, or why it cannot be written. */
export async function exportOf(dataDir: string): Promise<readonly string[] | { readonly unreadable: string }> {
  try {
    const store = await openSqliteEventStoreReader({ dataDir });
    try {
      return (await store.readAll({ after: null, limit: 100_000 })).map((event, index) => auditLine(event, index + 1));
    } finally {
      await store.close();
    }
  } catch (error) {
    return { unreadable: (error as Error).message };
  }
}
