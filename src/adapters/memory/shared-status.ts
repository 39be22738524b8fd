import type { JsonValue } from '../../ports/read-model/read-model.ts';
import type { SharedStatus } from '../../ports/shared-status.ts';

/** The shared status of the embedded profile, where publishers and readers share memory. */
export function createMemorySharedStatus(): SharedStatus {
  const notices = new Map<string, JsonValue>();
  return {
    publish: (about, _token, notice) => void notices.set(about, notice),
    read: (about) => notices.get(about) ?? null,
    readAll: (prefix) => new Map([...notices].filter(([about]) => about.startsWith(prefix))),
    refresh: async () => undefined,
    close: async () => notices.clear(),
  };
}
