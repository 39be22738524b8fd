import type { Command } from 'commander';
import { admin } from '../admin-command.ts';
import type { CliHost } from '../host.ts';

/** `quittance canary ...`. */
export function addCanary(program: Command, host: CliHost): void {
  const canary = program
    .command('canary')
    .description('payments that the service makes to itself to test the whole path (see docs/operations.md)');
  admin(canary, host, 'history', 'canary.history', 'list them, newest first, with the duration of each step', [
    ['--mode <mode>', 'test or live'],
    ['--network <network>', 'one network'],
    ['--limit <number>', 'at most this many (default 50)'],
  ]);
}
