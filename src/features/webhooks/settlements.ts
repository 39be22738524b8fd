import type { Position } from '../../ports/event-log/event-store.ts';

/** Events that were read together, and how many of their notifications are not recorded yet. */
export interface Batch {
  readonly position: Position;
  unsettled: number;
}

/** How far the event log was handled: never beyond an event whose notification is not recorded. */
export class Settlements {
  readonly #onMoved: () => void;
  #batches: Batch[] = [];
  #position: Position | null;
  #unsettled = 0;
  #waiting: { readonly limit: number; readonly resolve: () => void }[] = [];

  constructor(position: Position | null, onMoved: () => void) {
    this.#position = position;
    this.#onMoved = onMoved;
  }

  /** Null for the beginning. */
  get position(): Position | null {
    return this.#position;
  }

  get unsettled(): number {
    return this.#unsettled;
  }

  begin(position: Position, unsettled: number): Batch {
    const batch = { position, unsettled };
    this.#batches.push(batch);
    this.#unsettled += unsettled;
    this.#move();
    return batch;
  }

  /** Marks one notification of the batch as recorded. */
  settle(batch: Batch): void {
    batch.unsettled -= 1;
    this.#unsettled -= 1;
    if (batch.unsettled === 0) this.#move();
    if (this.#waiting.length === 0) return;
    this.#waiting = this.#waiting.filter(({ limit, resolve }) => {
      if (this.#unsettled >= limit) return true;
      resolve();
      return false;
    });
  }

  /** Resolves when fewer than `limit` notifications are unsettled. */
  async below(limit: number): Promise<void> {
    if (this.#unsettled < limit) return;
    await new Promise<void>((resolve) => this.#waiting.push({ limit, resolve }));
  }

  #move(): void {
    const open = this.#batches.findIndex((batch) => batch.unsettled > 0);
    const done = this.#batches.splice(0, open < 0 ? this.#batches.length : open);
    const last = done.at(-1);
    if (!last) return;
    this.#position = last.position;
    this.#onMoved();
  }
}
