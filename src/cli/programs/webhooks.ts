import type { Command } from 'commander';
import { admin, WHO } from '../admin-command.ts';
import type { CliHost } from '../host.ts';

/** `quittance webhook ...`. */
export function addWebhooks(program: Command, host: CliHost): void {
  const webhook = program.command('webhook').description('endpoints, secrets and deliveries');
  const named = ['--endpoint <id>', 'another endpoint (see webhook list); default: the default endpoint'] as const;
  const choice = [
    ['--fields <names>', 'additional fields of each event, such as network,tx_hash; none removes them'],
    ['--durable-redelivery', 'continue for up to 72 h after the five quick retries'],
    ['--standard-webhooks', 'also add Standard Webhooks headers to each request'],
    WHO,
  ] as const;
  admin(webhook, host, 'list <merchant_id>', 'webhook.list', 'the endpoints of a merchant, the default one first');
  admin(webhook, host, 'add <merchant_id>', 'webhook.add', 'add another endpoint; prints its secret once', [
    ['--url <url>', 'https URL', true],
    ['--events <types>', 'event types to send, such as payment.completed,payment.late', true],
    ...choice,
  ]);
  admin(webhook, host, 'set <merchant_id>', 'webhook.set', 'change an endpoint of a merchant', [
    named,
    ['--url <url>', 'https URL'],
    [
      '--events <types>',
      'event types to send, such as payment.late,payment.reversed; the default endpoint always receives every outcome, and none removes the others',
    ],
    ['--disabled <yes|no>', 'whether it is switched off'],
    ...choice,
  ]);
  admin(
    webhook,
    host,
    'resume <merchant_id>',
    'webhook.resume',
    'resume a suspended endpoint; queued events are sent in order',
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
  admin(webhook, host, 'replay <merchant_id>', 'webhook.replay', 'deliver one event, or a time range in order, again', [
    ['--event <event_id>', 'one event'],
    ['--from <seconds>', 'Unix seconds, inclusive'],
    ['--to <seconds>', 'Unix seconds, inclusive'],
    WHO,
  ]);
}
