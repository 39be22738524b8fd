import type { Command } from 'commander';
import type { JsonValue } from '../ports/read-model/read-model.ts';
import type { CliHost, HowToAnswer } from './host.ts';
import { print } from './print.ts';

type Options = Record<string, string | boolean | undefined>;

export const WHO = ['--operator <name>', 'your name, for the record'] as const;

/** Declares one admin command: its options become the command's arguments under the same names. */
export function admin(
  parent: Command,
  host: CliHost,
  usage: string,
  name: string,
  description: string,
  options: readonly (readonly [string, string, boolean?])[] = [],
  { show, isFault }: HowToAnswer = {},
): void {
  const command = parent.command(usage).description(description).option('--json', 'print JSON');
  for (const [flags, text, required] of options) {
    if (required) command.requiredOption(flags, text);
    else command.option(flags, text);
  }
  command.action(async (...given: unknown[]) => {
    const { json, ...rest } = command.opts<Options>();
    const args: Record<string, JsonValue> = {};
    command.registeredArguments.forEach((argument, index) => {
      const value = given[index];
      if (typeof value === 'string') args[argument.name()] = value;
    });
    for (const [key, value] of Object.entries(rest)) if (value !== undefined) args[key] = value;
    const answer = await host.admin(name, args);
    if (show && json !== true) process.stdout.write(`${show(answer)}\n`);
    else print(answer, json === true);
    if (isFault?.(answer) === true) process.exitCode = 1;
  });
}
