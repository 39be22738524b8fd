import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Tail } from './append-job.ts';
import type { HousekeepingOrder, HousekeepingReply } from './housekeeping-worker.ts';
import { faultOf, type SqliteFault } from '../fault.ts';
import { threadEnvironment } from '../../../runtime/util/thread-environment.ts';

/** Bytes written to a WAL before it is checkpointed. */
const CHECKPOINT_AFTER_BYTES = 4 * 1024 * 1024;

/**
 * Checkpoints WALs into their database files. Writers report what they wrote; their own connections never checkpoint.
 */
export interface Checkpoints {
  /** `file` is a name inside the data directory; `bytes` may be an estimate. */
  note(file: string, bytes: number): void;
}

/** Work that no append waits for, in a separate thread with separate connections. */
export class Housekeeping implements Checkpoints {
  readonly #dataDir: string;
  readonly #written = new Map<string, number>();
  #worker: Worker | null = null;
  #indexed: ((fault: SqliteFault | null) => void) | null = null;
  #closed = false;

  constructor(dataDir: string) {
    this.#dataDir = dataDir;
  }

  note(file: string, bytes: number): void {
    const written = (this.#written.get(file) ?? 0) + bytes;
    this.#written.set(file, written < CHECKPOINT_AFTER_BYTES ? written : 0);
    if (written >= CHECKPOINT_AFTER_BYTES && !this.#closed)
      this.#order({ kind: 'checkpoint', path: join(this.#dataDir, file) });
  }

  /** Adds names to `stream-names.db`, one batch at a time. Returns the fault, or null. */
  indexNames(numbers: ReadonlyMap<string, number>, through: Tail): Promise<SqliteFault | null> {
    return new Promise((resolve) => {
      this.#indexed = resolve;
      this.#order({
        kind: 'index',
        names: [...numbers.keys()].join('\n'),
        numbers: Float64Array.from(numbers.values()),
        through,
      });
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    const worker = this.#worker;
    if (worker === null) return;
    this.#worker = null;
    worker.ref();
    const ended = once(worker, 'exit');
    worker.postMessage({ kind: 'close' } satisfies HousekeepingOrder);
    await ended;
  }

  #order(order: HousekeepingOrder): void {
    this.#worker ??= this.#startWorker();
    this.#worker.postMessage(order);
  }

  #startWorker(): Worker {
    const worker = new Worker(new URL('./housekeeping-worker.ts', import.meta.url), {
      name: 'housekeeping',
      workerData: { dataDir: this.#dataDir },
      execArgv: [],
      env: threadEnvironment(),
    });
    worker.on('message', ({ fault }: HousekeepingReply) => this.#answer(fault));
    worker.on('error', (error) => {
      if (this.#worker === worker) this.#worker = null;
      this.#answer(faultOf(error));
    });
    return worker;
  }

  #answer(fault: SqliteFault | null): void {
    const resolve = this.#indexed;
    this.#indexed = null;
    resolve?.(fault);
  }
}
