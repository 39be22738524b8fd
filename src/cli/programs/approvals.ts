import { parseJson } from '../../runtime/util/parse-json.ts';
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { JsonValue } from '../../ports/read-model/read-model.ts';
import { CommandRefused, optionalText, type AdminArguments } from '../../operator/server/commands.ts';
import { inert, isList, print } from '../print.ts';
import { cellsIn } from '../table.ts';
import { admin } from '../admin-command.ts';
import type { CliHost } from '../host.ts';

type Flags = readonly (readonly [string, string, boolean?])[];
type Options = Record<string, string | boolean | undefined>;

interface Terms {
  readonly text: string;
  readonly number: string;
}

const TITLE = 'Quittance approval';
const KEY = [
  ['--key <file>', "the approver's key; without it the terms are only shown"],
  ['--passphrase-file <file>', "file with the key's passphrase (default: APPROVER_PASSPHRASE_FILE, or a prompt)"],
  ['--approvals <file>', 'the output of "quittance approver sign" on another machine'],
] as const;
const PROPOSER = ['--operator <name>', 'the proposer, the same for both approvers (default: operator)'] as const;
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
  approver
    .command('sign')
    .description('sign the output of "--json" on your own machine; prints the input of --approvals')
    .requiredOption('--terms <file>', 'the printed terms (- for standard input)')
    .requiredOption('--key <file>', "the approver's key")
    .option('--passphrase-file <file>', KEY[1][1])
    .action(async ({ terms, ...key }: { terms: string; key: string; passphraseFile?: string }) =>
      print(await signAll(termsOf(parsed(terms, 'terms')), key, host), true),
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
    [],
  );
  declareApproved(treasury, host, 'resume', 'treasury.resume', 'resume the signer; two approvers run this', [
    MODE,
    PROPOSER,
  ]);
  declareApproved(treasury, host, 'limits', 'treasury.limits', 'put wider limits into force; two approvers run this', [
    MODE,
    PROPOSER,
  ]);
  const outflow = 'acknowledge <outflow>';
  declareApproved(
    treasury,
    host,
    outflow,
    'treasury.acknowledge',
    'explain an outflow that reconcile found, so that payouts continue; two approvers run this',
    [
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

/** A command that first returns terms, which are shown and signed here. */
export function declareApproved(
  parent: Command,
  host: CliHost,
  usage: string,
  name: string,
  description: string,
  flags: Flags,
): void {
  const command = parent.command(usage).description(description).option('--json', 'print JSON');
  for (const [option, text, required] of [...flags, ...KEY]) {
    if (required) command.requiredOption(option, text);
    else command.option(option, text);
  }
  command.action(async (...given: unknown[]) => {
    const { json, key, passphraseFile, approvals, ...rest } = command.opts<Options>();
    const argument = command.registeredArguments[0]?.name();
    const args: AdminArguments = { ...rest, ...(argument !== undefined && { [argument]: String(given[0]) }) };
    if (approvals !== undefined)
      return print(
        await host.admin(name, { ...args, approvals: parsed(String(approvals), 'approvals') }),
        json === true,
      );
    const asked = await host.admin(name, args);
    const terms = termsOf(asked);
    if (terms === null || (key === undefined && json === true)) return print(asked, json === true);
    if (key === undefined)
      return void process.stdout.write(`${shown(terms)}\n\nNothing was signed: pass the key with --key.\n`);
    const signed = await signAll(terms, { key, passphraseFile }, host);
    print(await host.admin(name, { ...args, approvals: signed }), json === true);
  });
}

/** Shows the terms before the key is opened. */
async function signAll(
  terms: readonly (Terms | null)[] | null,
  key: AdminArguments,
  host: CliHost,
): Promise<JsonValue> {
  if (terms === null) throw new CommandRefused('terms: the file contains nothing to sign');
  process.stderr.write(`${shown(terms)}\n\n`);
  const { name, sign } = await host.openApproverKey({ ...key, passphraseFile: optionalText(key, 'passphraseFile') });
  return terms.map(
    (one) => one && { approver: name, number: one.number, proof: { kind: 'ed25519', signature: sign(one.text) } },
  );
}

/**
 * Null when the answer asks for no signature. Only the text of an approval is ever signed, whoever asks. Throws
 * `CommandRefused`.
 */
function termsOf(answer: JsonValue): readonly (Terms | null)[] | null {
  const asked = cellsIn(answer).to_sign;
  if (asked === undefined || !isList(asked)) return null;
  return asked.map((one) => {
    if (one === null) return null;
    const { text, number } = cellsIn(one);
    if (
      typeof text !== 'string' ||
      typeof number !== 'string' ||
      !text.startsWith(`${TITLE}\n`) ||
      !text.endsWith(`\nnumber: ${number}`)
    )
      throw new CommandRefused('what the service asks to sign is not an approval');
    if (text.split('\n').some((line) => !/^[\p{L}\p{N}\p{P}\p{S}\p{M} ]+$/u.test(line)))
      throw new CommandRefused('what the service asks to sign contains characters that cannot be shown');
    return { text, number };
  });
}

const shown = (terms: readonly (Terms | null)[]): string =>
  terms.flatMap((one) => (one ? [one.text.split('\n').map(inert).join('\n')] : [])).join('\n\n');

function parsed(file: string, name: string): JsonValue {
  try {
    return parseJson(readFileSync(file === '-' ? 0 : file, 'utf8'));
  } catch {
    throw new CommandRefused(`${name}: ${file} cannot be read as JSON`);
  }
}
