import type { Decision } from '../../src/domain/values/result.ts';
import type { MachineState, MachineTable } from '../../src/runtime/commands/machine-table.ts';

/** Runs each command on what the ones before it left. Every event must be legal for the machine. */
export const decidedBy =
  <Value extends string, Context, Event extends { readonly type: string }, Command>(
    decide: (command: Command, state: MachineState<Value, Context>) => Decision<Event>,
    table: MachineTable<Value, Context, Event>,
  ) =>
  (...commands: readonly Command[]) => {
    let state = table.initial;
    let last = decide(commands[0]!, state);
    const history: Event[] = [];
    for (const command of commands) {
      last = decide(command, state);
      if (!last.ok) continue;
      history.push(...last.events);
      state = table.replay(last.events, state);
    }
    return { last, history, state };
  };

/** The types of the events of the last command, or what refused it. */
export const outcomeOf = ({ last }: { readonly last: Decision<{ readonly type: string }> }): string[] | string =>
  last.ok ? last.events.map(({ type }) => type) : (last.refusal.param ?? last.refusal.code);
