import type { EventStore } from './event-store.ts';

/** A store with the methods of `own` in place of those of `store`. */
export function storeWith(store: EventStore, own: Partial<EventStore>): EventStore {
  return {
    append: (request) => store.append(request),
    readStream: (stream, options) => store.readStream(stream, options),
    lastOfStream: (stream) => store.lastOfStream(stream),
    readAll: (options) => store.readAll(options),
    subscribe: (options) => store.subscribe(options),
    head: () => store.head(),
    close: () => store.close(),
    ...own,
  };
}
