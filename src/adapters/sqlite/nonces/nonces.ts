import { hash } from 'node:crypto';
import { type Clock, systemClock, toSec } from '../../../ports/clock.ts';
import { type CoCommit, StoreUnavailable } from '../../../ports/event-log/event-store.ts';
import type { Nonces } from '../../../ports/event-log/nonces.ts';
import { NONCE_LIFETIME_SEC, NonceMemory } from './nonce-memory.ts';
import { NONCES_FILE, NoncesFile, type UsedNonce } from './nonces-file.ts';
import { faultOf } from '../fault.ts';
import type { SqliteEventStore } from '../event-log/event-store.ts';
import { must } from '../../../domain/values/must.ts';

/** Approximate WAL bytes per nonce write: a page, shared by those written together. */
const WRITE_BYTES = 4_500;
const MAX_QUEUED = 100_000;

export interface SqliteNoncesOptions {
  readonly dataDir: string;
  /** Has the nonces that were committed with commands. */
  readonly store: Pick<SqliteEventStore, 'commandNonces' | 'checkpoints'>;
  readonly clock?: Clock;
}

/** Opens the used nonces of a data directory whose log is open. */
export function openSqliteNonces({ dataDir, store, clock = systemClock }: SqliteNoncesOptions): Nonces {
  const nowSec = toSec(clock.nowMs());
  const memory = new NonceMemory();
  const file = new NoncesFile(dataDir, nowSec);
  for (const source of [store.commandNonces(nowSec), file.all()]) {
    for (const { digest, expiresAtSec } of source) memory.add(digest, expiresAtSec, nowSec);
  }
  return new SqliteNonces(memory, file, store);
}

interface Waiting extends UsedNonce {
  readonly nowSec: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

class SqliteNonces implements Nonces {
  readonly #memory: NonceMemory;
  readonly #file: NoncesFile;
  readonly #store: SqliteNoncesOptions['store'];
  #queue: Waiting[] = [];
  #closed = false;

  constructor(memory: NonceMemory, file: NoncesFile, store: SqliteNoncesOptions['store']) {
    this.#memory = memory;
    this.#file = file;
    this.#store = store;
  }

  async burn(
    keyId: string,
    nonce: string,
    nowSec: number,
    durable: 'now' | 'with-command',
  ): Promise<{ accepted: boolean; coCommit?: CoCommit }> {
    const used = usedNonce(keyId, nonce, nowSec);
    if (!this.#memory.add(used.digest, used.expiresAtSec, nowSec)) return { accepted: false };
    if (durable === 'with-command')
      return { accepted: true, coCommit: { kind: 'nonce', values: [used.digest, used.expiresAtSec] } };
    await this.#write(used, nowSec);
    return { accepted: true };
  }

  settle(keyId: string, nonce: string, nowSec: number): Promise<void> {
    return this.#write(usedNonce(keyId, nonce, nowSec), nowSec);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#flush();
    this.#file.close();
  }

  /** All nonces of one event loop turn share a transaction. */
  #write(used: UsedNonce, nowSec: number): Promise<void> {
    if (this.#closed || this.#queue.length >= MAX_QUEUED) {
      return Promise.reject(
        new StoreUnavailable(this.#closed ? 'the nonces are closed' : 'too many nonces are waiting'),
      );
    }
    return new Promise((resolve, reject) => {
      this.#queue.push({ ...used, nowSec, resolve, reject });
      if (this.#queue.length === 1) setImmediate(() => this.#flush());
    });
  }

  #flush(): void {
    const batch = this.#queue;
    if (batch.length === 0) return;
    this.#queue = [];
    try {
      this.#file.write(batch, must(batch.at(-1)).nowSec);
    } catch (error) {
      const { message } = faultOf(error);
      for (const { reject } of batch) reject(new StoreUnavailable(message));
      return;
    }
    this.#store.checkpoints.note(NONCES_FILE, WRITE_BYTES + batch.length * 32);
    for (const { resolve } of batch) resolve();
  }
}

/** A key id contains no NUL, so no two pairs share a text. */
function usedNonce(keyId: string, nonce: string, nowSec: number): UsedNonce {
  const digest = hash('sha256', `${keyId}\0${nonce}`, 'buffer').subarray(0, 16);
  return { digest, expiresAtSec: nowSec + NONCE_LIFETIME_SEC };
}
