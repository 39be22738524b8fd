import type { Command } from 'commander';
import type { CliHost } from './host.ts';
import { print } from './print.ts';

/** `quittance settings ...`: what changes without a restart. */
export function addSettings(program: Command, host: CliHost): void {
  const settings = program.command('settings').description('settings of the running service that change without a restart');
  settings
    .command('show')
    .description('which they are, what is in force and what the start found')
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: boolean }) => print(await host.admin('settings.show', {}), json === true));
  settings
    .command('set <name=value...>')
    .description('change them until the next start, all that are named or none; for example LOG_LEVEL=debug RATE_LIMIT_PER_KEY=200')
    .option('--operator <name>', 'who does it, for the record')
    .option('--json', 'print JSON')
    .action(async (changes: string[], { operator, json }: { operator?: string; json?: boolean }) =>
      print(await host.admin('settings.set', { changes, ...(operator !== undefined && { operator }) }), json === true),
    );
}
