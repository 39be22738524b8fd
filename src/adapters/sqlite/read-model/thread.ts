import { Worker } from 'node:worker_threads';
import { StoreUnavailable } from '../../../ports/event-log/event-store.ts';
import type { Change, OwnedRows } from '../../../ports/read-model/read-model.ts';
import { flatten, type Apply, type FlatChanges } from './changes.ts';
import type { FromWriter, ToWriter, Turn } from './server.ts';
import { threadEnvironment } from '../../../runtime/util/thread-environment.ts';

/** A writer that groups applies into commits. */
export interface AsyncWriter {
  apply(apply: Apply<readonly Change[]>): Promise<void>;
  /** Rows that are not served yet, as texts in the order of the keys. */
  nextRows(table: string, keys: readonly string[]): Promise<readonly (string | null)[]>;
  turn(turn: Turn, owned: OwnedRows): Promise<void>;
  /** Applies the queue first. */
  close(): Promise<void>;
}

interface Waiting {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

interface QueuedApply extends Waiting {
  readonly apply: Apply<FlatChanges>;
}

type Answer = Exclude<FromWriter, { kind: 'ready' }>;
type Settle = (answer: Answer) => void;

/** The caller's end of the writer's thread. One batch of applies is in flight; the queue becomes the next. */
export class WriterThread implements AsyncWriter {
  readonly #worker: Worker;
  readonly #pending = new Map<number, { settle: Settle; fail: (error: Error) => void }>();
  #queue: QueuedApply[] = [];
  #isApplying = false;
  #lastId = 0;
  #gone: Error | null = null;

  private constructor(worker: Worker) {
    this.#worker = worker;
    worker.on('message', (message: FromWriter) => {
      if (message.kind === 'ready') return;
      const waiting = this.#pending.get(message.id);
      this.#pending.delete(message.id);
      waiting?.settle(message);
    });
    worker.on('error', (error: Error) =>
      this.#fail(new StoreUnavailable(`the read model's writer failed: ${error.message}`)),
    );
    worker.on('exit', () => this.#fail(new StoreUnavailable("the read model's writer has ended")));
  }

  static start(file: string): Promise<WriterThread> {
    return WriterThread.over(
      new Worker(new URL('./worker.ts', import.meta.url), {
        name: 'read-model',
        workerData: { file },
        execArgv: [],
        env: threadEnvironment(),
      }),
    );
  }

  /** `worker` runs `serveWriter` on its parent port. */
  static async over(worker: Worker): Promise<WriterThread> {
    await new Promise<void>((resolve, reject) => {
      worker.once('message', () => resolve());
      worker.once('error', reject);
    });
    return new WriterThread(worker);
  }

  apply(given: Apply<readonly Change[]>): Promise<void> {
    if (this.#gone) return Promise.reject(this.#gone);
    const apply = { ...given, changes: flatten(given.changes) };
    return new Promise((resolve, reject) => {
      this.#queue.push({ apply, resolve, reject });
      // Deferred, so that applies of several projections for the same events become one commit.
      if (!this.#isApplying && this.#queue.length === 1) queueMicrotask(() => this.#send());
    });
  }

  async nextRows(table: string, keys: readonly string[]): Promise<readonly (string | null)[]> {
    const answer = await this.#ask((id) => ({ kind: 'next-rows', id, table, keys }));
    return answer.kind === 'rows' ? answer.rows : [];
  }

  turn(turn: Turn, { projection, tables, lists }: OwnedRows): Promise<void> {
    return this.#ask((id) => ({ kind: 'turn', id, turn, owned: { projection, tables, lists } })).then(() => undefined);
  }

  async close(): Promise<void> {
    if (this.#gone) return;
    while (this.#queue.length > 0 || this.#isApplying) await new Promise((resolve) => setImmediate(resolve));
    const ended = new Promise((resolve) => this.#worker.once('exit', resolve));
    await this.#ask((id) => ({ kind: 'close', id }));
    await ended;
  }

  #send(): void {
    if (this.#isApplying || this.#queue.length === 0) return;
    const sent = this.#queue;
    this.#queue = [];
    this.#isApplying = true;
    const settle: Settle = (answer) => {
      this.#isApplying = false;
      sent.forEach((one, index) => {
        const error = errorOf(answer, index);
        if (error) one.reject(new Error(`the read model refused ${one.apply.projection}: ${error}`));
        else one.resolve();
      });
      this.#send();
    };
    const fail = (error: Error): void => sent.forEach((one) => one.reject(error));
    this.#post((id) => ({ kind: 'apply', id, batch: sent.map((one) => one.apply) }), settle, fail);
  }

  #ask(message: (id: number) => ToWriter): Promise<Answer> {
    if (this.#gone) return Promise.reject(this.#gone);
    return new Promise((resolve, reject) => {
      const settle: Settle = (answer) => {
        const error = errorOf(answer, 0);
        if (error) reject(new Error(error));
        else resolve(answer);
      };
      this.#post(message, settle, reject);
    });
  }

  #post(message: (id: number) => ToWriter, settle: Settle, fail: (error: Error) => void): void {
    this.#lastId += 1;
    this.#pending.set(this.#lastId, { settle, fail });
    this.#worker.postMessage(message(this.#lastId));
  }

  #fail(error: Error): void {
    this.#gone ??= error;
    for (const { fail } of this.#pending.values()) fail(error);
    for (const { reject } of this.#queue) reject(error);
    this.#pending.clear();
    this.#queue = [];
    this.#isApplying = false;
  }
}

const errorOf = (answer: Answer, index: number): string | null =>
  answer.kind === 'done' ? (answer.errors[index] ?? null) : null;
