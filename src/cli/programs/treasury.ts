import type { Command } from 'commander';
import { admin, WHO } from '../admin-command.ts';
import type { CliHost } from '../host.ts';

const PROPOSER = [
  ['--operator <name>', 'the proposer, not one of the approvers', true],
  ['--reason <text>', 'why, for the record'],
] as const;

/** `quittance treasury ...`. */
export function addTreasury(program: Command, host: CliHost): Command {
  const treasury = program.command('treasury').description('the accounts that refunds are paid from');
  admin(treasury, host, 'status', 'treasury.status', 'accounts, alarms, and waiting refunds with the reason');
  admin(treasury, host, 'stop', 'treasury.stop', 'kill switch: the signer stops signing', [
    ['--mode <mode>', 'test or live', true],
    WHO,
  ]);
  admin(treasury, host, 'balances', 'treasury.balances', 'on-chain balances of the treasury', [
    ['--network <network>', 'only this one'],
  ]);
  admin(
    treasury,
    host,
    'reconcile',
    'treasury.reconcile',
    'compare the books with the chain; an outflow that nobody ordered stops payouts',
    [
      ['--mode <mode>', 'test or live'],
      ['--network <network>', 'only this one'],
      ['--after <address>', 'continue the address check there (`next` of the previous answer)'],
    ],
  );
  admin(treasury, host, 'outflows', 'treasury.outflows', 'money that left without an order and is not explained yet');
  admin(
    treasury,
    host,
    'lost',
    'treasury.lost',
    'payments that the signer signed and this event log does not know, with their state on chain',
  );
  admin(treasury, host, 'moves', 'treasury.moves', 'sweeps, top-ups, withdrawals and settlements under way');
  admin(treasury, host, 'sweep', 'treasury.sweep', 'move money from collection addresses to the treasury', [
    ['--dry-run', 'only show what would be done'],
    ['--mode <mode>', 'test or live'],
    ['--network <network>', 'only this one'],
    ['--coin <coin>', 'USDT or USDC'],
    ['--min <amount>', 'skip addresses with less than this'],
    ['--most <number>', 'at most this many addresses per treasury'],
  ]);
  addProposals(treasury, host);
  admin(treasury, host, 'reject <id>', 'treasury.reject', 'give up a refund or move for which nothing was signed');
  return treasury;
}

/** What needs two approvals. */
function addProposals(treasury: Command, host: CliHost): void {
  admin(
    treasury,
    host,
    'withdraw',
    'treasury.withdraw',
    'propose a transfer to a cold address of WITHDRAWAL_ADDRESSES; needs two approvals',
    [
      ['--network <network>', 'ethereum, bsc, tron or solana', true],
      ['--coin <coin>', 'USDT or USDC', true],
      ['--amount <amount>', 'decimal amount', true],
      ['--to <address>', 'one of WITHDRAWAL_ADDRESSES', true],
      ...PROPOSER,
      ['--mode <mode>', 'test or live, if the network is used in both'],
    ],
  );
  admin(
    treasury,
    host,
    'settle <merchant_id>',
    'treasury.settle',
    "propose a transfer to the merchant's settlement address; needs two approvals",
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
    'propose to return native coin sent to a collection address; needs two approvals',
    [
      ['--network <network>', 'ethereum, bsc, tron or solana', true],
      ['--tx <hash>', 'the transaction that brought it', true],
      ['--address <address>', 'the collection address that received it', true],
      ['--amount <amount>', 'decimal amount (default: what came, less the highest possible fee)'],
      ['--acknowledge-sender', 'confirm that its owner can receive at the contract or exchange that sent it'],
      ['--operator <name>', 'the proposer, not one of the approvers', true],
      ['--reason <text>', 'why; kept permanently', true],
      ['--mode <mode>', 'test or live, if the network is used in both'],
    ],
  );
}
