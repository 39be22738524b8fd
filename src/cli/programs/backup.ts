import type { Command } from 'commander';
import type { JsonValue } from '../../ports/read-model/read-model.ts';
import type { CliHost } from '../host.ts';
import { print } from '../print.ts';
import { cellsIn } from '../table.ts';

type Options = Readonly<Record<string, string | boolean | undefined>>;

const ONLY = [
  '--only <part>',
  'data (the event log and its files) or signer (SIGNER_JOURNAL_DIR), if they belong to two users',
] as const;

/** `quittance backup`, `quittance backup verify` and `quittance restore`. */
export function addBackup(program: Command, host: CliHost): void {
  const backup = program
    .command('backup')
    .description(
      "copy the event log, its salts and the signer's journal into an empty folder, with or without a running service",
    )
    .option('--to <folder>', 'target folder; created if missing')
    .option(...ONLY)
    .option('--json', 'print JSON')
    .action(async (options: Options) => void (await run(host, 'backup.make', options)));
  backup
    .command('verify <place>')
    .description(
      'copy a backup or a shipped log (a folder or s3://...) into a temporary folder and read all of it; exits with 1 if anything differs',
    )
    .option('--json', 'print JSON')
    .action(async (folder: string, _options: Options, command: Command) => {
      const report = await run(host, 'backup.verify', { ...command.optsWithGlobals<Options>(), folder });
      if (cellsIn(report).ok !== true) process.exitCode = 1;
    });
  program
    .command('restore')
    .description(
      'verify a backup and restore it to DATA_DIR and SIGNER_JOURNAL_DIR; says what was lost and what to do next',
    )
    .requiredOption('--from <folder>', 'the backup, or the shipped log: a folder or s3://bucket/prefix')
    .option('--move-aside', 'move an existing event log to a folder beside it; otherwise the restore is refused')
    .option(...ONLY)
    .option('--operator <name>', 'your name, for the record')
    .option('--json', 'print JSON')
    .action(async (options: Options) => void (await run(host, 'backup.restore', options)));
}

async function run(host: CliHost, command: string, { json, ...options }: Options): Promise<JsonValue> {
  const args: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(options)) if (value !== undefined) args[name] = value;
  const answer = await host.admin(command, args);
  print(answer, json === true);
  return answer;
}
