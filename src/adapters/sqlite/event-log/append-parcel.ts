import type { EncodedEvent, CoCommit } from '../../../ports/event-log/event-store.ts';
import type { Commit, JobOutcome, AppendJob, StreamHead, Tail } from './append-job.ts';
import { must } from '../../../domain/values/must.ts';

/* One string crosses threads several times faster than a tree of objects, and every event takes this path. */

/** ASCII "unit separator": stream names are printable, and JSON text never contains a raw control character. */
export const SEPARATOR = '\u001f';

const FIELDS_OF_TAIL = 2;
const FIELDS_OF_JOB = 7;
const FIELDS_OF_EVENT = 7;

/** Sent instead of a packed order once everything is committed, so that the thread may end. */
export const CLOSE = '';

/** A request to the committing thread: a batch, and the end of the log at the handover. */
export interface AppendOrder {
  readonly jobs: readonly AppendJob[];
  readonly tail: Tail | null;
}

export function packOrder({ jobs, tail }: AppendOrder): string {
  const fields: (string | number)[] = [tail?.position ?? '', tail?.chain ?? ''];
  for (const { stream, expected, number, head, events, coCommits } of jobs) {
    fields.push(
      stream,
      expected,
      number ?? '',
      head?.revision ?? '',
      head?.hash ?? '',
      events.length,
      coCommits?.length ?? '',
    );
    for (const { id, type, version, atMs, data, metadata, hash } of events)
      fields.push(id, type, version, atMs, data, metadata, hash);
    for (const { kind, values } of coCommits ?? []) {
      fields.push(kind, values.length);
      for (const value of values) fields.push(textOfValue(value));
    }
  }
  return fields.join(SEPARATOR);
}

export function unpackOrder(text: string): AppendOrder {
  const fields = text.split(SEPARATOR);
  const [position, chain] = fields as [string, string];
  const jobs: AppendJob[] = [];
  let at = FIELDS_OF_TAIL;
  while (at < fields.length) {
    const stream = must(fields[at]);
    const expected = Number(fields[at + 1]);
    const number = numberOf(must(fields[at + 2]));
    const revision = numberOf(must(fields[at + 3]));
    const head: StreamHead | undefined =
      revision === undefined ? undefined : { number: must(number), revision, hash: must(fields[at + 4]) };
    const eventCount = Number(fields[at + 5]);
    const coCommitCount = numberOf(must(fields[at + 6]));
    at += FIELDS_OF_JOB;
    const events: EncodedEvent[] = [];
    for (; events.length < eventCount; at += FIELDS_OF_EVENT) events.push(unpackEvent(fields, at));
    let coCommits: CoCommit[] | undefined;
    if (coCommitCount !== undefined) {
      coCommits = [];
      while (coCommits.length < coCommitCount) {
        const coCommit = unpackCoCommit(fields, at);
        coCommits.push(coCommit);
        at += 2 + coCommit.values.length;
      }
    }
    jobs.push({ stream, expected, events, coCommits, head, number });
  }
  return { jobs, tail: position === '' ? null : { position: Number(position), chain } };
}

const numberOf = (field: string): number | undefined => (field === '' ? undefined : Number(field));

function unpackEvent(fields: readonly string[], at: number): EncodedEvent {
  return {
    id: must(fields[at]),
    type: must(fields[at + 1]),
    version: Number(fields[at + 2]),
    atMs: Number(fields[at + 3]),
    data: must(fields[at + 4]),
    metadata: must(fields[at + 5]),
    hash: must(fields[at + 6]),
  };
}

function unpackCoCommit(fields: readonly string[], at: number): CoCommit {
  const values = fields.slice(at + 2, at + 2 + Number(fields[at + 1])).map(valueOfText);
  return { kind: fields[at] as CoCommit['kind'], values };
}

/** Bytes as hex after a letter with which no JSON text begins. */
const textOfValue = (value: string | number | Uint8Array): string =>
  value instanceof Uint8Array
    ? `x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}`
    : JSON.stringify(value);

const valueOfText = (text: string): string | number | Uint8Array =>
  text.startsWith('x') ? new Uint8Array(Buffer.from(text.slice(1), 'hex')) : (JSON.parse(text) as string | number);

/**
 * The result of a batch: the new end of the hash chain, and only those outcomes that the sender cannot derive. For
 * successful appends the chain is usually all.
 */
export type CommitParcel = string | { readonly chain: string; readonly others: ReadonlyMap<number, JobOutcome> };

export function packCommit({ outcomes, tail: { chain } }: Commit, jobs: readonly AppendJob[]): CommitParcel {
  let others: Map<number, JobOutcome> | null = null;
  for (const [index, outcome] of outcomes.entries()) {
    const isKnown = outcome.kind === 'appended' && numberOfAppended(must(jobs[index]), outcome.position) !== undefined;
    if (!isKnown) (others ??= new Map()).set(index, outcome);
  }
  return others === null ? chain : { chain, others };
}

/** `after`: position of the end of the log before the batch. */
export function unpackCommit(parcel: CommitParcel, jobs: readonly AppendJob[], after: number): Commit {
  const { chain, others } = typeof parcel === 'string' ? { chain: parcel, others: null } : parcel;
  let position = after;
  const outcomes = jobs.map((job, index): JobOutcome => {
    const { expected, events } = job;
    const other = others?.get(index);
    if (other === undefined || other.kind === 'appended') position += events.length;
    if (other) return other;
    const head = {
      number: must(numberOfAppended(job, position)),
      revision: expected + events.length,
      hash: must(events.at(-1)).hash,
    };
    return { kind: 'appended', head, position };
  });
  return { outcomes, tail: { position, chain } };
}

/**
 * A stream's number is the position of its first event, which a new stream has just received. `position`: of the last
 * event.
 */
const numberOfAppended = ({ expected, events, number }: AppendJob, position: number): number | undefined =>
  expected < 0 ? position - events.length + 1 : number;
