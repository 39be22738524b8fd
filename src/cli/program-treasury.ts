import type { Command } from 'commander';
import { admin, WHO } from './admin-command.ts';
import type { CliHost } from './host.ts';

const PROPOSER = [
  ['--operator <name>', 'who proposes it: none of those who approve it', true],
  ['--reason <text>', 'why, for the record'],
] as const;

/** `quittance treasury ...`. */
export function addTreasury(program: Command, host: CliHost): Command {
  const treasury = program.command('treasury').description('the accounts that refunds are paid from');
  admin(treasury, host, 'status', 'treasury.status', 'accounts, alarms, and refunds that wait, with the reason');
  admin(treasury, host, 'stop', 'treasury.stop', 'kill switch: the signer signs nothing more', [
    ['--mode <mode>', 'test or live', true],
    WHO,
  ]);
  admin(treasury, host, 'balances', 'treasury.balances', 'what the treasury holds on chain', [
    ['--network <network>', 'only this one'],
  ]);
  admin(
    treasury,
    host,
    'reconcile',
    'treasury.reconcile',
    'compare the books with the chain; an outflow nobody ordered stops payouts',
    [
      ['--network <network>', 'only this one'],
      ['--after <address>', 'go on where the look at addresses ended (`next` of the answer before)'],
    ],
  );
  admin(
    treasury,
    host,
    'lost',
    'treasury.lost',
    'what the signer signed and this ledger does not know, with what the chain says of it',
  );
  admin(treasury, host, 'moves', 'treasury.moves', 'sweeps, top-ups, withdrawals and settlements under way');
  admin(treasury, host, 'sweep', 'treasury.sweep', 'bring money from collection addresses to the treasury', [
    ['--dry-run', 'only say what would be done'],
    ['--mode <mode>', 'test or live'],
    ['--network <network>', 'only this one'],
    ['--coin <coin>', 'USDT or USDC'],
    ['--min <amount>', 'leave less than this at an address'],
    ['--most <number>', 'addresses of one treasury at most'],
  ]);
  admin(
    treasury,
    host,
    'withdraw',
    'treasury.withdraw',
    'propose a transfer to a cold address of WITHDRAWAL_ADDRESSES; two approvers agree to it',
    [
      ['--network <network>', 'ethereum, bsc, tron or solana', true],
      ['--coin <coin>', 'USDT or USDC', true],
      ['--amount <amount>', 'decimal amount', true],
      ['--to <address>', 'one of WITHDRAWAL_ADDRESSES', true],
      ...PROPOSER,
      ['--mode <mode>', 'test or live, where the network is used in both'],
    ],
  );
  admin(
    treasury,
    host,
    'settle <merchant_id>',
    'treasury.settle',
    "propose a transfer to the merchant's settlement address; two approvers agree to it",
    [
      ['--network <network>', 'ethereum, bsc, tron or solana', true],
      ['--coin <coin>', 'USDT or USDC', true],
      ['--amount <amount>', 'decimal amount', true],
      ...PROPOSER,
    ],
  );
  admin(
    treasury,
    host,
    'return',
    'treasury.return',
    'propose to return native coin that came to a collection address; two approvers agree to it',
    [
      ['--network <network>', 'ethereum, bsc, tron or solana', true],
      ['--tx <hash>', 'the transaction that brought it', true],
      ['--address <address>', 'the collection address that it came to', true],
      ['--amount <amount>', 'decimal amount (default: what came, less what the fee takes at most)'],
      ['--acknowledge-sender', 'its owner can receive at the contract or exchange that it came from'],
      ['--operator <name>', 'who proposes it: none of those who approve it', true],
      ['--reason <text>', 'why; kept for ever', true],
      ['--mode <mode>', 'test or live, where the network is used in both'],
    ],
  );
  admin(treasury, host, 'reject <id>', 'treasury.reject', 'give up a refund or a move that nothing was signed for');
  return treasury;
}
