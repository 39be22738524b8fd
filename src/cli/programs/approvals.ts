import { parseJson } from '../../runtime/util/parse-json.ts';
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { JsonValue } from '../../ports/read-model/read-model.ts';
import { CommandRefused } from '../../operator/server/commands.ts';
import { print } from '../print.ts';
import { completed, EXPECTATIONS, withoutCompared } from '../approval-expectations.ts';
import { assertTyped, hashOfTerms, shownTerms, termsIn, type AskedTerms } from '../approval-terms.ts';
import { admin } from '../admin-command.ts';
import type { CliHost } from '../host.ts';

type Flags = readonly (readonly [string, string, boolean?])[];
interface Options {
  readonly [option: string]: JsonValue | undefined;
  readonly key?: string | undefined;
  readonly passphraseFile?: string | undefined;
  readonly termsHash?: string | undefined;
  readonly terms?: string;
  readonly approvals?: string;
}

const KEY = [
  ['--key <file>', "the approver's key; without it the terms are only shown"],
  ['--passphrase-file <file>', "file with the key's passphrase (default: APPROVER_PASSPHRASE_FILE, or a prompt)"],
  ['--terms-hash <hash>', 'without a terminal: the hash of the terms that you have read, as shown without --key'],
  [
    '--terms <file>',
    'sign the output of "--json" from another machine (- for standard input); prints what --approvals takes',
  ],
  ['--approvals <file>', 'the output of this command with --terms on the machine that has the key'],
] as const;
const PROPOSER = ['--operator <name>', 'the proposer, the same for both approvers (default: operator)'] as const;
/** What is asked at the terminal unless it is given here, before the terms are shown. */
const MONEY = [
  ['--amount <amount>', 'the amount and coin that you approve, such as "5000 USDT"; anything else is not signed'],
  ['--to <address>', 'the address that you approve; anything else is not signed'],
] as const;
const MODE = ['--mode <mode>', 'test or live', true] as const;

function addApprover(program: Command, host: CliHost): void {
  const approver = program
    .command('approver')
    .description('keys of the people who approve actions that need two approvals');
  admin(
    approver,
    host,
    'enroll',
    'approver.enroll',
    "create a key file; prints the entry for the signer's PAYOUT_APPROVERS",
    [
      ['--name <name>', "the person's name", true],
      ['--key <file>', 'output file; never overwrites a file', true],
      ['--passphrase-file <file>', 'file with the passphrase (default: APPROVER_PASSPHRASE_FILE, or a prompt)'],
    ],
  );
}

/** `quittance approver ...`, and the commands that two approvers run. */
export function addApprovals(program: Command, treasury: Command, merchant: Command, host: CliHost): void {
  addApprover(program, host);
  const id = 'approve <id>';
  declareApproved(
    treasury,
    host,
    id,
    'treasury.approve',
    'approve a refund or return above the threshold, a withdrawal, a settlement or a return of native coin',
    MONEY,
  );
  declareApproved(treasury, host, 'resume', 'treasury.resume', 'resume the signer; two approvers run this', [
    MODE,
    PROPOSER,
    ['--begin-anew <network...>', 'a network whose journal is lost, and which begins with the place of the event log'],
  ]);
  declareApproved(treasury, host, 'limits', 'treasury.limits', 'put wider limits into force; two approvers run this', [
    MODE,
    PROPOSER,
    ['--change <text...>', 'a change that you approve, as the terms word it; each of them, nothing else is signed'],
  ]);
  const outflow = 'acknowledge <outflow>';
  declareApproved(
    treasury,
    host,
    outflow,
    'treasury.acknowledge',
    'explain an outflow that reconcile found, so that payouts continue; two approvers run this',
    [
      ['--amount <amount>', 'what left, as the chain shows it, such as "7 USDT", or none'],
      ['--to <address>', 'where it went, as the chain shows it, or unknown'],
      ['--operator <name>', 'who explains it, not one of the approvers; the same for both', true],
      ['--reason <text>', 'what it was, worded identically by both', true],
    ],
  );
  declareApproved(
    treasury,
    host,
    'take-over <tx>',
    'treasury.take-over',
    'record again a payment that a restored event log lost, as the journal has it; two approvers run this, oldest payment first',
    [
      ...MONEY,
      ['--operator <name>', 'the proposer, not one of the approvers; the same for both', true],
      ['--reason <text>', 'why, worded identically by both', true],
      ['--session <id>', 'the session of the refund, if the event log does not know the refund'],
    ],
  );
  const address = 'settlement-address <merchant_id>';
  declareApproved(
    merchant,
    host,
    address,
    'merchant.settlement-address',
    'set the settlement address; two approvers run this',
    [
      ['--network <network>', 'ethereum, bsc, tron or solana', true],
      ['--address <address>', "the merchant's own address", true],
      PROPOSER,
    ],
  );
}

/** A command that first returns terms, which are compared with it, shown and signed here. */
export function declareApproved(
  parent: Command,
  host: CliHost,
  usage: string,
  name: keyof typeof EXPECTATIONS,
  description: string,
  flags: Flags,
): void {
  const command = parent.command(usage).description(description).option('--json', 'print JSON');
  for (const [option, text, required] of [...flags, ...KEY]) {
    if (required) command.requiredOption(option, text);
    else command.option(option, text);
  }
  command.action(async (...given: unknown[]) => {
    const { json, key, passphraseFile, termsHash, approvals, terms: file, ...options } = command.opts<Options>();
    const argument = command.registeredArguments[0]?.name();
    const typed = { ...options, ...(argument !== undefined && { [argument]: String(given[0]) }) };
    const args = withoutCompared(typed);
    const send = async (signed: JsonValue) =>
      print(await host.admin(name, { ...args, approvals: signed }), json === true);
    if (approvals !== undefined) return send(parsed(approvals, 'approvals'));
    if (file !== undefined && key === undefined) throw new CommandRefused('--terms needs --key');
    const asked = file === undefined ? await host.admin(name, args) : parsed(file, 'terms');
    const terms = termsIn(asked);
    if (terms === null && file !== undefined) throw new CommandRefused('terms: the file contains nothing to sign');
    if (terms === null) return print(asked, json === true);
    const known = key === undefined ? typed : await completed(name, typed, (question) => host.ask(question));
    assertTyped(terms, EXPECTATIONS[name](known));
    if (key === undefined && json === true) return print(asked, true);
    if (key === undefined)
      return void process.stdout.write(`${shownTerms(terms)}\n\nNothing was signed: pass the key with --key.\n`);
    const signed = await signAll(terms, { key, passphraseFile, termsHash }, host);
    return file === undefined ? send(signed) : print(signed, true);
  });
}

/** Shows the terms, and has a person agree, before the key is opened. */
async function signAll(
  terms: AskedTerms,
  { termsHash, ...key }: Pick<Options, 'key' | 'passphraseFile' | 'termsHash'>,
  host: CliHost,
): Promise<JsonValue> {
  process.stderr.write(`${shownTerms(terms)}\n\n`);
  await agreedTo(terms, termsHash, host);
  const { name, sign } = await host.openApproverKey(key);
  return terms.map(
    (one) => one && { approver: name, number: one.number, proof: { kind: 'ed25519', signature: sign(one.text) } },
  );
}

/** A person reads and types, or read the same terms before and passes their hash. Throws `CommandRefused`. */
async function agreedTo(terms: AskedTerms, termsHash: string | undefined, host: CliHost): Promise<void> {
  if (termsHash !== undefined) {
    if (termsHash.toLowerCase() === hashOfTerms(terms)) return;
    throw new CommandRefused('nothing was signed: --terms-hash is not the hash of these terms');
  }
  const answer = await host.ask('Sign exactly this? Type yes: ');
  if (answer === null)
    throw new CommandRefused(
      'nothing was signed: without a terminal, pass the hash of the terms that you have read with --terms-hash',
    );
  if (answer.trim().toLowerCase() !== 'yes') throw new CommandRefused('nothing was signed');
}

function parsed(file: string, name: string): JsonValue {
  try {
    return parseJson(readFileSync(file === '-' ? 0 : file, 'utf8'));
  } catch {
    throw new CommandRefused(`${name}: ${file} cannot be read as JSON`);
  }
}
