import type { MessagePort } from 'node:worker_threads';
import type { TimeOfRow } from '../../../ports/read-model/projection.ts';
import type { OwnedRows } from '../../../ports/read-model/read-model.ts';
import { replay, type Apply, type FlatChanges } from './changes.ts';
import type { ReadModelWriter } from './writer.ts';
import { messageOf } from '../../../runtime/util/message-of.ts';

/* Messages between the writer's thread and the others. */

export type ToWriter =
  | { readonly kind: 'apply'; readonly id: number; readonly batch: readonly Apply<FlatChanges>[] }
  | { readonly kind: 'next-rows'; readonly id: number; readonly table: string; readonly keys: readonly string[] }
  | { readonly kind: 'turn'; readonly id: number; readonly turn: Turn; readonly owned: OwnedRows }
  | { readonly kind: 'close'; readonly id: number };

/** Operations on all rows of a projection. */
export type Turn = 'clear' | 'beginNext' | 'dropNext' | 'promote';

export type FromWriter =
  | { readonly kind: 'ready' }
  | { readonly kind: 'done'; readonly id: number; readonly errors: readonly (string | null)[] }
  | { readonly kind: 'rows'; readonly id: number; readonly rows: readonly (string | null)[] };

/** Serves the writer to the other end of the port until that closes it. */
export function serveWriter(port: MessagePort, writer: ReadModelWriter): void {
  const tell = (message: FromWriter): void => port.postMessage(message);
  port.on('message', (message: ToWriter) => {
    tell(answer(writer, message));
    if (message.kind === 'close') port.close();
    else if (message.kind === 'turn') sweepOn(writer);
  });
  sweepOn(writer);
  tell({ kind: 'ready' });
}

function answer(writer: ReadModelWriter, message: ToWriter): FromWriter {
  const { kind, id } = message;
  const done = (...errors: (string | null)[]): FromWriter => ({ kind: 'done', id, errors });
  if (kind === 'apply')
    return done(
      ...writer.apply(message.batch.map((apply) => ({ ...apply, changes: (target) => replay(apply.changes, target) }))),
    );
  try {
    if (kind === 'next-rows') return { kind: 'rows', id, rows: writer.nextRows(message.table, message.keys) };
    if (kind === 'turn') writer[message.turn](message.owned);
    else writer.close();
    return done(null);
  } catch (error) {
    return done(messageOf(error));
  }
}

/** Pause before a failed removal is retried. */
const SWEEP_AGAIN_MS = 1_000;

/** Removes dropped data in small steps, so that applies go first. */
export function sweepOn(writer: Pick<ReadModelWriter, 'sweep'>): void {
  setImmediate(() => {
    try {
      if (writer.sweep()) sweepOn(writer);
    } catch {
      // For example a full disk: invisible data can wait, and must not end the thread of all applies.
      setTimeout(() => sweepOn(writer), SWEEP_AGAIN_MS).unref();
    }
  });
}

/** Interval of searching for rows to archive. */
const ARCHIVE_EVERY_MS = 3_600_000;

export interface ArchiveOptions {
  readonly times: Readonly<Record<string, TimeOfRow>>;
  /**
   * How long ago a row's time must have ended. Null: archives nothing more, and leaves archived rows where they are.
   */
  readonly afterSec: number | null;
  readonly nowMs: () => number;
  readonly onError: (error: unknown) => void;
}

/** Archives rows when they are due, in small steps, and removes copies of those that were written again. */
export function archiveOn(
  writer: Pick<ReadModelWriter, 'archive' | 'sweep'>,
  { times, afterSec, nowMs, onError }: ArchiveOptions,
): void {
  const pass = async (): Promise<void> => {
    sweepOn(writer);
    if (afterSec === null) return;
    const beforeSec = Math.floor(nowMs() / 1_000) - afterSec;
    for (const [table, timeOf] of Object.entries(times))
      for (let after: number | null = 0; after !== null; after = writer.archive(table, timeOf, beforeSec, after))
        await new Promise((resolve) => setImmediate(resolve));
  };
  const repeat = (): void => void pass().catch(onError);
  setInterval(repeat, ARCHIVE_EVERY_MS).unref();
  repeat();
}
