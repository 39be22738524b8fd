import type { EventStore, Position, RecordedEvent } from '../../ports/event-log/event-store.ts';
import { must } from '../../domain/values/must.ts';

export type LogReader = Pick<EventStore, 'readAll'>;

/** The copy cannot continue: the target is not a prefix of the source, or another writer is active. */
export class CopyRefused extends Error {
  override readonly name = 'CopyRefused';
}

const PAGE = 500;
/** Servers refuse appends of more than one MiB by default; metadata and framing need room too. */
const APPEND_BYTES = 256 * 1024;
const APPEND_EVENTS = 200;

export interface Standing {
  /** Number of events already in the target. */
  readonly copied: number;
  /** Position of the last of them in the source. */
  readonly after: Position | null;
}

/** The whole log, oldest first, in pages. */
export async function* pagesOf(
  store: LogReader,
  after: Position | null = null,
): AsyncGenerator<readonly RecordedEvent[]> {
  for (let from = after; ;) {
    const page = await store.readAll({ after: from, limit: PAGE });
    if (page.length === 0) return;
    yield page;
    from = must(page.at(-1)).position;
  }
}

/**
 * How far an earlier copy got: the target must be a prefix of the source, event for event. Otherwise rejects with
 * `CopyRefused` before anything is written.
 */
export async function standingOf(
  source: LogReader,
  target: LogReader,
  onProgress: (done: number) => void = () => undefined,
): Promise<Standing> {
  let copied = 0;
  let after: Position | null = null;
  for await (const page of pagesOf(target)) {
    const originals = await source.readAll({ after, limit: page.length });
    for (const [index, event] of page.entries()) {
      const original = originals[index];
      if (!original)
        throw new CopyRefused(
          `the target holds more than the source: ${placeOf(event)} is event ${copied + index + 1}, the source ends before it`,
        );
      if (!isSame(original, event))
        throw new CopyRefused(
          `the target is not a copy of the source: its event ${copied + index + 1} is ${placeOf(event)}, the source has ${placeOf(original)} there`,
        );
    }
    copied += page.length;
    after = must(originals.at(-1)).position;
    onProgress(copied);
  }
  return { copied, after };
}

/**
 * Appends what the target lacks, in source order, one append at a time. Events of one stream in one commit become one
 * append. Can be interrupted at any moment; the next run finds where it stopped. Rejects with `CopyRefused` when
 * another writer is active.
 */
export async function copyRest(
  source: LogReader,
  target: Pick<EventStore, 'append'>,
  { copied, after }: Standing,
  onProgress: (done: number) => void = () => undefined,
): Promise<void> {
  let done = copied;
  for await (const page of pagesOf(source, after)) {
    for (const events of appendsOf(page)) {
      const [first] = events;
      const expected = must(first).revision === 0 ? 'no-stream' : must(first).revision - 1;
      const result = await target.append({ stream: must(first).stream, expected, events });
      if (!result.ok)
        throw new CopyRefused(
          `stream ${must(first).stream} of the target ends at revision ${result.actual} instead of ${String(expected)}: somebody else writes to it`,
        );
      done += events.length;
      onProgress(done);
    }
  }
}

/** Groups adjacent events of one stream, up to the size limit of an append. */
function appendsOf(page: readonly RecordedEvent[]): RecordedEvent[][] {
  const appends: RecordedEvent[][] = [];
  let bytes = 0;
  for (const event of page) {
    const current = appends.at(-1);
    const size = event.data.length + event.metadata.length;
    const fits =
      current?.[0]?.stream === event.stream && current.length < APPEND_EVENTS && bytes + size <= APPEND_BYTES;
    bytes = fits ? bytes + size : size;
    if (fits) current.push(event);
    else appends.push([event]);
  }
  return appends;
}

/**
 * The hash covers stream, revision, id, type, version, time, data and metadata; both stores recompute it from what they
 * hold.
 */
const isSame = (one: RecordedEvent, other: RecordedEvent): boolean =>
  one.hash === other.hash && one.stream === other.stream && one.revision === other.revision;

const placeOf = ({ stream, revision }: RecordedEvent): string => `event ${revision} of stream ${stream}`;
