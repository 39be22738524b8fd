import type { AdminArguments, AdminCommands, AdminStreams } from '../operator/commands.ts';
import type { JsonValue } from '../ports/read-model.ts';
import type { People } from '../features/people/people.ts';
import { CommandRefused } from '../operator/commands.ts';
import type { ConsoleAddress } from './guard.ts';
import type { Visit, ShownMerchant } from './visit.ts';

/** What every page of the console works on: the use cases that the API and the command line call, and nothing behind them. */
export interface ConsoleDeps {
  readonly address: ConsoleAddress;
  readonly people: People;
  readonly merchants: () => readonly ShownMerchant[];
  /** The operator's commands: what a page shows or does with them, `--json` does at the command line. */
  readonly commands: AdminCommands;
  readonly streams: AdminStreams;
}

/** Runs an operator's command for a person. Throws `CommandRefused`. */
export async function run<Answer = JsonValue>({ commands }: Pick<ConsoleDeps, 'commands'>, name: string, args: AdminArguments = {}): Promise<Answer> {
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!command) throw new CommandRefused(`${name} is not to be had in this process: it runs where the worker does`);
  return (await command(args)) as Answer;
}

/** Those of a visit's person. */
export const byPerson = ({ person, form }: Visit): { readonly by: string; readonly reason: string } => ({
  by: person.name,
  reason: form['reason'] ?? '',
});
