import type { Command } from 'commander';
import type { CliHost } from './host.ts';
import { print } from './print.ts';

/** `quittance incident export` and `quittance incident open`. */
export function addIncident(program: Command, host: CliHost): void {
  const incident = program
    .command('incident')
    .description('what happened to a payment, as one file that can be opened anywhere');
  incident
    .command('export <subject>')
    .description(
      'write everything that is recorded of a session, or of a range of time (from..to), into one file; beside a running service or without one',
    )
    .requiredOption('--output <file>', 'where to; never replaces a file')
    .option(
      '--logs <file>',
      'the log of the service, one JSON text a line: what belongs to the sessions is taken along',
    )
    .option('--json', 'print JSON')
    .action(async (subject: string, { output, logs, json }: { output: string; logs?: string; json?: boolean }) =>
      print(await host.exportIncident(subject, output, logs), json === true),
    );
  incident
    .command('open <file>')
    .description(
      'show such a file and ask the deciders again, step by step; needs no service, no settings and no network',
    )
    .option('--session <session_id>', 'only this one')
    .option(
      '--what-if <rule...>',
      'what another policy would have decided: tolerance=0.50, confirmations=24, second_source=100',
    )
    .option('--json', 'print JSON')
    .action(async (file: string, { json, ...options }: { session?: string; whatIf?: string[]; json?: boolean }) => {
      const opened = await host.openIncident(file, options);
      if (json === true) print(opened.json, true);
      else process.stdout.write(`${opened.text}\n`);
      if (opened.differs) process.exitCode = 1;
    });
}
