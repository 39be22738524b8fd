import type { MessagePort } from 'node:worker_threads';
import type { FlatApply } from './read-model-changes.ts';
import type { ReadModelWriter } from './read-model-writer.ts';

/* What crosses between the writer's thread and the others. */

export type ToWriter =
  | { readonly kind: 'apply'; readonly id: number; readonly batch: readonly FlatApply[] }
  | {
      readonly kind: 'clear';
      readonly id: number;
      readonly projection: string;
      readonly tables: readonly string[];
      readonly lists: readonly string[];
    }
  | { readonly kind: 'close'; readonly id: number };

export type FromWriter = { readonly kind: 'ready' } | { readonly kind: 'done'; readonly id: number; readonly errors: readonly (string | null)[] };

/** Serves the writer to the other end of the port until that closes it. */
export function serveWriter(port: MessagePort, writer: ReadModelWriter): void {
  const tell = (message: FromWriter): void => port.postMessage(message);
  port.on('message', (message: ToWriter) => {
    tell({ kind: 'done', id: message.id, errors: handle(writer, message) });
    if (message.kind === 'close') port.close();
    else if (message.kind === 'clear') sweepOn(writer);
  });
  sweepOn(writer);
  tell({ kind: 'ready' });
}

function handle(writer: ReadModelWriter, message: ToWriter): (string | null)[] {
  if (message.kind === 'apply') return writer.apply(message.batch);
  try {
    if (message.kind === 'clear') writer.clear(message.projection, message.tables, message.lists);
    else writer.close();
    return [null];
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}

/** Removes what dropped lists left behind, a little a turn, so that applies go first. */
export function sweepOn(writer: ReadModelWriter): void {
  setImmediate(() => {
    if (writer.sweep()) sweepOn(writer);
  });
}
