import { existsSync } from 'node:fs';
import { openEsdbEventStore } from '../adapters/esdb/event-store.ts';
import { openSqliteEventFollower } from '../adapters/sqlite/event-log/event-follower.ts';
import { eventsFile } from '../adapters/sqlite/event-log/event-schema.ts';
import type { Config } from '../config.ts';
import { SECRET_PURPOSES, secretsStream } from '../domain/values/streams.ts';
import { withKeptKeys } from '../features/shared/kept-keys.ts';
import { StoreUnavailable, type RecordedEvent } from '../ports/event-log/event-store.ts';
import { InvalidMasterKey, keyIdsWithin, SEALED_KINDS, type SealingKeys } from '../runtime/cryptography/sealing.ts';
import { sealingKeysOf } from '../settings/sealing-keys.ts';
import { fault, ok, type Finding } from './finding.ts';

const CHECK = 'sealing-keys';
const ANSWER_MS = 2_000;
const STREAMS = SECRET_PURPOSES.map(secretsStream);

/**
 * Whether the keys open what the event log holds: those of another installation are as well formed as the right ones.
 */
export async function keyFindings(config: Config): Promise<Finding[]> {
  const given = wellFormedKeys(config);
  // A process with the keys of some kinds cannot tell a wrong key from one of another kind.
  if (given === null || SEALED_KINDS.some((kind) => given[kind] === null)) return [];
  const secrets = await storedSecrets(config);
  if (secrets.length === 0) return [];
  const kept = await withKeptKeys(
    { readStream: async (stream) => secrets.filter((recorded) => recorded.stream === stream) },
    given,
  );
  const held = new Set(SEALED_KINDS.flatMap((kind) => kept[kind]?.keys.map(({ id }) => id) ?? []));
  const lacking = new Set(secrets.flatMap(({ data }) => keyIdsWithin(data)).filter((id) => !held.has(id)));
  return [
    lacking.size === 0
      ? ok(CHECK, 'open what the event log holds')
      : fault(
          CHECK,
          `the event log holds secrets sealed under ${[...lacking].join(', ')}, which these keys do not open`,
          'set the keys of this installation, older ones after the newest until they are retired',
        ),
  ];
}

/** Null if they are not, which is a finding of the settings. */
function wellFormedKeys(config: Config): SealingKeys | null {
  try {
    return sealingKeysOf(config);
  } catch (error) {
    if (error instanceof InvalidMasterKey) return null;
    throw error;
  }
}

async function storedSecrets({ EVENTSTORE_URL: connectionString, DATA_DIR }: Config): Promise<RecordedEvent[]> {
  if (connectionString === undefined) return existsSync(eventsFile(DATA_DIR)) ? secretsInFolder(DATA_DIR) : [];
  try {
    return await secretsOnServers(connectionString);
  } catch (error) {
    // That they do not answer is a finding of its own.
    if (error instanceof StoreUnavailable) return [];
    throw error;
  }
}

async function secretsOnServers(connectionString: string): Promise<RecordedEvent[]> {
  const limits = { attemptMs: ANSWER_MS, totalMs: ANSWER_MS };
  const store = await openEsdbEventStore({ connectionString, namespace: '', ...limits });
  try {
    return (await Promise.all(STREAMS.map((stream) => store.readStream(stream)))).flat();
  } finally {
    await store.close();
  }
}

/** Beside a running service, too. */
async function secretsInFolder(dataDir: string): Promise<RecordedEvent[]> {
  const found: RecordedEvent[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const follower = openSqliteEventFollower({ dataDir, onSubscriptionError: (_, error) => reject(error) });
  try {
    follower.subscribe({
      name: 'doctor',
      after: null,
      streamPrefixes: STREAMS,
      onEvents: (events) => void found.push(...events),
      onCaughtUp: resolve,
    });
    await promise;
    return found;
  } finally {
    await follower.close();
  }
}
