import type { Command } from 'commander';
import { admin } from './admin-command.ts';
import type { CliHost } from './host.ts';

/** `quittance claim ...`. */
export function addClaims(program: Command, host: CliHost): void {
  const claim = program
    .command('claim')
    .description('claims of payers who want a refund to another address than the one that paid (see docs/refunds.md)');
  admin(claim, host, 'list <session_id>', 'claim.list', 'the claims of a session, the newest first');
  admin(
    claim,
    host,
    'reject <session_id> <claim_id>',
    'claim.reject',
    'turn one down, or withdraw its approval until a minute before it is paid',
    [
      ['--reason <text>', 'why', true],
      ['--actor <name>', 'who does it, for the record'],
    ],
  );
}
