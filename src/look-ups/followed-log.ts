import { isAfter, parsePosition } from '../adapters/esdb/position.ts';
import { openSqliteEventFollower } from '../adapters/sqlite/event-log/event-follower.ts';
import { openSqliteEventStoreReader } from '../adapters/sqlite/event-log/event-store-reader.ts';
import type { EventStore, Position } from '../ports/event-log/event-store.ts';

/** The event log behind the look-ups: in files next to them, or on servers. */
export type LogSource =
  | { readonly kind: 'files' }
  | { readonly kind: 'servers'; readonly connectionString: string; readonly namespace: string };

/** The event log as the projection thread follows it. */
export interface FollowedLog extends Pick<EventStore, 'subscribe' | 'close'> {
  /** Signals new events, if the log cannot do so itself. */
  advance(): void;
  readonly maxBatch: number;
  /** Null if the files cannot belong to another log. */
  readonly servers: Pick<EventStore, 'readAll' | 'head'> | null;
}

/** A replay writes each row once per batch, so batches are large; served rows wait during such a write. */
const BATCH_OF_FILES = 16_384;
/** Slightly fewer than a subscription holds. */
const BATCH_OF_SERVERS = 1_500;

export async function followLog(
  source: LogSource,
  dataDir: string,
  onError: (error: unknown) => void,
): Promise<FollowedLog> {
  const onSubscriptionError = (_name: string, error: unknown): void => onError(error);
  if (source.kind === 'servers') {
    const { openEsdbEventStore } = await onServers();
    const store = await openEsdbEventStore({ ...source, onSubscriptionError });
    return {
      subscribe: (options) => store.subscribe(options),
      close: () => store.close(),
      advance: () => undefined,
      maxBatch: BATCH_OF_SERVERS,
      servers: store,
    };
  }
  const follower = openSqliteEventFollower({ dataDir, onSubscriptionError });
  return {
    subscribe: (options) => follower.subscribe(options),
    close: () => follower.close(),
    advance: () => follower.advance(),
    maxBatch: BATCH_OF_FILES,
    servers: null,
  };
}

export const readLog = async (source: LogSource, dataDir: string): Promise<Pick<EventStore, 'readAll' | 'close'>> =>
  source.kind === 'servers' ? (await onServers()).openEsdbEventStore(source) : openSqliteEventStoreReader({ dataDir });

/** Loaded lazily: its client takes long to load, and a process with files never needs it. */
const onServers = () => import('../adapters/esdb/event-store.ts');

/** Whether one position of the log comes after another. */
export const isLater = ({ kind }: LogSource, one: Position, other: Position): boolean =>
  kind === 'servers' ? isAfter(parsePosition(one), parsePosition(other)) : Number(one) > Number(other);
