import { Command } from 'commander';
import { admin, WHO } from './admin-command.ts';
import { print } from './print.ts';
import { addApprovals } from './programs/approvals.ts';
import { addAudit } from './programs/audit.ts';
import { addBackup } from './programs/backup.ts';
import { addDeveloper } from './programs/developer.ts';
import { addDoctor } from './programs/doctor.ts';
import { addCanary } from './programs/canary.ts';
import { addInbox } from './programs/unmatched.ts';
import { addLookUps } from './programs/look-ups.ts';
import { addMerchants } from './programs/merchants.ts';
import { addPaymentLinks } from './programs/payment-links.ts';
import { addPeople } from './programs/people.ts';
import { addSettings } from './programs/settings.ts';
import { addLedger } from './programs/ledger.ts';
import { addTreasury } from './programs/treasury.ts';
import { addWallet } from './programs/wallet.ts';
import { addWebhooks } from './programs/webhooks.ts';
import type { CliHost } from './host.ts';

/** `quittance ...`: every operator command, each with `--json`. */
export function createProgram(host: CliHost): Command {
  const program = new Command('quittance');
  program.description('Self-hosted stablecoin payments: sessions, refunds, webhooks and an append-only event log.');
  program
    .command('serve')
    .description('run the service in production (see docs/operations.md)')
    .action(() => host.serve());
  program
    .command('signer <settings>')
    .description(
      'hold the keys for a service that another user runs; settings come from a file that only this user may read (see docs/wallet.md)',
    )
    .action((settings: string) => host.runSigner(settings));
  admin(
    program,
    host,
    'status',
    'service.status',
    'whether the service is ready, what waits, and how far its look-ups are behind',
  );
  addDoctor(program, host);
  program
    .command('migrate')
    .description(
      'copy the event log of a stopped embedded service into EventStoreDB and prove that the copy is equal; can be interrupted and run again',
    )
    .requiredOption('--from <data_dir>', 'data directory of the embedded service')
    .option('--to <url>', 'esdb://... of the target, without a password (default: EVENTSTORE_URL, which may have one)')
    .option('--json', 'print JSON')
    .action(async ({ from, to, json }: { from: string; to?: string; json?: boolean }) =>
      print(await host.migrate({ from, to }), json === true),
    );
  addStore(program, host);
  addSandbox(program, host);
  const merchant = addMerchants(program, host);
  addOperators(program, host);
  addWebhooks(program, host);
  const treasury = addTreasury(program, host);
  addApprovals(program, treasury, merchant, host);
  addWallet(program, host);
  addLedger(program, host);
  addInbox(program, host);
  addPaymentLinks(program, host);
  addAddresses(program, host);
  addSessions(program, host);
  addChains(program, host);
  addLookUps(program, host);
  addAudit(program, host);
  addBackup(program, host);
  addCanary(program, host);
  addSettings(program, host);
  addPeople(program, host);
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
    'create a user per role with its own read and append rights (docs/operations.md); can be repeated',
  );
}

function addSandbox(program: Command, host: CliHost): void {
  const sandbox = program.command('sandbox').description('local chains and test payments');
  sandbox
    .command('start')
    .description('run everything on this machine, for testing')
    .action(() => host.startSandbox());
  sandbox
    .command('node <file>')
    .description('run one process of a sandbox with several processes (see docs/scaling.md)')
    .action((file: string) => host.startSandboxNode(file));
  admin(sandbox, host, 'pay <session_id>', 'sandbox.pay', 'pay a session with the test wallet', [
    ['--network <network>', 'ethereum, bsc, tron or solana', true],
    ['--coin <coin>', "USDT or USDC (default: the session's)"],
    ['--amount <amount>', 'decimal amount (default: what is due)'],
    [
      '--case <case>',
      'exact (default), partial, over, late, wrong_coin, two_payers, reorg, lost, contract_payer, exchange_payer or frozen_payer',
    ],
  ]);
}

/** These change a file that the running service reads again. */
function addOperators(program: Command, host: CliHost): void {
  const operator = program.command('operator').description("who may use the operator's HTTP API (ADMIN_PORT)");
  admin(operator, host, 'create', 'operator.create', 'issue a token; prints it once', [
    ['--name <name>', 'recorded as the actor of their decisions', true],
    ['--role <role>', 'viewer (reads only) or operator', true],
    [
      '--token-file <file>',
      'write the token to this file, with mode 0600, instead of printing it; never overwrites a file',
    ],
  ]);
  admin(operator, host, 'list', 'operator.list', 'everyone with a token');
  admin(operator, host, 'revoke <operator_id>', 'operator.revoke', 'revoke a token at once');
}

function addAddresses(program: Command, host: CliHost): void {
  const addresses = program.command('addresses').description('collection addresses');
  admin(addresses, host, 'stock', 'addresses.stock', 'how many are ready to be assigned');
  admin(addresses, host, 'skip', 'addresses.skip', 'after a restore: assign no index below this one', [
    ['--mode <mode>', 'test or live', true],
    ['--family <family>', 'evm, tron or solana', true],
    ['--to <index>', 'the lowest derivation index to assign from now on', true],
  ]);
}

function addSessions(program: Command, host: CliHost): void {
  const session = program.command('session').description('inspect sessions');
  admin(session, host, 'explain <session_id>', 'session.explain', 'every observation and decision, in order');
  admin(session, host, 'totals <merchant_id>', 'session.totals', 'number and amounts of sessions, by coin', [
    ['--status <status>', 'only sessions with this status, such as paid or unpaid'],
    ['--order <order_id>', 'only sessions of this order'],
    ['--from <day>', 'created on this day (UTC) or later'],
    ['--to <day>', 'created on this day (UTC) or earlier'],
    ['--by-day', 'one line per day of creation and coin'],
  ]);
  admin(program, host, 'forget <session_id>', 'session.forget', 'permanently erase the personal data of a session', [
    WHO,
  ]);
}

function addChains(program: Command, host: CliHost): void {
  const chain = program.command('chain').description('the chains and how far they have been read');
  admin(chain, host, 'status', 'chain.status', 'head, read and final blocks of every network');
  admin(chain, host, 'coverage', 'chain.coverage', 'recorded block ranges of every network, and the gaps between them');
  admin(
    chain,
    host,
    'rescan',
    'chain.rescan',
    'read a range of blocks, or on Solana an address, again; known transfers change nothing',
    [
      ['--network <network>', 'ethereum, bsc, tron or solana', true],
      ['--from <block>', 'first block'],
      ['--to <block>', 'last block'],
      ['--address <address>', 'on Solana: the address of a session'],
      ['--mode <mode>', 'test or live, if the network is watched in both'],
      WHO,
    ],
  );
}
