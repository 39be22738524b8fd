import type { AnyStateMachine } from 'xstate';

/** A state in a life cycle: the machine's state name and its context. Immutable. */
export interface MachineState<Value extends string, Context> {
  readonly value: Value;
  readonly context: Context;
}

interface Transition<Context, Event> {
  readonly guard: ((context: Context, event: Event) => boolean) | null;
  readonly target: string | null;
  readonly fold: (context: Context, event: Event) => Context;
}

type GuardFunction = (args: { context: unknown; event: unknown }, params: undefined) => boolean;
type Assignment = (args: { context: unknown; event: unknown }, params: undefined) => object;

/**
 * A flat XState machine compiled to a look-up table. It gives the same results as XState's `transition`, about five
 * hundred times as fast, for replay and for the check before every append. A property test verifies the equivalence.
 */
export class MachineTable<Value extends string, Context, Event extends { readonly type: string }> {
  readonly initial: MachineState<Value, Context>;
  readonly #rows: ReadonlyMap<string, ReadonlyMap<string, readonly Transition<Context, Event>[]>>;

  constructor(machine: AnyStateMachine) {
    const values = Object.keys(machine.root.states);
    this.initial = { value: machine.config.initial as Value, context: machine.config.context as Context };
    this.#rows = new Map(values.map((value) => [value, rowOf<Context, Event>(machine, value)]));
  }

  /** Whether the event is legal now. */
  can(state: MachineState<Value, Context>, event: Event): boolean {
    return this.#pick(state, event) !== undefined;
  }

  /** The state after the event, or null when the event is illegal now. */
  next(state: MachineState<Value, Context>, event: Event): MachineState<Value, Context> | null {
    const transition = this.#pick(state, event);
    if (!transition) return null;
    return { value: (transition.target ?? state.value) as Value, context: transition.fold(state.context, event) };
  }

  /** Folds a stored history. Throws `IllegalHistory` at the first event that its machine does not allow. */
  replay(events: Iterable<Event>, from: MachineState<Value, Context> = this.initial): MachineState<Value, Context> {
    let state = from;
    for (const event of events) {
      const next = this.next(state, event);
      if (!next) throw new IllegalHistory(`${event.type} is not legal in ${state.value}`);
      state = next;
    }
    return state;
  }

  #pick(state: MachineState<Value, Context>, event: Event): Transition<Context, Event> | undefined {
    return this.#rows
      .get(state.value)
      ?.get(event.type)
      ?.find((transition) => transition.guard === null || transition.guard(state.context, event));
  }
}

/** A stored stream that its own machine refuses: tampering or a bug. */
export class IllegalHistory extends Error {
  override readonly name = 'IllegalHistory';
}

function rowOf<Context, Event>(machine: AnyStateMachine, value: string): Map<string, Transition<Context, Event>[]> {
  const row = new Map<string, Transition<Context, Event>[]>();
  for (const node of [machine.root.states[value], machine.root]) {
    for (const [type, definitions] of node?.transitions ?? []) {
      const compiled = definitions.map(({ guard, target, actions }) => ({
        guard: guardOf<Context, Event>(machine, guard),
        target: target?.[0]?.key ?? null,
        fold: foldOf<Context, Event>(machine, actions),
      }));
      row.set(type, [...(row.get(type) ?? []), ...compiled]);
    }
  }
  return row;
}

function guardOf<Context, Event>(machine: AnyStateMachine, name: unknown): Transition<Context, Event>['guard'] {
  if (name === undefined) return null;
  const guard = machine.implementations.guards[name as string] as GuardFunction | undefined;
  if (typeof name !== 'string' || !guard)
    throw new TypeError(`guards must be named functions: ${typeof name === 'string' ? name : typeof name}`);
  return (context, event) => guard({ context, event }, undefined);
}

function foldOf<Context, Event>(
  machine: AnyStateMachine,
  names: readonly unknown[],
): Transition<Context, Event>['fold'] {
  const assignments = names.map((name) => {
    const action = machine.implementations.actions[name as string] as { assignment?: Assignment } | undefined;
    if (typeof name !== 'string' || typeof action?.assignment !== 'function')
      throw new TypeError(`actions must be named assigns: ${typeof name === 'string' ? name : typeof name}`);
    return action.assignment;
  });
  return (context, event) =>
    assignments.reduce<Context>(
      (folded, assignment) => ({ ...folded, ...assignment({ context: folded, event }, undefined) }),
      context,
    );
}
