import type { EncodedEvent, Rider } from '../../ports/event-store.ts';
import type { AppendJob, Commit, JobOutcome, StreamHead, Tail } from './committer.ts';

/* One string or one array of numbers crosses threads several times faster than a tree of objects, and this is the way every event takes. */

/** ASCII "unit separator": stream names are printable, and JSON text never holds a bare control character. */
export const SEPARATOR = '\u001f';

export interface AppendParcel {
  readonly text: string;
  /** By the index of their job. */
  readonly riders: ReadonlyMap<number, readonly Rider[]> | null;
}

const FIELDS_OF_JOB = 6;
const FIELDS_OF_EVENT = 7;

export function packJobs(jobs: readonly AppendJob[]): AppendParcel {
  const fields: (string | number)[] = [];
  let riders: Map<number, readonly Rider[]> | null = null;
  for (const [index, job] of jobs.entries()) {
    const { head } = job;
    fields.push(job.stream, job.expected, job.number ?? '', head?.revision ?? '', head?.hash ?? '', job.events.length);
    for (const { id, type, version, atMs, data, metadata, hash } of job.events) fields.push(id, type, version, atMs, data, metadata, hash);
    if (job.riders) (riders ??= new Map()).set(index, job.riders);
  }
  return { text: fields.join(SEPARATOR), riders };
}

export function unpackJobs({ text, riders }: AppendParcel): AppendJob[] {
  const fields = text.split(SEPARATOR);
  const jobs: AppendJob[] = [];
  let at = 0;
  while (at < fields.length) {
    const [stream, expected, number, revision, headHash, count] = fields.slice(at, at + FIELDS_OF_JOB) as [
      string,
      string,
      string,
      string,
      string,
      string,
    ];
    at += FIELDS_OF_JOB;
    const events: EncodedEvent[] = [];
    for (let left = Number(count); left > 0; left -= 1) {
      events.push(unpackEvent(fields, at));
      at += FIELDS_OF_EVENT;
    }
    const head: StreamHead | undefined = revision === '' ? undefined : { number: Number(number), revision: Number(revision), hash: headHash };
    jobs.push({
      stream,
      expected: Number(expected),
      events,
      riders: riders?.get(jobs.length),
      head,
      number: number === '' ? undefined : Number(number),
    });
  }
  return jobs;
}

function unpackEvent(fields: readonly string[], at: number): EncodedEvent {
  return {
    id: fields[at]!,
    type: fields[at + 1]!,
    version: Number(fields[at + 2]),
    atMs: Number(fields[at + 3]),
    data: fields[at + 4]!,
    metadata: fields[at + 5]!,
    hash: fields[at + 6]!,
  };
}

/** What came of a batch. Of an append that went well its sender knows everything but the number of the stream. */
export interface CommitParcel {
  /** Stream numbers by the index of their job; 0 where the outcome is another one. */
  readonly numbers: Float64Array;
  readonly others: ReadonlyMap<number, JobOutcome> | null;
  readonly tail: Tail;
}

export function packCommit({ outcomes, tail }: Commit): CommitParcel {
  const numbers = new Float64Array(outcomes.length);
  let others: Map<number, JobOutcome> | null = null;
  for (const [index, outcome] of outcomes.entries()) {
    if (outcome.kind === 'appended') numbers[index] = outcome.head.number;
    else (others ??= new Map()).set(index, outcome);
  }
  return { numbers, others, tail };
}

/** `after`: the end of the log before the batch. */
export function unpackCommit({ numbers, others, tail }: CommitParcel, jobs: readonly AppendJob[], after: number): Commit {
  let position = after;
  const outcomes = jobs.map(({ expected, events }, index): JobOutcome => {
    const other = others?.get(index);
    if (other) return other;
    position += events.length;
    const head = { number: numbers[index]!, revision: expected + events.length, hash: events.at(-1)!.hash };
    return { kind: 'appended', head, position };
  });
  return { outcomes, tail };
}
