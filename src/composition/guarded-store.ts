import { StoreUnavailable, type EventStore } from '../ports/event-store.ts';
import { storeWith } from '../ports/store-with.ts';

/** A store that can be made read-only while it is in use. */
export interface LedgerGuard {
  /** Why appends are refused; null while they are not. */
  readonly refusal: string | null;
  /** Null takes appends again. */
  refuse(reason: string | null): void;
}

/** The store, and what makes it read-only for this process. */
export function guardedStore(store: EventStore): { readonly store: EventStore; readonly guard: LedgerGuard } {
  let refusal: string | null = null;
  return {
    guard: {
      get refusal() {
        return refusal;
      },
      refuse: (reason) => void (refusal = reason),
    },
    store: storeWith(store, {
      append: (request) =>
        refusal === null
          ? store.append(request)
          : Promise.reject(new StoreUnavailable(`nothing is written: ${refusal}`)),
    }),
  };
}
