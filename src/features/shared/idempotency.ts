import { hash } from 'node:crypto';
import type { RequestAccepted } from '../../domain/events/operations-events.ts';
import type { Refusal } from '../../domain/result.ts';
import { idempotencyStream } from '../../domain/streams.ts';
import { toSec, type Clock } from '../../ports/clock.ts';
import type { EventStore } from '../../ports/event-store.ts';
import type { Random } from '../../ports/random.ts';
import { decodeEvent, encodeEvent } from '../../runtime/commands/codec.ts';
import type { Caller } from './merchant-api.ts';

export type Admission =
  | { readonly ok: true; readonly givenId: string; readonly stream: string | null; readonly repeated: boolean }
  | { readonly ok: false; readonly refusal: Refusal };

/**
 * Keeps `Idempotency-Key` promises as events, not in a cache: the first request with a key fixes its hash and the id of
 * what it creates *before* the command runs, so a retry after a crash between the two appends continues the same one.
 */
export class Idempotency {
  readonly #store: EventStore;
  readonly #clock: Clock;
  readonly #random: Random;

  constructor(deps: { store: EventStore; clock: Clock; random: Random }) {
    this.#store = deps.store;
    this.#clock = deps.clock;
    this.#random = deps.random;
  }

  /** `newId` is used when the request is the first of its key, or carries none. */
  async admit(caller: Caller, operation: string, requestHash: string, newId: () => string): Promise<Admission> {
    if (caller.idempotencyKey === undefined) return { ok: true, givenId: newId(), stream: null, repeated: false };
    const stream = idempotencyStream(caller.mode, caller.merchantId, hash('sha256', caller.idempotencyKey, 'hex'));
    const known = await this.#known(stream);
    if (known) return this.#compare(known, operation, requestHash, stream);
    const event: RequestAccepted = {
      type: 'RequestAccepted',
      data: { requestHash, operation, givenId: newId(), acceptedAtSec: toSec(this.#clock.nowMs()) },
    };
    const metadata = { correlationId: caller.requestId, actor: `merchant:${caller.merchantId}`, prev: '' };
    const encoded = encodeEvent({ id: this.#random.uuid(), stream, revision: 0, atMs: this.#clock.nowMs(), event, metadata });
    const result = await this.#store.append({ stream, expected: 'no-stream', events: [encoded] });
    if (result.ok) return { ok: true, givenId: event.data.givenId, stream, repeated: false };
    const winner = await this.#known(stream);
    if (!winner) throw new Error('an idempotency stream refused its first event but holds none');
    return this.#compare(winner, operation, requestHash, stream);
  }

  async #known(stream: string): Promise<RequestAccepted['data'] | null> {
    const [first] = await this.#store.readStream(stream, { limit: 1 });
    return first ? (decodeEvent(first).event as RequestAccepted).data : null;
  }

  #compare(known: RequestAccepted['data'], operation: string, requestHash: string, stream: string): Admission {
    if (known.operation === operation && known.requestHash === requestHash) return { ok: true, givenId: known.givenId, stream, repeated: true };
    return {
      ok: false,
      refusal: { code: 'idempotency_conflict', message: 'Idempotency-Key was used with another request', param: 'Idempotency-Key' },
    };
  }
}
