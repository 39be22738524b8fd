import type { DomainEvent } from '../../domain/events/domain-event.ts';
import type { EventMetadata } from '../../domain/events/envelope.ts';
import type { Decision, Refusal } from '../../domain/values/result.ts';
import type { Clock } from '../../ports/clock.ts';
import type { EncodedEvent, EventStore, RecordedEvent, CoCommit } from '../../ports/event-log/event-store.ts';
import type { Random } from '../../ports/random.ts';
import { decodeEvent, encodeEvent } from './codec.ts';
import type { MachineState, MachineTable } from './machine-table.ts';
import { type Box, Mailboxes } from './mailboxes.ts';
import type { NotificationIds } from './notification-ids.ts';
import { must } from '../../domain/values/must.ts';

/** A life cycle for the handler: the decider, and the machine that must accept every event. */
export interface Aggregate<Value extends string, Context, Event extends DomainEvent, Command> {
  readonly table: MachineTable<Value, Context, Event>;
  readonly decide: (command: Command, state: MachineState<Value, Context>) => Decision<Event>;
  /** Event types that notify a merchant; they get an `evt_` id when they are decided. */
  readonly notifies: ReadonlySet<string>;
  /** States that rarely change again, which are not cached. */
  readonly isAtRest?: (value: Value) => boolean;
}

/** Cause and actor, stored in the metadata of every event of the command. */
export interface CommandContext {
  readonly correlationId: string;
  readonly actor: string;
  readonly causationId?: string;
  readonly traceParent?: string;
  readonly coCommits?: readonly CoCommit[];
}

export type Executed<Value extends string, Context, Event> =
  | { readonly ok: true; readonly state: MachineState<Value, Context>; readonly events: readonly Event[] }
  | { readonly ok: false; readonly refusal: Refusal; readonly state: MachineState<Value, Context> };

interface Loaded<Value extends string, Context> {
  readonly state: MachineState<Value, Context>;
  readonly revision: number;
  readonly lastHash: string;
}

interface Decided<Value extends string, Context, Event extends DomainEvent> {
  readonly loaded: Loaded<Value, Context>;
  readonly decision: Decision<Event>;
}

export interface HandlerDeps {
  readonly store: EventStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly notificationIds: NotificationIds;
  /** Number of cached states. */
  readonly capacity?: number;
  /** True if no other process appends, so that a cached state is never stale. */
  readonly soleWriter: boolean;
}

/** After this many decisions overtaken by other writers, the caller must retry. */
const MAX_ATTEMPTS = 3;

/**
 * Runs commands one at a time per stream: decide, let the machine accept each event, append with the expected revision,
 * and only then advance the state from which the reply is made.
 */
export class CommandHandler<Value extends string, Context, Event extends DomainEvent, Command> {
  readonly #store: EventStore;
  readonly #aggregate: Aggregate<Value, Context, Event, Command>;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #notificationIds: NotificationIds;
  readonly #mailboxes: Mailboxes<Loaded<Value, Context>>;
  readonly #soleWriter: boolean;

  constructor(options: HandlerDeps & { readonly aggregate: Aggregate<Value, Context, Event, Command> }) {
    this.#store = options.store;
    this.#aggregate = options.aggregate;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#notificationIds = options.notificationIds;
    this.#soleWriter = options.soleWriter;
    this.#mailboxes = new Mailboxes(options.capacity ?? 50_000);
  }

  /**
   * Executes the command. `expectNew` skips reading a stream that most likely does not exist; the append detects a
   * conflict. Rejects with `StoreUnavailable` when the outcome is unknown, `ConcurrencyExhausted` when other writers
   * won.
   */
  execute(
    stream: string,
    command: Command,
    context: CommandContext,
    options: { expectNew?: boolean } = {},
  ): Promise<Executed<Value, Context, Event>> {
    return this.#mailboxes.run(stream, (box) =>
      this.#execute(box, stream, command, context, options.expectNew === true),
    );
  }

  async #execute(
    box: Box<Loaded<Value, Context>>,
    stream: string,
    command: Command,
    context: CommandContext,
    expectNew: boolean,
  ): Promise<Executed<Value, Context, Event>> {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const assumedNew = attempt === 1 && expectNew && box.value === null;
      const { loaded, decision } = assumedNew
        ? this.#decide(this.#absent(), command)
        : await this.#decideOnCurrent(stream, box, command);
      if (!decision.ok) return { ok: false, refusal: decision.refusal, state: loaded.state };
      if (decision.events.length === 0) return { ok: true, state: loaded.state, events: [] };
      const next = this.#fold(loaded.state, decision.events);
      const encoded = this.#encode(stream, loaded, decision.events, context);
      const expected = loaded.revision < 0 ? 'no-stream' : loaded.revision;
      // The stream is unknown until the store has answered, and after a failure; the next command reads it again.
      box.value = null;
      const result = await this.#store.append({ stream, expected, events: encoded, coCommits: context.coCommits });
      if (!result.ok) continue;
      if (this.#aggregate.isAtRest?.(next.value) !== true)
        box.value = { state: next, revision: result.revision, lastHash: must(encoded.at(-1)).hash };
      return { ok: true, state: next, events: decision.events };
    }
    throw new ConcurrencyExhausted(`${stream} changed ${MAX_ATTEMPTS} times while one command was decided`);
  }

  /** The current state, or null if the stream does not exist. Reads the caller's own writes. */
  async read(stream: string): Promise<MachineState<Value, Context> | null> {
    const cached = this.#mailboxes.peek(stream);
    if (cached && this.#soleWriter) return stateOf(cached);
    return this.#mailboxes.run(stream, async (box) => {
      box.value = box.value ? await this.#refresh(stream, box.value) : await this.#load(stream);
      return stateOf(box.value);
    });
  }

  /**
   * If other processes append too, a cached state may be stale. The append detects that if there are events; a decision
   * without events must not be based on a stale state.
   */
  async #decideOnCurrent(
    stream: string,
    box: Box<Loaded<Value, Context>>,
    command: Command,
  ): Promise<Decided<Value, Context, Event>> {
    const cached = box.value;
    const first = this.#decide((box.value ??= await this.#load(stream)), command);
    if (this.#soleWriter || cached === null || (first.decision.ok && first.decision.events.length > 0)) return first;
    box.value = await this.#refresh(stream, cached);
    return box.value === cached ? first : this.#decide(box.value, command);
  }

  #decide(loaded: Loaded<Value, Context>, command: Command): Decided<Value, Context, Event> {
    return { loaded, decision: this.#aggregate.decide(command, loaded.state) };
  }

  #absent(): Loaded<Value, Context> {
    return { state: this.#aggregate.table.initial, revision: -1, lastHash: '' };
  }

  async #load(stream: string): Promise<Loaded<Value, Context>> {
    return this.#replay(this.#absent(), await this.#store.readStream(stream));
  }

  async #refresh(stream: string, loaded: Loaded<Value, Context>): Promise<Loaded<Value, Context>> {
    return this.#soleWriter
      ? loaded
      : this.#replay(loaded, await this.#store.readStream(stream, { from: loaded.revision + 1 }));
  }

  #replay(from: Loaded<Value, Context>, recorded: readonly RecordedEvent[]): Loaded<Value, Context> {
    const last = recorded.at(-1);
    if (!last) return from;
    const events = recorded.map((event) => decodeEvent(event).event as Event);
    return { state: this.#aggregate.table.replay(events, from.state), revision: last.revision, lastHash: last.hash };
  }

  #fold(state: MachineState<Value, Context>, events: readonly Event[]): MachineState<Value, Context> {
    // A decider that proposes what its machine refuses is a bug: replay throws before anything is stored.
    return this.#aggregate.table.replay(events, state);
  }

  #encode(
    stream: string,
    loaded: Loaded<Value, Context>,
    events: readonly Event[],
    context: CommandContext,
  ): EncodedEvent[] {
    const atMs = this.#clock.nowMs();
    let prev = loaded.lastHash;
    return events.map((event, index) => {
      const encoded = encodeEvent({
        id: this.#random.uuid(),
        stream,
        revision: loaded.revision + 1 + index,
        atMs,
        event,
        metadata: this.#metadata(event, prev, context),
      });
      prev = encoded.hash;
      return encoded;
    });
  }

  /** Omits fields without a value; the order of the others is that of the stored text. */
  #metadata(
    { type }: Event,
    prev: string,
    { correlationId, causationId, traceParent, actor }: CommandContext,
  ): EventMetadata {
    const notificationId = this.#aggregate.notifies.has(type) ? this.#notificationIds.next() : undefined;
    return { correlationId, causationId, traceParent, actor, prev, notificationId };
  }
}

const stateOf = <Value extends string, Context>({
  revision,
  state,
}: Loaded<Value, Context>): MachineState<Value, Context> | null => (revision < 0 ? null : state);

/** Other writers changed the stream after every decision of the command. */
export class ConcurrencyExhausted extends Error {
  override readonly name = 'ConcurrencyExhausted';
}

/** Returns a factory of handlers for one kind of aggregate. */
export const handlersOf =
  <Value extends string, Context, Event extends DomainEvent, Command>(
    aggregate: Aggregate<Value, Context, Event, Command>,
    defaults: Pick<HandlerDeps, 'capacity'> = {},
  ) =>
  (deps: HandlerDeps): CommandHandler<Value, Context, Event, Command> =>
    new CommandHandler({ ...defaults, ...deps, aggregate });
