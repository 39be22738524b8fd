import { createHash, type Hash } from 'node:crypto';
import type { RecordedEvent } from '../../ports/event-log/event-store.ts';
import { hashRecorded } from '../commands/codec.ts';
import { type LogReader, pagesOf } from './log-copy.ts';
import { must } from '../../domain/values/must.ts';

/**
 * The contents of a log independent of its store: equal for two stores exactly if they hold the same events in the same
 * order.
 */
export interface LogDigest {
  readonly events: number;
  readonly streams: number;
  /** SHA-256 (hex) over the hashes of all events in log order. */
  readonly log: string;
  /**
   * SHA-256 (hex) over every stream's name, length and last hash, ordered by name. Every event names its predecessor's
   * hash, so the last one represents its stream.
   */
  readonly heads: string;
  /** Length and last event hash of every stream. */
  readonly byStream: ReadonlyMap<string, string>;
}

/** Reads a whole log and recomputes every hash from the stored text. Throws for an event with a wrong hash or place. */
export async function digestOf(
  store: LogReader,
  onProgress: (done: number) => void = () => undefined,
): Promise<LogDigest> {
  const log = createHash('sha256');
  const byStream = new Map<string, string>();
  let events = 0;
  for await (const page of pagesOf(store)) {
    for (const event of page) take(event, log, byStream);
    events += page.length;
    onProgress(events);
  }
  const heads = createHash('sha256');
  for (const stream of [...byStream.keys()].sort())
    heads.update(`${JSON.stringify(stream)} ${must(byStream.get(stream))}\n`);
  return { events, streams: byStream.size, log: log.digest('hex'), heads: heads.digest('hex'), byStream };
}

/** Names of streams that differ between both; at most `limit`. */
export function differingStreams(one: LogDigest, other: LogDigest, limit: number): string[] {
  const names = new Set([...one.byStream.keys(), ...other.byStream.keys()]);
  return [...names]
    .filter((stream) => one.byStream.get(stream) !== other.byStream.get(stream))
    .sort()
    .slice(0, limit);
}

function take(event: RecordedEvent, log: Hash, byStream: Map<string, string>): void {
  const { stream, revision, hash } = event;
  if (hashRecorded(event) !== hash)
    throw new Error(`event ${revision} of stream ${stream} does not have the hash it was written with`);
  const before = byStream.get(stream);
  const length = before === undefined ? 0 : Number(before.slice(0, before.indexOf(' ')));
  if (revision !== length) throw new Error(`event ${revision} of stream ${stream} comes where event ${length} belongs`);
  byStream.set(stream, `${length + 1} ${hash}`);
  log.update(`${hash}\n`);
}
