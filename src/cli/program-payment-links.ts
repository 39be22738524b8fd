import type { Command } from 'commander';
import { admin } from './admin-command.ts';
import type { CliHost } from './host.ts';

/** `quittance payment-link ...`. */
export function addPaymentLinks(program: Command, host: CliHost): void {
  const link = program
    .command('payment-link')
    .description('links of which every visitor makes a payment of their own (see docs/console.md)');
  admin(link, host, 'create <merchant_id>', 'payment-link.create', 'make a link to send or to print', [
    ['--amount <amount>', 'decimal amount', true],
    ['--currency <code>', 'an ISO 4217 code or a coin', true],
    ['--description <text>', 'whoever has the link reads it'],
    ['--uses <number>', 'payments that may be paid by it (default 100)'],
    ['--open <number>', 'payments that may wait for money at once (default 20)'],
    ['--unpaid <number>', 'payments of 24 hours that may stay unpaid before it makes no more (default 100)'],
    ['--ends <day>', 'the last day on which it makes payments, UTC'],
    WHO,
  ]);
  admin(link, host, 'list <merchant_id>', 'payment-link.list', 'the links of a merchant, the newest first', [
    ['--cursor <cursor>', 'of the page before'],
  ]);
  admin(link, host, 'show <merchant_id> <link_id>', 'payment-link.show', 'a link and its payments, the newest first', [
    ['--before <number>', 'payments with a lower number alone'],
  ]);
  admin(
    link,
    host,
    'off <merchant_id> <link_id>',
    'payment-link.off',
    'switch a link off for good; payments that it made may still be paid',
    [['--reason <text>', 'why', true], WHO],
  );
}

const WHO = ['--actor <name>', 'who does it, for the record'] as const;
