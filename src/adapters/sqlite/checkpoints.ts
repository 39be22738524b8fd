import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { CheckpointOrder } from './checkpoint-worker.ts';

/** Bytes written to a WAL before its pages are carried over into the database file. */
const CHECKPOINT_AFTER_BYTES = 8 * 1024 * 1024;

/**
 * Carries WAL pages over into their database files, in a thread and on connections of its own, so that no commit ever waits
 * for it. Writers report what they wrote; their own connections never checkpoint.
 */
export class Checkpoints {
  readonly #dataDir: string;
  readonly #written = new Map<string, number>();
  #worker: Worker | null = null;
  #closed = false;

  constructor(dataDir: string) {
    this.#dataDir = dataDir;
  }

  /** `file` is a name inside the data directory; `bytes` may be an estimate. */
  note(file: string, bytes: number): void {
    const written = (this.#written.get(file) ?? 0) + bytes;
    this.#written.set(file, written < CHECKPOINT_AFTER_BYTES ? written : 0);
    if (written < CHECKPOINT_AFTER_BYTES || this.#closed) return;
    this.#worker ??= this.#startWorker();
    this.#worker.postMessage({ path: join(this.#dataDir, file) } satisfies CheckpointOrder);
  }

  async close(): Promise<void> {
    this.#closed = true;
    const worker = this.#worker;
    if (worker === null) return;
    this.#worker = null;
    worker.ref();
    const ended = once(worker, 'exit');
    worker.postMessage('close' satisfies CheckpointOrder);
    await ended;
  }

  #startWorker(): Worker {
    const worker = new Worker(new URL('./checkpoint-worker.ts', import.meta.url), { execArgv: [], env: {} });
    worker.unref();
    // A checkpoint that fails costs nothing but a longer WAL: the next one starts a new thread.
    worker.on('error', () => (this.#worker = this.#worker === worker ? null : this.#worker));
    return worker;
  }
}
