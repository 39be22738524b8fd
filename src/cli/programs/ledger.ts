import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { JsonValue } from '../../ports/read-model/read-model.ts';
import { CommandRefused, type AdminArguments } from '../../operator/server/commands.ts';
import { print as printAnswer } from '../print.ts';
import { declareApproved } from './approvals.ts';
import { addExport } from './ledger-export.ts';
import { showAccount, showJournal, showSettlement, showTrialBalance } from '../show-ledger.ts';
import { admin } from '../admin-command.ts';
import type { CliHost } from '../host.ts';
import { messageOf } from '../../runtime/util/message-of.ts';

const MODE = ['--mode <mode>', 'test or live (default: the only one with entries)'] as const;
const CLOCK = ['--clock <clock>', 'recorded (default) or chain: the clock that determines days'] as const;
const RANGE = [
  ['--from <day>', 'first day, such as 2026-10-01 (UTC)'],
  ['--to <day>', 'last day, inclusive'],
  CLOCK,
] as const;
const PAGE = [
  ['--limit <n>', 'at most this many entries (default 50)'],
  ['--cursor <cursor>', 'next_cursor of the previous page'],
] as const;

/** `quittance ledger ...`. */
export function addLedger(program: Command, host: CliHost): void {
  const ledger = program.command('ledger').description('the books: double entry over every movement of money');
  const declare = (
    usage: string,
    name: string,
    description: string,
    options: Parameters<typeof admin>[5],
    show?: (value: JsonValue) => string,
  ) => admin(ledger, host, usage, `ledger.${name}`, description, options, show ? { show } : {});
  declare(
    'trial-balance',
    'trial-balance',
    'every balance, now or at the end of a day; debits equal credits',
    [
      MODE,
      [
        '--as-of <when>',
        'at the end of a day such as 2026-10-31 (UTC), or at a moment such as 2026-10-31T18:00:00+09:00',
      ],
      ['--time-zone <zone>', 'time zone of --as-of, such as Europe/Berlin'],
      ['--currency <code>', 'add the value of assets and liabilities at the recorded rates (with --json)'],
      CLOCK,
    ],
    showTrialBalance,
  );
  declare(
    'journal',
    'journal',
    'entries in recording order',
    [MODE, ['--merchant <merchant_id>', 'only this merchant'], ...RANGE, ...PAGE],
    showJournal,
  );
  declare(
    'account <account>',
    'account',
    'statement of one account',
    [MODE, ...RANGE, ...PAGE, ['--currency <code>', 'currency of the values, at the recorded rates']],
    showAccount,
  );
  declare('fundings', 'fundings', 'funding of the treasuries, with the transaction or the range of blocks it came in', [
    MODE,
    ...RANGE,
    ...PAGE,
  ]);
  declare(
    'settlement <merchant_id>',
    'settlement',
    'every change of what a merchant is owed, in lines that can be summed',
    [...RANGE, ...PAGE],
    showSettlement,
  );
  declare('periods', 'periods', 'closed months', [MODE]);
  declare(
    'close <month>',
    'close',
    'seal a month, such as 2026-10: its figures never change again; lists its deposits that are not final',
    [MODE, ['--dry-run', 'only list the deposits'], ['--operator <name>', 'your name, for the record']],
  );
  addStatement(ledger, host);
  addAdjustments(ledger, host);
  addRates(ledger, host);
  addExport(ledger, host);
}

/** Values of coins, for books in a currency. */
function addRates(ledger: Command, host: CliHost): void {
  ledger
    .command('record-rates <file>')
    .description('record the value of coins: a CSV of when,coin,rate, such as 2026-10-31,ETH,2345.67')
    .requiredOption('--currency <code>', 'currency of the rates, such as EUR')
    .requiredOption('--source <text>', 'source of the rates, such as ECB; kept permanently')
    .option('--operator <name>', 'your name, for the record')
    .option('--json', 'print JSON')
    .action(async (file: string, { json, ...args }: { json?: boolean } & AdminArguments) =>
      printAnswer(
        await host.admin('ledger.record-rates', { ...args, rates: bytesIn(file).toString('utf8') }),
        json === true,
      ),
    );
  admin(ledger, host, 'rates', 'ledger.rates', 'the recorded rates of each coin', [
    ['--currency <code>', 'currency of the rates, such as EUR (default: only list the currencies)'],
  ]);
}

/** A closed month as recorded in the event log, and its statements. */
function addStatement(ledger: Command, host: CliHost): void {
  ledger
    .command('statements <month>')
    .description('the statements of a closed month, for the operator and each merchant; creates missing ones')
    .requiredOption('--mode <mode>', 'test or live')
    .option('--operator <name>', 'your name, for the record')
    .option('--json', 'print JSON')
    .action(async (month: string, { json, ...args }: { json?: boolean } & AdminArguments) =>
      printAnswer(await host.admin('ledger.statements', { month, ...args }), json === true),
    );
  ledger
    .command('month-statement <month>')
    .description('the statement of a closed month as JSON for "quittance audit verify --statement"')
    .requiredOption('--mode <mode>', 'test or live')
    .option('--merchant <merchant_id>', 'the statement of this merchant (default: the operator)')
    .action(async (month: string, args: AdminArguments) =>
      printAnswer(await host.admin('ledger.month-statement', { month, ...args }), true),
    );
  ledger
    .command('statement <month>')
    .description('a closed month as JSON for "quittance audit verify --statement"')
    .requiredOption('--mode <mode>', 'test or live')
    .action(async (month: string, { mode }: { mode: string }) =>
      printAnswer(await host.admin('ledger.statement', { month, mode }), true),
    );
}

/** Entries posted by hand. */
function addAdjustments(ledger: Command, host: CliHost): void {
  ledger
    .command('adjust')
    .description(
      'propose a manual entry; it is posted once two others have approved it, and only another entry reverses it',
    )
    .option('--mode <mode>', 'test or live')
    .option('--network <network>', 'ethereum, bsc, tron or solana')
    .option('--coin <coin>', "USDT, USDC or the network's own coin")
    .option('--debit <lines>', 'account=amount, several separated by commas')
    .option('--credit <lines>', 'account=amount, several separated by commas; in total equal to the debits')
    .option('--reverses <adjustment>', 'reverse this entry, instead of the five options above')
    .option('--attachment <file>', 'the supporting document: its SHA-256 is kept, the file is not')
    .requiredOption('--operator <name>', 'the proposer, not one of the approvers')
    .requiredOption('--reason <text>', 'why; kept permanently')
    .option('--json', 'print JSON')
    .action(async ({ attachment, json, ...args }: { attachment?: string; json?: boolean } & AdminArguments) => {
      const digest =
        attachment === undefined
          ? {}
          : { attachment: hash('sha256', bytesIn(attachment, `attachment ${attachment}`), 'hex') };
      printAnswer(await host.admin('ledger.adjust', { ...args, ...digest }), json === true);
    });
  admin(ledger, host, 'adjustments', 'ledger.adjustments', 'manual entries: proposed and posted', [
    ['--mode <mode>', 'test or live'],
  ]);
  declareApproved(
    ledger,
    host,
    'approve-adjustment <id>',
    'ledger.approve-adjustment',
    'approve a manual entry; two approvers run this',
    [
      ['--debit <lines>', 'the lines that you approve: account=amount, several separated by commas'],
      ['--credit <lines>', 'the same in credit; anything else is not signed'],
      ['--coin <coin>', 'the coin of these lines'],
    ],
  );
  admin(
    ledger,
    host,
    'reject-adjustment <id>',
    'ledger.reject-adjustment',
    'reject a manual entry that is not posted',
    [['--operator <name>', 'your name, for the record']],
  );
}

function bytesIn(file: string, name = file): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new CommandRefused(`${name} cannot be read: ${messageOf(error)}`);
  }
}
