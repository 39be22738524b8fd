import { randomUUID } from 'node:crypto';
import { MayNotErase, type MadeSalt, type PersonalKeys } from '../../ports/event-log/personal-keys.ts';
import type { Random } from '../../ports/random.ts';
import { EsdbConnection } from './connection.ts';
import { isFault, StoreDenies } from './faults.ts';
import { StreamNames } from './stream-names.ts';

export interface EsdbPersonalKeysOptions {
  readonly connectionString: string;
  /** Connection of the user who may erase; absent: the same user as for everything else. */
  readonly eraserConnectionString?: string;
  readonly namespace?: string;
  readonly random: Pick<Random, 'bytes'>;
  readonly attemptMs?: number;
  readonly totalMs?: number;
}

/** The subject already has another salt, and with it personal data that the given salt cannot open. */
export class OtherSalt extends Error {
  override readonly name = 'OtherSalt';
}

export interface SharedPersonalKeys extends PersonalKeys {
  /** Stores a salt that was made elsewhere; durable when it resolves. May be repeated. Rejects with `OtherSalt`. */
  adopt(subject: string, salt: Uint8Array): Promise<void>;
  close(): Promise<void>;
}

const SALT_BYTES = 32;

/**
 * Salts next to the event log on the same servers: one stream per subject, hidden from readers of the event log, and
 * tombstoned to erase it, so that the retry of a forgotten session cannot create another. They must survive what Redis
 * may lose, and events must never be deleted. The bytes leave the disks with the server's next scavenge.
 */
export function openEsdbPersonalKeys(options: EsdbPersonalKeysOptions): SharedPersonalKeys {
  return new EsdbPersonalKeys(options);
}

class EsdbPersonalKeys implements SharedPersonalKeys {
  readonly #connection: EsdbConnection;
  readonly #eraser: EsdbConnection;
  readonly #names: StreamNames;
  readonly #random: Pick<Random, 'bytes'>;

  constructor({
    connectionString,
    eraserConnectionString,
    namespace,
    random,
    attemptMs = 3_000,
    totalMs = 12_000,
  }: EsdbPersonalKeysOptions) {
    this.#connection = new EsdbConnection(connectionString, { attemptMs, totalMs });
    this.#eraser =
      eraserConnectionString === undefined
        ? this.#connection
        : new EsdbConnection(eraserConnectionString, { attemptMs, totalMs });
    this.#names = new StreamNames(namespace);
    this.#random = random;
  }

  /** Durable when it resolves. Concurrent calls for one subject return the same salt. */
  async create(subject: string): Promise<MadeSalt | null> {
    const salt = await this.#written(subject, new Uint8Array(this.#random.bytes(SALT_BYTES)));
    return salt && { salt };
  }

  async adopt(subject: string, salt: Uint8Array): Promise<void> {
    const known = await this.#written(subject, new Uint8Array(salt));
    if (!known) throw new OtherSalt(`the personal data of ${subject} was erased there`);
    if (!Buffer.from(known).equals(salt)) throw new OtherSalt(`the personal data of ${subject} has another key there`);
  }

  async get(subject: string): Promise<Uint8Array | null> {
    const read = await this.#read(subject);
    return read instanceof Uint8Array ? read : null;
  }

  async erase(subject: string): Promise<void> {
    if ((await this.get(subject)) === null) return;
    try {
      await this.#eraser.run('erasing a personal key', (client) =>
        client.tombstone(this.#stream(subject), this.#eraser.attemptMs),
      );
    } catch (error) {
      if (error instanceof StoreDenies) throw new MayNotErase(NO_RIGHT);
      // Another process erased it first.
      if (!isFault(error, 'stream-deleted')) throw error;
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#connection.close(), this.#eraser.close()]);
  }

  /**
   * The subject's salt: this one, or the one that it had. Null if it was forgotten, which only the deleted stream says:
   * a salt that was refused because of one that nobody finds is not readable yet.
   */
  async #written(subject: string, salt: Uint8Array): Promise<Uint8Array | null> {
    const event = { id: randomUUID(), type: 'PersonalKeyMade', isJson: false, data: salt, metadata: new Uint8Array(0) };
    try {
      await this.#connection.run('writing a personal key', (client) =>
        client.append({
          stream: this.#stream(subject),
          expected: 'no-stream',
          events: [event],
          deadlineMs: this.#connection.attemptMs,
        }),
      );
      return salt;
    } catch (error) {
      if (isFault(error, 'stream-deleted')) return null;
      if (!isFault(error, 'wrong-revision')) throw error;
    }
    const known = await this.#connection.found('the personal key of the other node', () => this.#read(subject));
    return known === 'deleted' ? null : known;
  }

  #read(subject: string): Promise<Uint8Array | 'deleted' | null> {
    return this.#connection.run('reading a personal key', async (client) => {
      try {
        const [found] = await this.#connection.collect(client, {
          ...{ stream: this.#stream(subject), from: 'end', backwards: true, count: 1 },
        });
        return found ? new Uint8Array(found.data) : null;
      } catch (error) {
        if (isFault(error, 'stream-deleted')) return 'deleted';
        throw error;
      }
    });
  }

  #stream(subject: string): string {
    return this.#names.erasable(`personal-key-${subject}`);
  }
}

const NO_RIGHT =
  'nothing was erased: the user of EVENTSTORE_URL may not, since no node may delete anything; run quittance forget where EVENTSTORE_ERASER_URL is set (docs/operations.md, "Users of the event store")';
