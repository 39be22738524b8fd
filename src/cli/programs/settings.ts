import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import type { Command } from 'commander';
import { CommandRefused } from '../../operator/server/commands.ts';
import type { CliHost } from '../host.ts';
import { print } from '../print.ts';
import { cellsIn, rowsIn, textOf } from '../table.ts';

interface SetOptions {
  readonly from?: string;
  readonly operator?: string;
  readonly json?: boolean;
}

/** `quittance settings ...`: changes without a restart. */
export function addSettings(program: Command, host: CliHost): void {
  const settings = program.command('settings').description('settings that change without a restart');
  settings
    .command('show')
    .description('list them, with the current values and those from the start')
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: boolean }) => print(await host.admin('settings.show', {}), json === true));
  settings
    .command('set [name=value...]')
    .description('change them until the next start, all or none; for example LOG_LEVEL=debug RATE_LIMIT_PER_KEY=200')
    .option(
      '--from <file>',
      'read them from an environment file (- for standard input), ignoring its other lines; for providers, whose URLs contain keys',
    )
    .option('--operator <name>', 'your name, for the record')
    .option('--json', 'print JSON')
    .action(async (given: string[], { from, operator, json }: SetOptions) => {
      const open = given.find((text) => /^\w+_URLS=/.test(text));
      if (open !== undefined)
        throw new CommandRefused(
          `${open.split('=')[0]}: other users of this machine can see the arguments of a command; pass a file with --from instead`,
        );
      const changes = [...given, ...(from === undefined ? [] : await linesIn(from, host))];
      print(await host.admin('settings.set', { changes, ...(operator !== undefined && { operator }) }), json === true);
    });
}

/** The lines of an environment file that can be changed while the service runs. */
async function linesIn(file: string, host: CliHost): Promise<string[]> {
  const names = rowsIn(cellsIn(await host.admin('settings.show', {})).settings).map(({ name }) => textOf(name));
  const given = parseEnv(readFileSync(file === '-' ? 0 : file, 'utf8'));
  return names.flatMap((name) => (given[name] ? [`${name}=${given[name]}`] : []));
}
