import type { Command } from 'commander';
import { admin } from '../admin-command.ts';
import type { CliHost } from '../host.ts';

/** `quittance payment-link ...`. */
export function addPaymentLinks(program: Command, host: CliHost): void {
  const link = program
    .command('payment-link')
    .description('links on which each visitor creates a payment of their own (see docs/console.md)');
  admin(link, host, 'create <merchant_id>', 'payment-link.create', 'create a link to send or print', [
    ['--amount <amount>', 'decimal amount', true],
    ['--currency <code>', 'an ISO 4217 code or a coin', true],
    ['--description <text>', 'description, shown to everyone with the link'],
    ['--uses <number>', 'how many payments can be paid (default 100)'],
    ['--open <number>', 'how many payments may wait for money at once (default 20)'],
    ['--unpaid <number>', 'how many payments may stay unpaid within 24 hours before the link pauses (default 100)'],
    ['--ends <day>', 'last day of the link, UTC'],
    WHO,
  ]);
  admin(link, host, 'list <merchant_id>', 'payment-link.list', 'the links of a merchant, newest first', [
    ['--cursor <cursor>', 'next_cursor of the previous page'],
  ]);
  admin(link, host, 'show <merchant_id> <link_id>', 'payment-link.show', 'a link and its payments, newest first', [
    ['--before <number>', 'only payments with a lower number'],
  ]);
  admin(
    link,
    host,
    'off <merchant_id> <link_id>',
    'payment-link.off',
    'switch a link off permanently; its existing payments can still be paid',
    [['--reason <text>', 'why', true], WHO],
  );
}

const WHO = ['--actor <name>', 'your name, for the record'] as const;
