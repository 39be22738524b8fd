import type { Command } from 'commander';
import { admin } from '../admin-command.ts';
import type { CliHost } from '../host.ts';

/** `quittance claim ...`. */
export function addClaims(program: Command, host: CliHost): void {
  const claim = program
    .command('claim')
    .description("payers' claims for a refund to another address (see docs/refunds.md)");
  admin(claim, host, 'list <session_id>', 'claim.list', 'the claims of a session, newest first');
  admin(
    claim,
    host,
    'waiting <merchant_id>',
    'claim.waiting',
    'claims of a merchant that wait for a decision, oldest first',
    [['--limit <n>', 'at most this many (default 50)']],
  );
  admin(
    claim,
    host,
    'reject <session_id> <claim_id>',
    'claim.reject',
    'reject one, or withdraw its approval until a minute before it is paid',
    [
      ['--reason <text>', 'why', true],
      ['--actor <name>', 'your name, for the record'],
    ],
  );
}
