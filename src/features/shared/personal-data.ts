import type { SessionPersonalData } from '../../domain/events/session-personal-data.ts';
import type { SessionId } from '../../domain/ids.ts';
import type { CoCommit } from '../../ports/event-store.ts';
import type { PersonalKeys } from '../../ports/personal-keys.ts';

/** Encrypts text with a key derived from the master key and an erasable salt; bound to its subject. */
export interface PersonalSeal {
  seal(salt: Uint8Array, subject: string, plain: string): string;
  open(salt: Uint8Array, subject: string, sealed: string): string;
}

/** Personal data of sessions: sealed inside the events, readable until the session's salt is erased. */
export class PersonalData {
  readonly #keys: PersonalKeys;
  readonly #seal: PersonalSeal;
  /** Salts that were made for later texts last, by session: they may not be stored yet. */
  readonly #fresh = new Map<SessionId, Made>();

  constructor(keys: PersonalKeys, seal: PersonalSeal) {
    this.#keys = keys;
    this.#seal = seal;
  }

  /**
   * Seals what the merchant said; null when it said nothing. The coCommit goes with the event that holds the text. `renewed`: the session
   * had been forgotten, and must be again unless this text is stored.
   */
  async sealNew(id: SessionId, data: SessionPersonalData): Promise<{ sealed: string; coCommit?: CoCommit; renewed?: boolean } | null> {
    if (Object.values(data).every((value) => value === undefined)) return null;
    const { salt, coCommit, renewed } = await this.#keys.create(id);
    const sealed = this.#seal.seal(salt, id, JSON.stringify(data));
    return { sealed, ...(coCommit !== undefined && { coCommit }), ...(renewed === true && { renewed }) };
  }

  /** Null when there is none or its salt was erased. */
  async open(id: SessionId, sealed: string | null): Promise<SessionPersonalData | null> {
    const text = await this.openText(id, sealed);
    return text === null ? null : (JSON.parse(text) as SessionPersonalData);
  }

  /**
   * Seals a later text of the same session, such as a refund's reason. `earlier`: what was sealed for the session before. Null when that
   * can no longer be opened because its salt was erased: the session was forgotten, and another salt would pass for the one it had.
   */
  async sealText(id: SessionId, plain: string, earlier: readonly (string | null)[]): Promise<{ sealed: string; coCommit?: CoCommit } | null> {
    const known = await this.#keys.get(id);
    if (known) return { sealed: this.#seal.seal(known, id, plain) };
    if (earlier.some((sealed) => sealed !== null)) return null;
    const { salt, coCommit } = await this.#made(id);
    const sealed = this.#seal.seal(salt, id, plain);
    return coCommit === undefined ? { sealed } : { sealed, coCommit };
  }

  async openText(id: SessionId, sealed: string | null): Promise<string | null> {
    if (sealed === null) return null;
    const salt = await this.#keys.get(id);
    return salt ? this.#seal.open(salt, id, sealed) : null;
  }

  /** Makes the session's personal data unreadable for ever. */
  async erase(id: SessionId): Promise<void> {
    this.#fresh.delete(id);
    await this.#keys.erase(id);
  }

  /** Texts that are sealed at the same time share one salt: of two, the later one stored would take the place of the other. */
  #made(id: SessionId): Made | Promise<Made> {
    const fresh = this.#fresh.get(id);
    if (fresh) return fresh;
    return this.#keys.create(id).then((made) => {
      const first = this.#fresh.get(id);
      if (first) return first;
      if (this.#fresh.size >= MAX_FRESH) this.#fresh.delete(this.#fresh.keys().next().value!);
      this.#fresh.set(id, made);
      return made;
    });
  }
}

type Made = Awaited<ReturnType<PersonalKeys['create']>>;

/** Far more than the requests that are under way at once. */
const MAX_FRESH = 10_000;
