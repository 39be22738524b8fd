import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Committer } from '../src/adapters/sqlite/event-log/committer.ts';
import type { Tail } from '../src/adapters/sqlite/event-log/append-job.ts';
import { CHAIN_GENESIS } from '../src/adapters/sqlite/event-log/event-schema.ts';
import { openSqliteEventStore, type SqliteEventStore } from '../src/adapters/sqlite/event-log/event-store.ts';
import { base32, type MerchantId, type SessionId } from '../src/domain/values/ids.ts';
import { encodeEvent, type EventToEncode } from '../src/runtime/commands/codec.ts';
import { BareLog } from './appends/bare-log.ts';
import { type BenchSection, median, percentile } from './section.ts';
import { parseMasterKeys } from '../src/runtime/cryptography/sealing.ts';
import { authenticationKeys } from '../src/settings/sealing-keys.ts';

/*
 * Durable appends per second: the embedded store against the least a durable log can do. Every append is a new session,
 * the dearest case: a new stream with a random name. All candidates encode and hash the same events on the same disk.
 */

const ROUNDS = 9;
const SINGLE_APPENDS = 800;
const GROUPED_APPENDS = 6_400;

const hex = (bytes: number): string => randomBytes(bytes).toString('hex');

/** A `SessionCreated` of usual size, two networks on offer: about 1.2 KB of data. */
function newSession(): EventToEncode {
  const sessionId = `cs_${base32(randomBytes(20))}` as SessionId;
  const option = {
    coin: 'USDT',
    tokenAddress: `0x${'a'.repeat(40)}`,
    decimals: 6,
    address: `0x${hex(20)}`,
    derivationIndex: 7,
  } as const;
  return {
    id: randomUUID(),
    stream: `session-${sessionId}`,
    revision: 0,
    atMs: 1_800_000_000_000,
    event: {
      type: 'SessionCreated',
      data: {
        sessionId,
        mode: 'test',
        merchantId: 'mer_abcdefghij2345672345' as MerchantId,
        orderId: `order-${hex(6)}`,
        requestHash: hex(32),
        amount: '10.50',
        currency: 'USD',
        dueCoin: 'USDT',
        dueAmount: '10.51',
        rateLock: { rate: '1.0002', lockedAtSec: 1_800_000_000, rule: 'median-1', quotes: [] },
        taxAmount: null,
        shippingAmount: null,
        createdAtSec: 1_800_000_000,
        expiresAtSec: 1_800_001_800,
        paymentOptions: [
          { network: 'ethereum', chainId: '31337', ...option, finality: { kind: 'confirmations', confirmations: 12 } },
          { network: 'bsc', chainId: '31338', ...option, finality: { kind: 'finalized' } },
        ],
        policy: { tolerance: '0.00', dustLimit: '0.01' },
        domainId: null,
        personal: `v1.1a2b3c4d.${randomBytes(12).toString('base64url')}.${randomBytes(150).toString('base64url')}`,
      },
    },
    metadata: { correlationId: randomUUID(), actor: 'merchant:mer_abcdefghij2345672345', prev: '' },
  };
}

interface Round {
  readonly appendsPerSec: number;
  /** Of each append, as its caller saw it; empty where it was not measured. */
  readonly latenciesMs: readonly number[];
}

interface Candidate {
  readonly name: string;
  readonly appends: number;
  /** The baseline that the ratio is taken of. */
  readonly against?: string;
  readonly run: (events: readonly EventToEncode[]) => Promise<readonly number[]> | readonly number[];
}

const requestOf = (event: EventToEncode) => ({
  stream: event.stream,
  expected: 'no-stream' as const,
  events: [encodeEvent(event)],
});

function bareRun(log: BareLog, batch: number) {
  return (events: readonly EventToEncode[]): readonly number[] => {
    for (let from = 0; from < events.length; from += batch) log.append(events.slice(from, from + batch));
    return [];
  };
}

function storeRun(store: SqliteEventStore, callers: number) {
  return async (events: readonly EventToEncode[]): Promise<readonly number[]> => {
    const latencies: number[] = [];
    let next = 0;
    const call = async (): Promise<void> => {
      while (next < events.length) {
        const event = events[next++]!;
        const startedMs = performance.now();
        const result = await store.append(requestOf(event));
        if (!result.ok) throw new Error('an append was refused');
        latencies.push(performance.now() - startedMs);
      }
    };
    await Promise.all(Array.from({ length: callers }, call));
    return latencies;
  };
}

function commitPerEventRun(committer: Committer, start: Tail) {
  let tail = start;
  return (events: readonly EventToEncode[]): readonly number[] => {
    for (const event of events) {
      const request = requestOf(event);
      tail = committer.commit(
        [{ ...request, expected: -1, coCommits: undefined, head: undefined, number: undefined }],
        tail,
      ).tail;
    }
    return [];
  };
}

async function measure({ appends, run }: Candidate): Promise<Round> {
  const events = Array.from({ length: appends }, newSession);
  globalThis.gc?.();
  const startedMs = performance.now();
  const latenciesMs = await run(events);
  return { appendsPerSec: (appends * 1000) / (performance.now() - startedMs), latenciesMs };
}

const ONE = 'bare log: append + fdatasync, one at a time';
const batched = (size: number): string => `bare log: ${size} events an append + fdatasync`;

/** The table of durable appends; also the section of `npm run bench`. */
export async function benchAppends(): Promise<BenchSection> {
  // Beside the repository: the temporary folder may be memory, which syncs for nothing.
  const folder = mkdtempSync(join(process.cwd(), '.bench-appends-'));
  const sealKeys = authenticationKeys(parseMasterKeys(randomBytes(32).toString('hex')));
  const store = await openSqliteEventStore({ dataDir: join(folder, 'store'), sealKeys });
  // The same schema, without seals.
  const plain = await openSqliteEventStore({ dataDir: join(folder, 'plain') });
  await plain.close();
  const committer = new Committer(join(folder, 'plain'));
  // As SQLite does it for everyone who does not ask for anything else.
  committer.database.exec('PRAGMA wal_autocheckpoint = 1000');
  const logs = [1, 32, 64].map((batch) => ({ batch, log: new BareLog(join(folder, `bare-${batch}`)) }));
  try {
    const [one, some, many] = logs.map(({ batch, log }) => bareRun(log, batch));
    const candidates: Candidate[] = [
      { name: ONE, appends: SINGLE_APPENDS, run: one! },
      { name: 'Quittance, 1 caller', appends: SINGLE_APPENDS, against: ONE, run: storeRun(store, 1) },
      {
        name: 'SQLite, one commit per event',
        appends: SINGLE_APPENDS,
        against: ONE,
        run: commitPerEventRun(committer, { position: 0, chain: CHAIN_GENESIS }),
      },
      { name: batched(32), appends: GROUPED_APPENDS, run: some! },
      { name: 'Quittance, 32 callers', appends: GROUPED_APPENDS, against: batched(32), run: storeRun(store, 32) },
      { name: batched(64), appends: GROUPED_APPENDS, run: many! },
      { name: 'Quittance, 64 callers', appends: GROUPED_APPENDS, against: batched(64), run: storeRun(store, 64) },
    ];
    return sectionOf(candidates, await alternate(candidates));
  } finally {
    await store.close();
    committer.close();
    for (const { log } of logs) log.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function alternate(candidates: readonly Candidate[]): Promise<Map<string, Round[]>> {
  const rounds = new Map<string, Round[]>(candidates.map(({ name }) => [name, []]));
  for (let round = -1; round < ROUNDS; round += 1) {
    for (const candidate of candidates) {
      const result = await measure(candidate);
      // The first round only warms the compiler up.
      if (round >= 0) rounds.get(candidate.name)!.push(result);
    }
  }
  return rounds;
}

function sectionOf(candidates: readonly Candidate[], rounds: ReadonlyMap<string, readonly Round[]>): BenchSection {
  const rates = new Map(
    candidates.map(({ name }) => [name, median(rounds.get(name)!.map(({ appendsPerSec }) => appendsPerSec))]),
  );
  const ratioOf = ({ name, against }: Pick<Candidate, 'name' | 'against'>): number =>
    pairedRatio(rounds.get(name)!, rounds.get(against!)!);
  const rows = candidates.map(({ name, against }) => {
    const latencies = rounds.get(name)!.flatMap(({ latenciesMs }) => latenciesMs);
    const time = (share: number): string => (latencies.length === 0 ? '' : percentile(latencies, share).toFixed(2));
    const ratio = against === undefined ? '1 (baseline)' : `${ratioOf({ name, against }).toFixed(2)} x`;
    return [name, Math.round(rates.get(name)!), ratio, time(0.5), time(0.99)];
  });
  const perCommit = rates.get('SQLite, one commit per event')!;
  const grouped = rates.get('Quittance, 64 callers')!;
  return {
    title: 'Durable appends',
    intro:
      'Appends per second to the embedded store, each synced to disk before it is answered, against a bare file that does nothing but ' +
      `encode, hash, append, sync and index the same event. Every append creates a new session stream. Medians of ${ROUNDS} alternating rounds, ratios taken within each round.`,
    columns: ['candidate', 'appends/s', 'ratio', 'p50 ms', 'p99 ms'],
    rows,
    notes: [
      `Grouping the commits of 64 callers appends ${(grouped / perCommit).toFixed(1)} times as much as one SQLite commit per event.`,
    ],
    goals: [
      ...[
        { name: 'Quittance, 1 caller', what: 'One caller appends', least: 0.9 },
        { name: 'Quittance, 64 callers', what: '64 callers append', least: 0.6 },
      ].map(({ name, what, least }) => {
        const ratio = ratioOf(candidates.find((candidate) => candidate.name === name)!);
        return {
          goal: `${what} durably at ${least} of the rate of a bare log`,
          measured: ratio.toFixed(2),
          holds: ratio >= least,
          needed:
            'More of the work of an append off the main thread, which hands each one to the thread of the commits and back',
        };
      }),
    ],
    sources: [
      { caption: 'The bare log', code: readFileSync(new URL('./appends/bare-log.ts', import.meta.url), 'utf8') },
    ],
  };
}

/** Of each round to the same round of the baseline, so that a machine that slows down does so for both. */
function pairedRatio(rounds: readonly Round[], baseline: readonly Round[]): number {
  return median(rounds.map(({ appendsPerSec }, index) => appendsPerSec / baseline[index]!.appendsPerSec));
}
