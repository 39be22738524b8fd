import { MemoryEventStore } from './memory-event-store.ts';

/** Fails once, before or after the append with this number from when it was armed. */
export class FailingStore extends MemoryEventStore {
  failAt: { readonly append: number; readonly durable: boolean } | null = null;
  #appends = 0;

  override async append(request: Parameters<MemoryEventStore['append']>[0]) {
    this.#appends += 1;
    const fails = this.failAt?.append === this.#appends;
    if (fails && !this.failAt!.durable) throw new Error('killed');
    const result = await super.append(request);
    if (fails) throw new Error('killed');
    return result;
  }

  arm(failAt: FailingStore['failAt']): void {
    this.#appends = 0;
    this.failAt = failAt;
  }
}
