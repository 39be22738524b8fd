import type { Command } from 'commander';
import type { VerifyOptions } from '../audit.ts';
import { print } from '../print.ts';
import { cellsIn } from '../table.ts';
import { admin } from '../admin-command.ts';
import type { CliHost } from '../host.ts';

interface VerifyFlags extends VerifyOptions {
  readonly json?: boolean;
}

/** `quittance audit ...`. */
export function addAudit(program: Command, host: CliHost): void {
  const audit = program.command('audit').description('proofs that history was not rewritten (see docs/audit.md)');
  admin(audit, host, 'status', 'audit.status', 'whether the history is intact, and how much of it is signed');
  addText(audit.command('key').description('the public key for auditors'), host, 'audit.key', 'verifier_key');
  addText(
    audit
      .command('checkpoint')
      .description('the newest signed checkpoint, to keep outside the service')
      .option('--now', 'sign one now if there is anything new'),
    host,
    'audit.checkpoint',
    'checkpoint',
  );
  admin(
    audit,
    host,
    'prove',
    'audit.prove',
    'prove that a session is in the event log, or that one checkpoint extends another',
    [
      ['--session <session_id>', 'the session'],
      ['--from <size>', 'events of the earlier checkpoint'],
      ['--to <size>', 'events of the later checkpoint'],
    ],
  );
  admin(
    audit,
    host,
    'accept',
    'audit.accept',
    'answer for an event log whose seal does not hold, because its key is lost (docs/runbook.md); recorded',
    [
      ['--events <number>', 'how many events it has', true],
      ['--operator <name>', 'your name, for the record', true],
      ['--reason <text>', 'why you know that they are the right ones', true],
    ],
  );
  audit
    .command('export')
    .description('write every event with its hashes as JSON Lines, with or without a running service')
    .option('--output <file>', 'default: standard output')
    .action(async ({ output }: { output?: string }) => void (await host.exportEventLog(output)));
  audit
    .command('verify')
    .description('verify an export or a proof offline, with only the public key')
    .option('--export <file>', 'the output of audit export')
    .option('--checkpoint <file...>', 'signed checkpoints kept outside the service')
    .option('--proof <file>', 'a proof of a session, instead of an export')
    .option('--statement <file>', 'the output of ledger statement or ledger month-statement, instead of an export')
    .option('--file <file>', 'a file from ledger export, instead of an export of events')
    .option('--lines <file>', 'the lines of a statement as CSV, with --statement')
    .option('--evidence <file>', 'the evidence of that file (default: <file>.evidence.json)')
    .requiredOption('--key <key>', 'the public key, or a file with it')
    .option('--json', 'print JSON')
    .action(async ({ json, ...options }: VerifyFlags) => {
      const report = await host.verifyFiles(options);
      print(report, json === true);
      if (report.ok !== true) process.exitCode = 1;
    });
}

/** A command that prints a single text as it is, so that it can be redirected to a file. */
function addText(command: Command, host: CliHost, name: string, field: string): void {
  command.option('--json', 'print JSON').action(async ({ json, ...args }: { json?: boolean; now?: boolean }) => {
    const answer = await host.admin(name, args);
    const shown = cellsIn(answer)[field];
    if (json || typeof shown !== 'string') print(answer, true);
    else process.stdout.write(`${shown.trimEnd()}\n`);
  });
}
