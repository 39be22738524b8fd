import { createHash } from 'node:crypto';
import type { CheckpointSigned } from '../../domain/events/operations-events.ts';
import { AUDIT_STREAM } from '../../domain/values/streams.ts';
import type { EventStore, Position, RecordedEvent } from '../../ports/event-log/event-store.ts';
import { headOfEvent } from '../../runtime/merkle/checkpoint-check.ts';
import { isLater, type LogSource } from '../followed-log.ts';
import { SnapshotRefused, type LogAnchor } from './manifest.ts';
import { must } from '../../domain/values/must.ts';
import { dataOf } from '../../runtime/commands/codec.ts';

/*
 * Ties look-ups to the history from which they were built: a signed checkpoint, whose root covers every event before
 * it, and a digest of the events after it.
 */

export interface AnchorDeps {
  readonly store: Pick<EventStore, 'readAll' | 'readStream' | 'lastOfStream' | 'head'>;
  readonly log: LogSource;
}

const PAGE = 1_000;

/** The newest checkpoint in the log; null if none was signed. */
export const newestCheckpoint = ({ store }: AnchorDeps): Promise<RecordedEvent | null> =>
  store.lastOfStream(AUDIT_STREAM);

export async function anchorOf(deps: AnchorDeps, checkpoint: RecordedEvent, through: Position): Promise<LogAnchor> {
  const { revision, id, hash, position } = checkpoint;
  return {
    checkpoint: { revision, id, hash, position },
    since: { through, ...(await digestBetween(deps, signedIn(checkpoint), through)) },
  };
}

const signedIn = (event: RecordedEvent): CheckpointSigned['data'] => dataOf(event, 'CheckpointSigned');

/** Throws `SnapshotRefused` unless the log followed by this process has exactly that history. */
export async function checkAnchor(deps: AnchorDeps, { checkpoint, since }: LogAnchor): Promise<void> {
  const { store, log } = deps;
  const head = await store.head();
  const end = isLater(log, checkpoint.position, since.through) ? checkpoint.position : since.through;
  if (head === null || isLater(log, end, head))
    throw new SnapshotRefused(
      `it goes beyond the event log: it covers events up to ${end}, but the log ends at ${head ?? 'its beginning'}`,
    );
  const [event] = await store.readStream(AUDIT_STREAM, { from: checkpoint.revision, limit: 1 });
  if (!event || event.id !== checkpoint.id || event.hash !== checkpoint.hash || event.position !== checkpoint.position)
    throw new SnapshotRefused(
      `it was made from another event log: the signed checkpoint ${checkpoint.revision} is not the one that it names`,
    );
  const promised = headOfEvent(signedIn(event), null);
  if ('fault' in promised)
    throw new SnapshotRefused(`the signed checkpoint ${checkpoint.revision} is not valid: ${promised.fault}`);
  const found = await digestBetween(deps, signedIn(event), since.through);
  if (found.events !== since.events || found.digest !== since.digest)
    throw new SnapshotRefused(
      `it was made from another event log: what follows the signed checkpoint ${checkpoint.revision} differs`,
    );
}

/**
 * Digest of the events after those that a checkpoint covers, up to and including a position; of none if that is not
 * later.
 */
async function digestBetween(
  { store, log }: AnchorDeps,
  { throughPosition }: CheckpointSigned['data'],
  through: Position,
): Promise<{ events: number; digest: string }> {
  const digest = createHash('sha256');
  let events = 0;
  for (let after = throughPosition; isLater(log, through, after);) {
    const page = (await store.readAll({ after, limit: PAGE })).filter(
      ({ position }) => !isLater(log, position, through),
    );
    for (const { id, hash, position } of page) digest.update(`${id} ${hash} ${position}\n`);
    events += page.length;
    if (page.length === 0) break;
    after = must(page.at(-1)).position;
  }
  return { events, digest: digest.digest('hex') };
}
