import type { PersonEvent } from '../../../domain/events/person-events.ts';
import { type CommandHandler, handlersOf } from '../../../runtime/commands/handler.ts';
import { MachineTable } from '../../../runtime/commands/machine-table.ts';
import { decidePerson, type PersonCommand } from '../../../../state-machines/person/person.decider.ts';
import { personMachine, type PersonValue } from '../../../../state-machines/person/person.machine.ts';
import type { PersonContext } from '../../../../state-machines/person/person.state.ts';

export const personTable = new MachineTable<PersonValue, PersonContext, PersonEvent>(personMachine);

export type PersonHandler = CommandHandler<PersonValue, PersonContext, PersonEvent, PersonCommand>;

/** The only handler that changes users of the console and records what they did. */
export const createPersonHandler = handlersOf(
  { table: personTable, decide: decidePerson, notifies: new Set() },
  { capacity: 1_000 },
);
