import type { SessionId } from '../../domain/values/ids.ts';

/** Notifies listeners that a session changed. The notification has no content; listeners read the session again. */
export class SessionChanges {
  readonly #listeners = new Map<SessionId, Set<() => void>>();

  /** Returns the function that unsubscribes. */
  on(id: SessionId, listener: () => void): () => void {
    const listeners = this.#listeners.get(id) ?? new Set();
    listeners.add(listener);
    this.#listeners.set(id, listeners);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#listeners.delete(id);
    };
  }

  emit(id: SessionId): void {
    const listeners = this.#listeners.get(id);
    if (listeners) for (const listener of listeners) listener();
  }
}
