import { createHash } from 'node:crypto';
import type { DocumentIssued } from '../../../domain/events/document-events.ts';
import { documentsStream } from '../../../domain/values/streams.ts';
import type { Mode } from '../../../domain/values/ids.ts';
import { toSec } from '../../../ports/clock.ts';
import type { EventStore, RecordedEvent } from '../../../ports/event-log/event-store.ts';
import { appendNext, type AppendNextDeps } from '../../../runtime/commands/append-next.ts';
import type { Tally } from './table.ts';
import { dataOf } from '../../../runtime/commands/codec.ts';

export interface IssueDeps extends AppendNextDeps {
  readonly store: Pick<EventStore, 'append' | 'lastOfStream' | 'readStream'>;
}

/** What is known about a document before it is written. */
export type DocumentFacts = Omit<DocumentIssued['data'], 'sha256' | 'bytes' | 'rows' | 'totals' | 'issuedAtSec'>;

/** Retries when several nodes issue documents at the same moment. */
const ATTEMPTS = 20;
const PAGE = 200;

/**
 * Passes the text through and records the issue in the event log after the last byte. A partial download is not
 * recorded.
 */
export async function* issued(
  deps: IssueDeps,
  facts: DocumentFacts,
  tally: Tally,
  chunks: AsyncIterable<string | Uint8Array>,
): AsyncGenerator<string | Uint8Array> {
  const sha256 = createHash('sha256');
  let bytes = 0;
  for await (const chunk of chunks) {
    sha256.update(chunk);
    bytes += Buffer.byteLength(chunk);
    yield chunk;
  }
  const data = {
    ...facts,
    sha256: sha256.digest('hex'),
    bytes,
    rows: tally.rows,
    totals: tally.totals(),
    issuedAtSec: toSec(deps.clock.nowMs()),
  };
  await append(deps, documentsStream(facts.mode), { type: 'DocumentIssued', data });
}

async function append(deps: IssueDeps, stream: string, event: DocumentIssued): Promise<void> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const last = await deps.store.lastOfStream(stream);
    const { result } = await appendNext(deps, { stream, last, event, actor: event.data.actor });
    if (result.ok) return;
  }
  throw new Error('others are writing at the same time: try again');
}

/** The newest event that issued a file with these bytes; null if there is none. */
export async function issueOf(
  store: Pick<EventStore, 'lastOfStream' | 'readStream'>,
  mode: Mode,
  sha256: string,
): Promise<RecordedEvent | null> {
  const stream = documentsStream(mode);
  let end = ((await store.lastOfStream(stream))?.revision ?? -1) + 1;
  while (end > 0) {
    const from = Math.max(0, end - PAGE);
    const events = await store.readStream(stream, { from, limit: end - from });
    const found = events.findLast((event) => dataOf(event, 'DocumentIssued').sha256 === sha256);
    if (found) return found;
    end = from;
  }
  return null;
}
