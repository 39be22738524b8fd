import type { Command } from 'commander';
import type { CliHost } from '../host.ts';
import { print } from '../print.ts';

const CREDENTIALS = [
  '--credentials <file>',
  'file like sandbox.json (default: QUITTANCE_URL, QUITTANCE_API_KEY, QUITTANCE_API_SECRET and QUITTANCE_WEBHOOK_SECRET from the environment)',
] as const;

/** For developers of a shop: all of it works from any machine, with an API key. */
export function addDeveloper(program: Command, host: CliHost): void {
  program
    .command('listen')
    .description('forward each new event from the pull feed to a URL, signed like a webhook; needs no public address')
    .requiredOption('--forward-to <url>', 'where to send, such as http://127.0.0.1:3000/webhooks')
    .option('--events <types>', 'only these types, separated by commas')
    .option(...CREDENTIALS)
    .action((options: { forwardTo: string; events?: string; credentials?: string }) => host.listen(options));
  program
    .command('requests [request_id]')
    .description('your latest requests and responses, newest first, or one of them')
    .option('--status <status>', 'only those with this status, such as 400')
    .option('--limit <n>', 'at most this many', '20')
    .option(...CREDENTIALS)
    .option('--json', 'print JSON')
    .action(
      async (
        id: string | undefined,
        options: { status?: string; limit: string; credentials?: string; json?: boolean },
      ) => print(await host.requests(id, options, options.credentials), options.json === true),
    );
  program
    .command('trigger <case>')
    .description(
      'create a session in the sandbox and produce a case: exact, partial, late, expired, cancelled and so on',
    )
    .option('--network <network>', 'ethereum, bsc, tron or solana', 'ethereum')
    .option(...CREDENTIALS)
    .option('--json', 'print JSON')
    .action(
      async (kind: string, { network, credentials, json }: { network: string; credentials?: string; json?: boolean }) =>
        print(await host.trigger(kind, network, credentials), json === true),
    );
}
