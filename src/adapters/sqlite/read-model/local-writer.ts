import { give, type Apply } from './changes.ts';
import type { Change, OwnedRows } from '../../../ports/read-model/read-model.ts';
import { sweepOn, type Turn } from './server.ts';
import type { AsyncWriter } from './thread.ts';
import type { ReadModelWriter } from './writer.ts';

interface Queued {
  readonly apply: Apply<readonly Change[]>;
  readonly settle: (error: string | null) => void;
}

/** The writer for callers in its own thread. Applies of one turn become one commit. */
export class LocalWriter implements AsyncWriter {
  readonly #writer: ReadModelWriter;
  #queue: Queued[] = [];

  constructor(writer: ReadModelWriter) {
    this.#writer = writer;
  }

  apply(apply: Apply<readonly Change[]>): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (error: string | null): void =>
        error === null ? resolve() : reject(new Error(`the read model refused ${apply.projection}: ${error}`));
      this.#queue.push({ apply, settle });
      if (this.#queue.length === 1) queueMicrotask(() => this.#commit());
    });
  }

  async nextRows(table: string, keys: readonly string[]): Promise<(string | null)[]> {
    return this.#writer.nextRows(table, keys);
  }

  async turn(turn: Turn, owned: OwnedRows): Promise<void> {
    this.#commit();
    this.#writer[turn](owned);
    sweepOn(this.#writer);
  }

  async close(): Promise<void> {
    this.#commit();
    this.#writer.close();
  }

  #commit(): void {
    const queued = this.#queue;
    this.#queue = [];
    if (queued.length === 0) return;
    const errors = this.#writer.apply(
      queued.map(({ apply }) => ({ ...apply, changes: (target) => give(apply.changes, target) })),
    );
    queued.forEach(({ settle }, index) => settle(errors[index] ?? null));
  }
}
