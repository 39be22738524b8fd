import { StoreUnavailable, type EventStore } from '../../ports/event-log/event-store.ts';
import { storeWith } from '../../ports/event-log/store-with.ts';

/** Makes a store read-only while it is in use. */
export interface EventLogGuard {
  /** Why appends are refused; null while they are accepted. */
  readonly refusal: string | null;
  /** Null accepts appends again. */
  refuse(reason: string | null): void;
}

/** The store, and the switch that makes it read-only for this process. */
export function guardedStore(store: EventStore): { readonly store: EventStore; readonly guard: EventLogGuard } {
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
