import type { SessionPersonalData } from '../../domain/events/session-personal-data.ts';
import type { SessionId } from '../../domain/values/ids.ts';
import type { CoCommit } from '../../ports/event-log/event-store.ts';
import type { MadeSalt, PersonalKeys } from '../../ports/event-log/personal-keys.ts';
import { must } from '../../domain/values/must.ts';

/** Encrypts text with a key derived from the master key and an erasable salt, bound to its subject. */
export interface PersonalSeal {
  seal(salt: Uint8Array, subject: string, plain: string): string;
  open(salt: Uint8Array, subject: string, sealed: string): string;
}

/** Personal data of sessions: sealed inside the events, readable until the session's salt is erased. */
export class PersonalData {
  readonly #keys: PersonalKeys;
  readonly #seal: PersonalSeal;
  /** Recently created salts for later texts, by session; they may not be stored yet. */
  readonly #fresh = new Map<SessionId, MadeSalt>();

  constructor(keys: PersonalKeys, seal: PersonalSeal) {
    this.#keys = keys;
    this.#seal = seal;
  }

  /**
   * Seals the merchant's data; null if there is none, or for the retry of a session that was forgotten. Append
   * `coCommit` together with the event that holds the text.
   */
  async sealNew(id: SessionId, data: SessionPersonalData): Promise<{ sealed: string; coCommit?: CoCommit } | null> {
    if (Object.values(data).every((value) => value === undefined)) return null;
    const made = await this.#keys.create(id);
    return made && this.#sealed(made, id, JSON.stringify(data));
  }

  /** Null if there is none or its salt was erased. */
  async open(id: SessionId, sealed: string | null): Promise<SessionPersonalData | null> {
    const text = await this.openText(id, sealed);
    return text === null ? null : (JSON.parse(text) as SessionPersonalData);
  }

  /**
   * Seals a later text of the same session, such as a refund's reason. `earlier`: what was sealed for the session
   * before. Null if that can no longer be opened because its salt was erased: the session was forgotten, and must not
   * get a new salt.
   */
  async sealText(
    id: SessionId,
    plain: string,
    earlier: readonly (string | null)[],
  ): Promise<{ sealed: string; coCommit?: CoCommit } | null> {
    const known = await this.#keys.get(id);
    if (known) return { sealed: this.#seal.seal(known, id, plain) };
    if (earlier.some((sealed) => sealed !== null)) return null;
    const made = await this.#made(id);
    return made && this.#sealed(made, id, plain);
  }

  async openText(id: SessionId, sealed: string | null): Promise<string | null> {
    if (sealed === null) return null;
    const salt = await this.#keys.get(id);
    return salt ? this.#seal.open(salt, id, sealed) : null;
  }

  /** Makes the session's personal data unreadable forever. Rejects with `MayNotErase`. */
  async erase(id: SessionId): Promise<void> {
    this.#fresh.delete(id);
    await this.#keys.erase(id);
  }

  #sealed({ salt, coCommit }: MadeSalt, id: SessionId, plain: string): { sealed: string; coCommit?: CoCommit } {
    return { sealed: this.#seal.seal(salt, id, plain), ...(coCommit !== undefined && { coCommit }) };
  }

  /** Texts sealed at the same time share one salt; with two, the later one stored would replace the other. */
  #made(id: SessionId): MadeSalt | Promise<MadeSalt | null> {
    const fresh = this.#fresh.get(id);
    if (fresh) return fresh;
    return this.#keys.create(id).then((made) => {
      const first = this.#fresh.get(id);
      if (first || !made) return first ?? null;
      if (this.#fresh.size >= MAX_FRESH) this.#fresh.delete(must(this.#fresh.keys().next().value));
      this.#fresh.set(id, made);
      return made;
    });
  }
}

/** Far more than the number of concurrent requests. */
const MAX_FRESH = 10_000;
