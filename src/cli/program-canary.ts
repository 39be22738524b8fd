import type { Command } from 'commander';
import { admin } from './admin-command.ts';
import type { CliHost } from './host.ts';

/** `quittance canary ...`. */
export function addCanary(program: Command, host: CliHost): void {
  const canary = program
    .command('canary')
    .description('payments of the service to itself, by which the whole way is tried (see docs/operations.md)');
  admin(canary, host, 'history', 'canary.history', 'those that were made, the newest first, with what each step took', [
    ['--mode <mode>', 'test or live'],
    ['--network <network>', 'one network'],
    ['--limit <number>', 'at most so many (default 50)'],
  ]);
}
