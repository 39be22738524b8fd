import { parentPort, workerData } from 'node:worker_threads';
import type { FlatApply } from './read-model-changes.ts';
import { ReadModelWriter } from './read-model-writer.ts';

/* The writer's thread: SQLite's commits never hold up the requests. */

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

const port = parentPort!;
const writer = new ReadModelWriter((workerData as { file: string }).file);
const tell = (message: FromWriter): void => port.postMessage(message);
let isSweeping = false;
let isClosed = false;

port.on('message', (message: ToWriter) => {
  tell({ kind: 'done', id: message.id, errors: handle(message) });
  if (message.kind === 'close') port.close();
  else if (message.kind === 'clear') sweepOn();
});
sweepOn();
tell({ kind: 'ready' });

function handle(message: ToWriter): (string | null)[] {
  if (message.kind === 'apply') return writer.apply(message.batch);
  try {
    if (message.kind === 'clear') writer.clear(message.projection, message.tables, message.lists);
    else closeWriter();
    return [null];
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}

function closeWriter(): void {
  isClosed = true;
  writer.close();
}

/** Between messages, so that applies go first. */
function sweepOn(): void {
  if (isSweeping) return;
  isSweeping = true;
  const step = (): void => {
    if (!isClosed && writer.sweep()) setImmediate(step);
    else isSweeping = false;
  };
  setImmediate(step);
}
