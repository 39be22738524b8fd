import type { SessionId } from '../../domain/ids.ts';

/** Tells listeners that something happened to a session. Carries nothing: they read anew. */
export class SessionChanges {
  readonly #listeners = new Map<SessionId, Set<() => void>>();

  /** Returns the function that ends the listening. */
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
