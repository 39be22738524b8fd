import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { SCOPES } from '../../domain/api-keys.ts';
import { CommandRefused } from '../../operator/server/commands.ts';
import { admin, WHO } from '../admin-command.ts';
import type { CliHost } from '../host.ts';
import { print } from '../print.ts';

/** `quittance merchant ...` and `quittance key ...`. */
export function addMerchants(program: Command, host: CliHost): Command {
  const merchant = program.command('merchant').description('merchants and their settings');
  admin(merchant, host, 'create', 'merchant.create', 'register a merchant; prints its secrets once', [
    ['--name <name>', 'shown to payers', true],
    ['--mode <mode>', 'test or live', true],
    ['--webhook-url <url>', 'webhook URL'],
    WHO,
  ]);
  admin(merchant, host, 'list', 'merchant.list', 'list merchants');
  admin(merchant, host, 'show <merchant_id>', 'merchant.show', 'settings of a merchant');
  admin(merchant, host, 'add-domain <merchant_id>', 'merchant.add-domain', 'register a shop domain', [
    ['--host <host>', 'for example shop.example', true],
    ['--name <name>', 'shop name shown to payers', true],
    WHO,
  ]);
  admin(merchant, host, 'remove-domain <merchant_id> <domain_id>', 'merchant.remove-domain', 'remove a shop domain', [
    WHO,
  ]);
  addPolicy(merchant, host);
  addLogo(merchant, host);
  admin(
    merchant,
    host,
    'set-change-delay <merchant_id>',
    'merchant.set-change-delay',
    'how long changes of webhook URLs, policy and settlement addresses wait; a shorter delay waits as well',
    [['--minutes <n>', '0 to 43200; default: as CHANGE_DELAY_MINUTES says', true], WHO],
  );
  admin(merchant, host, 'changes <merchant_id>', 'merchant.changes', 'changes that wait');
  admin(
    merchant,
    host,
    'withdraw-change <merchant_id> <change_id>',
    'merchant.withdraw-change',
    'withdraw a change that waits',
    [WHO],
  );
  addKeys(program, host);
  return merchant;
}

function addPolicy(merchant: Command, host: CliHost): void {
  admin(merchant, host, 'set-policy <merchant_id>', 'merchant.set-policy', 'change how payments are judged', [
    ['--settlement-coin <coin>', 'USDT or USDC'],
    ['--networks <list>', 'comma-separated, in the order shown'],
    ['--tolerance <amount>', 'units of the coin a payment may be short, at most TOLERANCE_MAX_PERCENT of what is due'],
    [
      '--tolerance-percent <percent>',
      'percent of what is due a payment may be short, such as 0.5, capped by --tolerance if that is above 0; none for no share',
    ],
    ['--contact <contact>', 'contact for payers, an e-mail address or an https URL; none removes it'],
    ['--session-ttl <seconds>', 'session lifetime'],
    ['--ethereum-confirmations <n>', 'confirmations below the amount of --ethereum-finalized-from'],
    ['--ethereum-finalized-from <amount>', 'units from which Ethereum finality is required'],
    ['--offer-both-coins <bool>', 'true: payers choose between USDT and USDC for orders in another currency'],
    ['--offer-tron-usdc <bool>', 'true or false'],
    [
      '--service-fee <percent>',
      'percent that the operator keeps of orders created from now on, such as 0.5; 0 for none',
    ],
    WHO,
  ]);
}

function addLogo(merchant: Command, host: CliHost): void {
  merchant
    .command('set-logo <merchant_id>')
    .description("the shop's logo on payment pages: a PNG file, at most 128 KiB and 1024 pixels a side")
    .requiredOption('--file <file>', 'the logo file; none removes it')
    .option('--json', 'print JSON')
    .action(async (id: string, { file, json }: { file: string; json?: boolean }) => {
      print(
        await host.admin('merchant.set-logo', { merchant_id: id, image: file === 'none' ? file : pictureIn(file) }),
        json === true,
      );
    });
}

function addKeys(program: Command, host: CliHost): void {
  const key = program.command('key').description('API keys');
  const restrictions: readonly [string, string][] = [
    ['--scopes <list>', `allowed scopes, of ${SCOPES.join(', ')}; all for everything`],
    ['--addresses <list>', 'allowed addresses and CIDR ranges, comma-separated; any for no limit'],
    ['--signature-version <n>', '2 refuses requests whose method, path and query are not signed'],
  ];
  admin(key, host, 'issue <merchant_id>', 'key.issue', 'issue another API key; prints it once', [...restrictions, WHO]);
  admin(
    key,
    host,
    'restrict <merchant_id> <key_id>',
    'key.restrict',
    "change a key's restrictions; omitted ones stay",
    [...restrictions, WHO],
  );
  admin(key, host, 'list <merchant_id>', 'key.list', 'list the keys with their restrictions and their last use');
  admin(
    key,
    host,
    'rewrap',
    'key.rewrap',
    'store older sealing keys in the event log, sealed under the first key of each kind, which is then sufficient',
    [WHO],
  );
  admin(key, host, 'revoke <merchant_id> <key_id>', 'key.revoke', 'revoke an API key at once', [WHO]);
}

/** Base64. Throws `CommandRefused`. */
function pictureIn(file: string): string {
  try {
    return readFileSync(file, 'base64');
  } catch {
    throw new CommandRefused(`file: ${file} cannot be read`);
  }
}
