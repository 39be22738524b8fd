import { hash } from 'node:crypto';
import type { RequestAccepted, RequestAnswered } from '../../domain/events/operations-events.ts';
import { refuse, type Refusal } from '../../domain/values/result.ts';
import { idempotencyStream } from '../../domain/values/streams.ts';
import { toSec } from '../../ports/clock.ts';
import type { AppendResult, EventStore, RecordedEvent } from '../../ports/event-log/event-store.ts';
import { appendNext, type AppendNextDeps } from '../../runtime/commands/append-next.ts';
import { decodeEvent, dataOf } from '../../runtime/commands/codec.ts';
import { actorOf, type Caller, type Outcome } from './merchant-api.ts';
import { must } from '../../domain/values/must.ts';

export type Admission =
  | { readonly ok: true; readonly givenId: string; readonly stream: string | null; readonly repeated: boolean }
  | { readonly ok: false; readonly refusal: Refusal };

/** A command that leaves no trace by which its repetition could be recognised. */
export interface OnceCommand<Value> {
  readonly operation: string;
  readonly requestHash: string;
  /** A refusal means that nothing was done; a rejection leaves it unknown. */
  readonly run: () => Promise<Outcome<Value>>;
  /** Whether the command may run again if an earlier run ended before its answer was stored. */
  readonly mayRunTwice: boolean;
}

type IdempotencyDeps = AppendNextDeps & { readonly store: EventStore };

/**
 * Implements `Idempotency-Key` with events instead of a cache: the first request with a key fixes its hash and the id
 * of what it creates *before* the command runs, so a retry after a crash between the two appends continues the same
 * command.
 */
export class Idempotency {
  readonly #deps: IdempotencyDeps;
  readonly #running = new Map<string, Promise<Outcome<unknown>>>();

  constructor(deps: IdempotencyDeps) {
    this.#deps = deps;
  }

  /** `newId` is used if the request is the first of its key, or has none. */
  async admit(caller: Caller, operation: string, requestHash: string, newId: () => string): Promise<Admission> {
    if (caller.idempotencyKey === undefined) return { ok: true, givenId: newId(), stream: null, repeated: false };
    const stream = idempotencyStream(caller.mode, caller.merchantId, hash('sha256', caller.idempotencyKey, 'hex'));
    const known = await this.#known(stream);
    if (known) return this.#compare(known, operation, requestHash, stream);
    const event: RequestAccepted = {
      type: 'RequestAccepted',
      data: { requestHash, operation, givenId: newId(), acceptedAtSec: toSec(this.#deps.clock.nowMs()) },
    };
    const result = await this.#append(caller, stream, event, null);
    if (result.ok) return { ok: true, givenId: event.data.givenId, stream, repeated: false };
    const winner = await this.#known(stream);
    if (!winner) throw new Error('an idempotency stream refused its first event but holds none');
    return this.#compare(winner, operation, requestHash, stream);
  }

  /**
   * Runs the command for the first request of its key. Every later one receives the answer of that run, even while it
   * is in progress.
   */
  async once<Value>(caller: Caller, command: OnceCommand<Value>): Promise<Outcome<Value>> {
    const admission = await this.admit(caller, command.operation, command.requestHash, () => '');
    if (!admission.ok) return admission;
    const { stream } = admission;
    if (stream === null) return command.run();
    const running = this.#running.get(stream);
    if (running) return asRepeated((await running) as Outcome<Value>);
    const run = this.#runKept(caller, command, stream, admission.repeated);
    this.#running.set(stream, run);
    return run.finally(() => this.#running.delete(stream));
  }

  async #runKept<Value>(
    caller: Caller,
    command: OnceCommand<Value>,
    stream: string,
    repeated: boolean,
  ): Promise<Outcome<Value>> {
    if (repeated) {
      const answered = await this.#answerOf(stream);
      if (answered && answered.answer !== null)
        return { ok: true, value: JSON.parse(answered.answer) as Value, repeated: true };
      if (!answered && !command.mayRunTwice) return UNFINISHED;
    }
    const outcome = await command.run();
    await this.#keep(caller, stream, outcome.ok ? JSON.stringify(outcome.value) : null);
    return outcome;
  }

  async #answerOf(stream: string): Promise<RequestAnswered['data'] | null> {
    const last = must((await this.#deps.store.readStream(stream)).at(-1));
    const { event } = decodeEvent(last);
    return event.type === 'RequestAnswered' ? event.data : null;
  }

  /** Another process that ran the same command may have stored an equivalent answer first. */
  async #keep(caller: Caller, stream: string, answer: string | null): Promise<void> {
    const last = must((await this.#deps.store.readStream(stream)).at(-1));
    const event: RequestAnswered = {
      type: 'RequestAnswered',
      data: { answer, answeredAtSec: toSec(this.#deps.clock.nowMs()) },
    };
    await this.#append(caller, stream, event, last);
  }

  async #append(
    caller: Caller,
    stream: string,
    event: RequestAccepted | RequestAnswered,
    last: RecordedEvent | null,
  ): Promise<AppendResult> {
    return (
      await appendNext(this.#deps, { stream, last, event, actor: actorOf(caller), correlationId: caller.requestId })
    ).result;
  }

  async #known(stream: string): Promise<RequestAccepted['data'] | null> {
    const [first] = await this.#deps.store.readStream(stream, { limit: 1 });
    return first ? dataOf(first, 'RequestAccepted') : null;
  }

  #compare(known: RequestAccepted['data'], operation: string, requestHash: string, stream: string): Admission {
    if (known.operation === operation && known.requestHash === requestHash)
      return { ok: true, givenId: known.givenId, stream, repeated: true };
    return refuse('idempotency_conflict', 'Idempotency-Key was used with another request', 'Idempotency-Key');
  }
}

const UNFINISHED: Outcome<never> = refuse(
  'idempotency_conflict',
  'the first request with this Idempotency-Key was interrupted; check what it did, then continue with a new key',
  'Idempotency-Key',
);

const asRepeated = <Value>(outcome: Outcome<Value>): Outcome<Value> =>
  outcome.ok ? { ...outcome, repeated: true } : outcome;
