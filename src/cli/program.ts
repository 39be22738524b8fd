import { addDoctor } from './program-doctor.ts';
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { SCOPES } from '../domain/api-keys.ts';
import { CommandRefused } from '../operator/commands.ts';
import type { JsonValue } from '../ports/read-model.ts';
import { print } from './print.ts';
import { addApprovals } from './program-approvals.ts';
import { addAudit } from './program-audit.ts';
import { addBackup } from './program-backup.ts';
import { addDeveloper } from './program-developer.ts';
import { addCanary } from './program-canary.ts';
import { addClaims } from './program-claims.ts';
import { addInbox } from './program-unmatched.ts';
import { addIncident } from './program-incident.ts';
import { addPeople } from './program-people.ts';
import { addSettings } from './program-settings.ts';
import { addLedger } from './program-ledger.ts';
import type { CliHost, HowToAnswer } from './host.ts';

type Options = Record<string, string | boolean | undefined>;

/** `quittance ...`: every operator command, each with `--json`. */
export function createProgram(host: CliHost): Command {
  const program = new Command('quittance');
  program.description('Self-hosted stablecoin payments: sessions, refunds, webhooks and an immutable ledger.');
  program
    .command('serve')
    .description('run the service in production (see docs/operations.md)')
    .action(() => host.serve());
  program
    .command('signer <settings>')
    .description('hold the keys for a service that another user runs; the settings are a file that only this user may read (see docs/wallet.md)')
    .action((settings: string) => host.runSigner(settings));
  addDoctor(program, host);
  program
    .command('migrate')
    .description('copy the ledger of a stopped embedded service into EventStoreDB and prove the copy equal; may be ended and run again')
    .requiredOption('--from <data_dir>', 'data directory of the embedded service')
    .option('--to <url>', 'esdb://... of the target, without a password (default: EVENTSTORE_URL, which may have one)')
    .option('--json', 'print JSON')
    .action(async ({ from, to, json }: { from: string; to?: string; json?: boolean }) => print(await host.migrate({ from, to }), json === true));
  addStore(program, host);
  addSandbox(program, host);
  const merchant = addMerchants(program, host);
  addOperators(program, host);
  addWebhooks(program, host);
  const treasury = addTreasury(program, host);
  addApprovals(program, treasury, merchant, host, admin);
  addWallet(program, host);
  addLedger(program, host, admin);
  addInbox(program, host, admin);
  addClaims(program, host, admin);
  addAddresses(program, host);
  addSessions(program, host);
  addAudit(program, host, admin);
  addBackup(program, host);
  addCanary(program, host, admin);
  addIncident(program, host);
  addSettings(program, host);
  addPeople(program, host, admin);
  addDeveloper(program, host);
  return program;
}

/** `quittance store users`. */
function addStore(program: Command, host: CliHost): void {
  const store = program.command('store').description('the event store on servers');
  admin(
    store,
    host,
    'users',
    'store.users',
    'give each role a user of its own with what it may read and append (docs/operations.md); may be repeated',
  );
}

/** Declares one admin command: its options become the command's arguments under the same names. */
function admin(
  parent: Command,
  host: CliHost,
  usage: string,
  name: string,
  description: string,
  options: readonly (readonly [string, string, boolean?])[] = [],
  { show, isFault }: HowToAnswer = {},
): void {
  const command = parent.command(usage).description(description).option('--json', 'print JSON');
  for (const [flags, text, required] of options) {
    if (required) command.requiredOption(flags, text);
    else command.option(flags, text);
  }
  command.action(async (...given: unknown[]) => {
    const positional = given.slice(0, command.registeredArguments.length) as string[];
    const { json, ...rest } = command.opts<Options>();
    const args: Record<string, JsonValue> = {};
    command.registeredArguments.forEach((argument, index) => {
      if (positional[index] !== undefined) args[argument.name()] = positional[index];
    });
    for (const [key, value] of Object.entries(rest)) if (value !== undefined) args[key] = value;
    const answer = await host.admin(name, args);
    if (show && json !== true) process.stdout.write(`${show(answer)}\n`);
    else print(answer, json === true);
    if (isFault?.(answer) === true) process.exitCode = 1;
  });
}

function addSandbox(program: Command, host: CliHost): void {
  const sandbox = program.command('sandbox').description('local chains and test payments');
  sandbox
    .command('start')
    .description('run everything on this machine, for trying and testing')
    .action(() => host.startSandbox());
  sandbox
    .command('node <file>')
    .description('run one process of a sandbox that is spread over several (see docs/scaling.md)')
    .action((file: string) => host.startSandboxNode(file));
  admin(sandbox, host, 'pay <session_id>', 'sandbox.pay', 'pay a session with the test wallet', [
    ['--network <network>', 'ethereum, bsc, tron or solana', true],
    ['--coin <coin>', "USDT or USDC (default: the session's)"],
    ['--amount <amount>', 'decimal amount (default: what is due)'],
    ['--case <case>', 'exact (default), partial, over, late, wrong_coin, two_payers, reorg, lost, contract_payer, exchange_payer or frozen_payer'],
  ]);
}

function addMerchants(program: Command, host: CliHost): Command {
  const merchant = program.command('merchant').description('merchants and their settings');
  admin(merchant, host, 'create', 'merchant.create', 'register a merchant; prints its secrets once', [
    ['--name <name>', 'shown to payers', true],
    ['--mode <mode>', 'test or live', true],
    ['--webhook-url <url>', 'where notifications go'],
    WHO,
  ]);
  admin(merchant, host, 'list', 'merchant.list', 'list merchants');
  admin(merchant, host, 'show <merchant_id>', 'merchant.show', 'settings of a merchant');
  admin(merchant, host, 'add-domain <merchant_id>', 'merchant.add-domain', 'register a shop domain', [
    ['--host <host>', 'for example shop.example', true],
    ['--name <name>', 'shop name shown to payers', true],
    WHO,
  ]);
  admin(merchant, host, 'remove-domain <merchant_id> <domain_id>', 'merchant.remove-domain', 'remove a shop domain', [WHO]);
  admin(merchant, host, 'set-policy <merchant_id>', 'merchant.set-policy', 'change how payments are judged', [
    ['--settlement-coin <coin>', 'USDT or USDC'],
    ['--networks <list>', 'comma-separated, in the order shown'],
    ['--tolerance <amount>', 'units of the coin a payment may be short, at most TOLERANCE_MAX_PERCENT of what is due'],
    ['--contact <contact>', 'where payers reach the shop, an e-mail address or an https URL; none to take it away'],
    ['--refund-claims <list>', 'evidence for refunds to another than who paid, of signature, test_payment and no_sender; off for none'],
    ['--session-ttl <seconds>', 'session lifetime'],
    ['--ethereum-confirmations <n>', 'confirmations below the amount of --ethereum-finalized-from'],
    ['--ethereum-finalized-from <amount>', 'units from which Ethereum finality is required'],
    ['--offer-both-coins <bool>', 'true: payers choose between USDT and USDC where an order is in another currency'],
    ['--offer-tron-usdc <bool>', 'true or false'],
    ['--service-fee <percent>', 'what the operator keeps of orders created from now on, such as 0.5; 0 for none'],
    WHO,
  ]);
  merchant
    .command('set-logo <merchant_id>')
    .description("the shop's picture on payment pages: a PNG file, at most 128 KiB and 1024 pixels a side")
    .requiredOption('--file <file>', 'the picture; none takes it away')
    .option('--json', 'print JSON')
    .action(async (id: string, { file, json }: { file: string; json?: boolean }) => {
      print(await host.admin('merchant.set-logo', { merchant_id: id, image: file === 'none' ? file : pictureIn(file) }), json === true);
    });
  admin(
    merchant,
    host,
    'set-change-delay <merchant_id>',
    'merchant.set-change-delay',
    'how long changes of webhook URLs, policy and settlement addresses wait; a shorter delay waits as well',
    [['--minutes <n>', '0 to 43200; default: as CHANGE_DELAY_MINUTES says', true], WHO],
  );
  admin(merchant, host, 'changes <merchant_id>', 'merchant.changes', 'changes that wait');
  admin(merchant, host, 'withdraw-change <merchant_id> <change_id>', 'merchant.withdraw-change', 'withdraw a change that waits', [WHO]);
  const key = program.command('key').description('API keys');
  const restrictions: readonly [string, string][] = [
    ['--scopes <list>', `what it may do, of ${SCOPES.join(', ')}; all for everything`],
    ['--addresses <list>', 'addresses and CIDR ranges it may be used from, comma-separated; any for no limit'],
    ['--signature-version <n>', '2 refuses requests whose method, path and query are not signed'],
  ];
  admin(key, host, 'issue <merchant_id>', 'key.issue', 'issue a further API key; prints it once', [...restrictions, WHO]);
  admin(key, host, 'restrict <merchant_id> <key_id>', 'key.restrict', 'change what holds a key back; what is not named stays', [
    ...restrictions,
    WHO,
  ]);
  admin(key, host, 'list <merchant_id>', 'key.list', 'list the keys with their restrictions and their last use');
  admin(key, host, 'rewrap', 'key.rewrap', 'keep older sealing keys in the ledger, sealed under the first of each kind, which is then enough', [WHO]);
  admin(key, host, 'revoke <merchant_id> <key_id>', 'key.revoke', 'revoke an API key at once', [WHO]);
  return merchant;
}

/** Base64. Throws `CommandRefused`. */
function pictureIn(file: string): string {
  try {
    return readFileSync(file, 'base64');
  } catch {
    throw new CommandRefused(`file: ${file} cannot be read`);
  }
}

/** These change a file that the running service reads again. */
function addOperators(program: Command, host: CliHost): void {
  const operator = program.command('operator').description("who may use the operator's HTTP API (ADMIN_PORT)");
  admin(operator, host, 'create', 'operator.create', 'issue a token; prints it once', [
    ['--name <name>', 'stands as the actor on what they decide', true],
    ['--role <role>', 'viewer (reads only) or operator', true],
    ['--token-file <file>', 'write the token there, with mode 0600, instead of printing it; never replaces a file'],
  ]);
  admin(operator, host, 'list', 'operator.list', 'everybody who has a token');
  admin(operator, host, 'revoke <operator_id>', 'operator.revoke', 'revoke a token at once');
}

function addWebhooks(program: Command, host: CliHost): void {
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
  admin(webhook, host, 'resume <merchant_id>', 'webhook.resume', 'send to a suspended endpoint again, what has queued in order', [named, WHO]);
  admin(webhook, host, 'rotate <merchant_id>', 'webhook.rotate', 'issue a new secret, or activate the issued one', [
    named,
    ['--activate', 'make the issued secret the only one'],
    WHO,
  ]);
  admin(webhook, host, 'deliveries <merchant_id>', 'webhook.deliveries', 'list deliveries, newest first', [
    ['--status <status>', 'pending, delivered, exhausted, rejected or blocked'],
    ['--limit <n>', 'at most this many (default 20)'],
  ]);
  admin(webhook, host, 'replay <merchant_id>', 'webhook.replay', 'deliver again, one event or a range of time in order', [
    ['--event <event_id>', 'one event'],
    ['--from <seconds>', 'Unix seconds, inclusive'],
    ['--to <seconds>', 'Unix seconds, inclusive'],
    WHO,
  ]);
}

const PROPOSER = [
  ['--operator <name>', 'who proposes it: none of those who approve it', true],
  ['--reason <text>', 'why, for the record'],
] as const;

function addTreasury(program: Command, host: CliHost): Command {
  const treasury = program.command('treasury').description('the accounts that refunds are paid from');
  admin(treasury, host, 'status', 'treasury.status', 'accounts, alarms, and refunds that wait, with the reason');
  admin(treasury, host, 'stop', 'treasury.stop', 'kill switch: the signer signs nothing more', [['--mode <mode>', 'test or live', true], WHO]);
  admin(treasury, host, 'balances', 'treasury.balances', 'what the treasury holds on chain', [['--network <network>', 'only this one']]);
  admin(treasury, host, 'reconcile', 'treasury.reconcile', 'compare the books with the chain; an outflow nobody ordered stops payouts', [
    ['--network <network>', 'only this one'],
    ['--after <address>', 'go on where the look at addresses ended (`next` of the answer before)'],
  ]);
  admin(treasury, host, 'moves', 'treasury.moves', 'sweeps, top-ups, withdrawals and settlements under way');
  admin(treasury, host, 'sweep', 'treasury.sweep', 'bring money from collection addresses to the treasury', [
    ['--dry-run', 'only say what would be done'],
    ['--mode <mode>', 'test or live'],
    ['--network <network>', 'only this one'],
    ['--coin <coin>', 'USDT or USDC'],
    ['--min <amount>', 'leave less than this at an address'],
  ]);
  admin(treasury, host, 'withdraw', 'treasury.withdraw', 'propose a transfer to a cold address of WITHDRAWAL_ADDRESSES; two approvers agree to it', [
    ['--network <network>', 'ethereum, bsc, tron or solana', true],
    ['--coin <coin>', 'USDT or USDC', true],
    ['--amount <amount>', 'decimal amount', true],
    ['--to <address>', 'one of WITHDRAWAL_ADDRESSES', true],
    ...PROPOSER,
    ['--mode <mode>', 'test or live, where the network is used in both'],
  ]);
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
  admin(treasury, host, 'return', 'treasury.return', 'propose to return native coin that came to a collection address; two approvers agree to it', [
    ['--network <network>', 'ethereum, bsc, tron or solana', true],
    ['--tx <hash>', 'the transaction that brought it', true],
    ['--address <address>', 'the collection address that it came to', true],
    ['--amount <amount>', 'decimal amount (default: what came, less what the fee takes at most)'],
    ['--acknowledge-sender', 'its owner can receive at the contract or exchange that it came from'],
    ['--operator <name>', 'who proposes it: none of those who approve it', true],
    ['--reason <text>', 'why; kept for ever', true],
    ['--mode <mode>', 'test or live, where the network is used in both'],
  ]);
  admin(treasury, host, 'reject <id>', 'treasury.reject', 'give up a refund or a move that nothing was signed for');
  return treasury;
}

/** These need neither a service nor a data directory, so that keys can be made on another machine. */
function addWallet(program: Command, host: CliHost): void {
  const wallet = program.command('wallet').description('keys: make a keystore, export what watches, check that both belong together');
  const keys = [
    ['--mode <mode>', 'test or live', true],
    ['--keystore <file>', 'keystore file (default: the wallet of the environment)'],
    ['--passphrase-file <file>', 'file with the passphrase (default: the environment)'],
  ] as const;
  admin(wallet, host, 'init', 'wallet.init', 'make an encrypted keystore of 24 new words; asks for a passphrase when none is given', [
    ['--mode <mode>', 'test or live', true],
    ['--keystore <file>', 'where to write it; never replaces a file', true],
    ['--passphrase-file <file>', 'file with the passphrase'],
    ['--import <file>', 'take the words from this file instead (- for standard input)'],
    ['--show-words', 'print the words, to be written on paper'],
  ]);
  admin(wallet, host, 'export-watch-only', 'wallet.export-watch-only', 'public keys for hosts that must not hold private ones', [
    ...keys,
    ['--solana-pool <n>', 'how many Solana addresses (default 10000; 0: none)'],
    ['--solana-pool-file <file>', 'where to write them'],
  ]);
  admin(
    wallet,
    host,
    'verify',
    'wallet.verify',
    'open the wallet and compare it with WALLET_XPUB_EVM, WALLET_XPUB_TRON and WALLET_SOLANA_POOL',
    keys,
  );
}

function addAddresses(program: Command, host: CliHost): void {
  const addresses = program.command('addresses').description('collection addresses');
  admin(addresses, host, 'stock', 'addresses.stock', 'how many are ready to be given out');
  admin(addresses, host, 'skip', 'addresses.skip', 'after a restore: give out no index below this one', [
    ['--mode <mode>', 'test or live', true],
    ['--family <family>', 'evm, tron or solana', true],
    ['--to <index>', 'the lowest derivation index that may be given out from now on', true],
  ]);
}

const WHO = ['--operator <name>', 'who does it, for the record'] as const;

function addSessions(program: Command, host: CliHost): void {
  const session = program.command('session').description('look into sessions');
  admin(session, host, 'explain <session_id>', 'session.explain', 'every observation and decision, in order');
  admin(program, host, 'forget <session_id>', 'session.forget', 'erase the personal data of a session for ever', [WHO]);
  const chain = program.command('chain').description('the chains and how far they were read');
  admin(chain, host, 'status', 'chain.status', 'head, read and final blocks of every network');
  admin(chain, host, 'rescan', 'chain.rescan', 'read a range of blocks, or on Solana an address, again; known transfers change nothing', [
    ['--network <network>', 'ethereum, bsc, tron or solana', true],
    ['--from <block>', 'first block'],
    ['--to <block>', 'last block'],
    ['--address <address>', 'on Solana: the address of a session'],
    ['--mode <mode>', 'test or live, where the network is watched in both'],
    WHO,
  ]);
  const projection = program.command('projection').description('rebuildable look-ups');
  admin(projection, host, 'rebuild [name]', 'projection.rebuild', 'rebuild one projection, or all', [WHO]);
  admin(
    projection,
    host,
    'compare [name]',
    'projection.compare',
    'replay the ledger beside the running projections and compare; ends with 1 when a row differs',
    [],
    {
      isFault: (answer) => (answer as { readonly drifted: number }).drifted > 0,
    },
  );
  admin(
    projection,
    host,
    'snapshot',
    'projection.snapshot',
    "put a snapshot of this node's look-ups into LOOK_UP_SNAPSHOT_DIR, for nodes to begin with",
  );
  projection
    .command('prepare')
    .description('make the look-ups of this build beside running nodes and put a snapshot of them into LOOK_UP_SNAPSHOT_DIR, before an upgrade')
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: boolean }) => print(await host.prepareLookUps(), json === true));
}
