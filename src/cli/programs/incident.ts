import type { Command } from 'commander';
import type { CliHost } from '../host.ts';
import { print } from '../print.ts';

/** `quittance incident export` and `quittance incident open`. */
export function addIncident(program: Command, host: CliHost): void {
  const incident = program
    .command('incident')
    .description('everything recorded of a payment, in one file that can be opened anywhere');
  incident
    .command('export <subject>')
    .description(
      'write everything recorded of a session, or of a time range (from..to), to one file; with or without a running service',
    )
    .requiredOption('--output <file>', 'output file; never overwrites a file')
    .option('--logs <file>', "the service's log as JSON Lines: lines of these sessions are included")
    .option('--json', 'print JSON')
    .action(async (subject: string, { output, logs, json }: { output: string; logs?: string; json?: boolean }) =>
      print(await host.exportIncident(subject, output, logs), json === true),
    );
  incident
    .command('open <file>')
    .description('show such a file and replay the decisions step by step; needs no service, settings or network')
    .option('--session <session_id>', 'only this one')
    .option(
      '--what-if <rule...>',
      'what another policy would have decided, such as tolerance=0.50, confirmations=24, second_source=100',
    )
    .option('--json', 'print JSON')
    .action(async (file: string, { json, ...options }: { session?: string; whatIf?: string[]; json?: boolean }) => {
      const opened = await host.openIncident(file, options);
      if (json === true) print(opened.json, true);
      else process.stdout.write(`${opened.text}\n`);
      if (opened.differs) process.exitCode = 1;
    });
}
