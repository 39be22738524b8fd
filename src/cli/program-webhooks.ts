import type { Command } from 'commander';
import { admin, WHO } from './admin-command.ts';
import type { CliHost } from './host.ts';

/** `quittance webhook ...`. */
export function addWebhooks(program: Command, host: CliHost): void {
  const webhook = program.command('webhook').description('endpoints, secrets and deliveries');
  const named = ['--endpoint <id>', 'a further endpoint (webhook list); default: the default one'] as const;
  const choice = [
    ['--fields <names>', 'what each event says beside what it always says, such as network,tx_hash; none ends it'],
    ['--durable-redelivery', 'go on for up to 72 h after the five quick retries'],
    ['--standard-webhooks', 'sign each request after Standard Webhooks, too'],
    WHO,
  ] as const;
  admin(webhook, host, 'list <merchant_id>', 'webhook.list', 'the endpoints of a merchant, the default one first');
  admin(webhook, host, 'add <merchant_id>', 'webhook.add', 'add a further endpoint; prints its secret, once', [
    ['--url <url>', 'https URL', true],
    ['--events <types>', 'what to tell it, such as payment.completed,payment.late', true],
    ...choice,
  ]);
  admin(webhook, host, 'set <merchant_id>', 'webhook.set', 'change an endpoint of a merchant', [
    named,
    ['--url <url>', 'https URL'],
    [
      '--events <types>',
      'what to tell, such as payment.late,payment.reversed; the default endpoint is told every outcome, and none ends what is beside',
    ],
    ['--disabled <yes|no>', 'whether it is switched off'],
    ...choice,
  ]);
  admin(
    webhook,
    host,
    'resume <merchant_id>',
    'webhook.resume',
    'send to a suspended endpoint again, what has queued in order',
    [named, WHO],
  );
  admin(webhook, host, 'rotate <merchant_id>', 'webhook.rotate', 'issue a new secret, or activate the issued one', [
    named,
    ['--activate', 'make the issued secret the only one'],
    WHO,
  ]);
  admin(webhook, host, 'deliveries <merchant_id>', 'webhook.deliveries', 'list deliveries, newest first', [
    ['--status <status>', 'pending, delivered, exhausted, rejected or blocked'],
    ['--limit <n>', 'at most this many (default 20)'],
  ]);
  admin(
    webhook,
    host,
    'replay <merchant_id>',
    'webhook.replay',
    'deliver again, one event or a range of time in order',
    [
      ['--event <event_id>', 'one event'],
      ['--from <seconds>', 'Unix seconds, inclusive'],
      ['--to <seconds>', 'Unix seconds, inclusive'],
      WHO,
    ],
  );
}
