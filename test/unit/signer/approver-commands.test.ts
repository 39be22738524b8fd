import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createProgram } from '../../../src/cli/program.ts';
import type { CliHost } from '../../../src/cli/host.ts';
import type { AdminArguments } from '../../../src/operator/server/commands.ts';
import { demoApprovers } from '../../../src/key-tools/approver-key.ts';
import { enrolApprover, openKeyFile } from '../../../src/key-tools/approver.ts';
import type { ApproverKey } from '../../../src/ports/signer/approvals.ts';
import type { JsonValue } from '../../../src/ports/read-model/read-model.ts';
import { prove } from '../../../src/signer/approvals/proof.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/* Keys of approvers on their own machine, and the commands that show terms and sign them there. */

const NUMBER = '1.abc.def';
const textOf = (...lines: string[]): string => ['Quittance approval', ...lines, `number: ${NUMBER}`].join('\n');
const WITHDRAWAL = ['action: withdraw to a cold address', 'amount: 5.00 USDT', 'from: 0xTreasury', 'to: 0xCold'];
const TEXT = textOf(...WITHDRAWAL, 'network: bsc', 'mode: live', 'order: wdr_1', 'proposed by: olga');
const PASSPHRASE = 'correct horse battery';

let directory: string;
let written: string;
beforeEach(() => {
  directory = temporaryFolder('approver');
  writeFileSync(join(directory, 'passphrase'), `${PASSPHRASE}\n`);
  written = '';
  const take = (text: unknown): boolean => {
    written += String(text);
    return true;
  };
  vi.spyOn(process.stdout, 'write').mockImplementation(take);
  vi.spyOn(process.stderr, 'write').mockImplementation(take);
});
afterEach(() => {
  vi.restoreAllMocks();
});

const key = (): string => join(directory, 'ada.json');
const passphraseFile = (): string => join(directory, 'passphrase');
const enrol = async (): Promise<ApproverKey> => {
  const entry = (await enrolApprover({ name: 'ada', key: key(), passphraseFile: passphraseFile() }, {})) as {
    PAYOUT_APPROVERS: string;
  };
  return (JSON.parse(entry.PAYOUT_APPROVERS) as [ApproverKey])[0];
};
const proves = async (entry: ApproverKey, text: string, signature: string): Promise<boolean> =>
  (await prove([entry], text, { kind: 'ed25519', signature }, () => 0)).ok;

describe('a key of an approver', () => {
  it('signs what the printed entry verifies, from a file that only its owner can read and only the passphrase opens', async () => {
    const entry = await enrol();
    expect(entry).toMatchObject({ name: 'ada', kind: 'ed25519' });
    expect(statSync(key()).mode & 0o777).toBe(0o600);
    expect(readFileSync(key(), 'utf8')).not.toContain(PASSPHRASE);
    const opened = await openKeyFile({ key: key(), passphraseFile: passphraseFile() }, {});
    expect(await proves(entry, TEXT, opened.sign(TEXT))).toBe(true);
    expect(await proves(entry, `${TEXT} `, opened.sign(TEXT))).toBe(false);
    expect((await openKeyFile({ key: key() }, { APPROVER_PASSPHRASE_FILE: passphraseFile() })).name).toBe('ada');
    writeFileSync(passphraseFile(), 'another passphrase');
    await expect(openKeyFile({ key: key(), passphraseFile: passphraseFile() }, {})).rejects.toThrow(
      'does not open the key',
    );
  });

  it('cannot be given to somebody else by changing its file', async () => {
    await enrol();
    writeFileSync(key(), readFileSync(key(), 'utf8').replace('"ada"', '"ben"'));
    await expect(openKeyFile({ key: key(), passphraseFile: passphraseFile() }, {})).rejects.toThrow(
      'does not open the key',
    );
  });

  it('is never replaced, has a name that everybody can read, and no short passphrase', async () => {
    await enrol();
    await expect(enrol()).rejects.toThrow('a key is never overwritten');
    const other = { key: join(directory, 'other.json'), passphraseFile: passphraseFile() };
    await expect(enrolApprover({ ...other, name: 'a\nb' }, {})).rejects.toThrow('name must begin');
    writeFileSync(passphraseFile(), 'short');
    await expect(enrolApprover({ ...other, name: 'ben' }, {})).rejects.toThrow('the passphrase must have');
  });

  it('of the sandbox is created once, for two people', () => {
    const made = demoApprovers(directory);
    expect(demoApprovers(directory)).toEqual(made);
    expect(new Set(made.map(({ publicKey }) => publicKey)).size).toBe(2);
    for (const file of ['passphrase', 'demo-1.json', 'demo-2.json'])
      expect(statSync(join(directory, 'approvers', file)).mode & 0o777).toBe(0o600);
  });
});

const asked: AdminArguments[] = [];
let opened = 0;
/** Runs a command against a service that gives these answers; `typed` is what a person types, null without a terminal. */
const run = async (answers: readonly JsonValue[], typed: string | null, ...args: string[]): Promise<void> => {
  asked.length = 0;
  opened = 0;
  const rest = [...answers];
  const host = {
    admin: async (_name: string, given: AdminArguments) => {
      asked.push(given);
      return rest.shift()!;
    },
    ask: async () => typed,
    openApproverKey: (given: AdminArguments) => {
      opened += 1;
      return openKeyFile(given, {});
    },
  } as unknown as CliHost;
  await createProgram(host).parseAsync(args, { from: 'user' });
};
const termsFor = (text: string): JsonValue => ({ to_sign: [{ text, number: NUMBER }] });
const withKey = (): string[] => ['--key', key(), '--passphrase-file', passphraseFile()];
const hashShown = (): string => /hash of these terms: ([0-9a-f]{64})/.exec(written)![1]!;

describe('quittance treasury approve', () => {
  it('shows the terms and signs them here; the key and the passphrase go nowhere', async () => {
    const entry = await enrol();
    await run([termsFor(TEXT), { approved_by: ['ada'] }], 'yes', 'treasury', 'approve', 'wdr_1', ...withKey());
    expect(written).toContain(TEXT);
    const [first, second] = asked;
    expect(first).toEqual({ id: 'wdr_1' });
    const [approval] = second!['approvals'] as unknown as [
      { approver: string; number: string; proof: { signature: string } },
    ];
    expect(approval).toMatchObject({ approver: 'ada', number: NUMBER });
    expect(await proves(entry, TEXT, approval.proof.signature)).toBe(true);
    expect(Object.keys(second!)).toEqual(['id', 'approvals']);
  });

  it('only shows the terms without a key, and accepts what was signed on another machine', async () => {
    const entry = await enrol();
    await run([termsFor(TEXT)], null, 'treasury', 'approve', 'wdr_1');
    expect(written).toContain('Nothing was signed');
    expect(asked).toHaveLength(1);
    const [asTerms, asApprovals] = [join(directory, 'terms'), join(directory, 'approvals')];
    writeFileSync(asTerms, JSON.stringify(termsFor(TEXT)));
    await expect(run([], null, 'approver', 'sign', '--terms', asTerms, ...withKey())).rejects.toThrow('--terms-hash');
    written = '';
    await run([], 'yes', 'approver', 'sign', '--terms', asTerms, ...withKey());
    writeFileSync(asApprovals, written.slice(written.indexOf('\n[')));
    await run([{ approved_by: ['ada'] }], null, 'treasury', 'approve', 'wdr_1', '--approvals', asApprovals);
    const [approval] = asked[0]!['approvals'] as unknown as [{ proof: { signature: string } }];
    expect(await proves(entry, TEXT, approval.proof.signature)).toBe(true);
  });

  it.each([
    ['is not an approval', `something else\nnumber: ${NUMBER}`],
    ['has another number', TEXT.replace(NUMBER, '2.abc.def')],
    ['steers the terminal', TEXT.replace('5.00', '5.00\u001b[8m')],
    ['turns text around', TEXT.replace('5.00', '5.00\u202e')],
  ])('signs nothing that %s', async (_, text) => {
    await enrol();
    await expect(run([termsFor(text)], 'yes', 'treasury', 'approve', 'wdr_1', ...withKey())).rejects.toThrow(
      'what the service asks to sign',
    );
    expect(asked).toHaveLength(1);
  });

  it('opens no key before a person has typed yes', async () => {
    await enrol();
    for (const typed of ['', 'no', 'y'])
      await expect(run([termsFor(TEXT)], typed, 'treasury', 'approve', 'wdr_1', ...withKey())).rejects.toThrow(
        'nothing was signed',
      );
    expect([opened, asked.length]).toEqual([0, 1]);
  });

  it('signs without a terminal only terms whose hash was passed, which is the same for every number and expiry', async () => {
    await enrol();
    const until = (time: string): string => TEXT.replace('\nnumber', `\nvalid until: ${time}\nnumber`);
    await run([termsFor(until('2026-11-28T10:00:00.000Z'))], null, 'treasury', 'approve', 'wdr_1');
    const known = hashShown();
    const later = termsFor(until('2026-11-28T10:05:00.000Z'));
    const approve = ['treasury', 'approve', 'wdr_1', ...withKey()];
    await expect(run([later], null, ...approve)).rejects.toThrow('without a terminal');
    await run([later, { approved_by: ['ada'] }], null, ...approve, '--terms-hash', known);
    expect(asked).toHaveLength(2);
    const other = termsFor(TEXT.replace('5.00', '5000.00'));
    await expect(run([other], 'yes', ...approve, '--terms-hash', known)).rejects.toThrow('not the hash of these terms');
    expect(opened).toBe(0);
  });
});

describe('an approver whose service answers something else than was typed', () => {
  const PLACE = ['network: bsc', 'mode: live'];
  const settlementAddress = (to: string, merchant = 'mer_a'): string =>
    textOf(
      'action: change the address that a merchant is settled with',
      `to: ${to}`,
      ...PLACE,
      `merchant: ${merchant}`,
      'order: 1',
      'proposed by: olga',
    );
  const refund = (id: string): string =>
    textOf('action: pay a refund', 'amount: 5.00 USDT', 'to: 0xPayer', ...PLACE, `refund: ${id}`, `order: ${id}-1`);
  const entry = (id: string): string => textOf('action: post an entry to the books by hand', ...PLACE, `order: ${id}`);
  const resume = (mode: string): string =>
    textOf(
      'action: let the signer sign again, which ada stopped',
      `mode: ${mode}`,
      'order: stop-1',
      'proposed by: olga',
    );
  const limits = (mode: string): string =>
    textOf('action: put new limits into force', `mode: ${mode}`, 'order: limits-1', 'proposed by: olga');
  const acknowledged = (outflow: string, reason: string): string =>
    textOf(
      'action: acknowledge money that left without an order, and pay again',
      `outflow: 5.00 USDT from 0xA to 0xB (${outflow})`,
      `reason: ${reason}`,
      'proposed by: olga',
    );
  const takenOver = (tx: string, reason: string): string =>
    textOf(
      'action: write a payment that was signed into an event log that lost it',
      `transaction: ${tx}`,
      `reason: ${reason}`,
      'proposed by: olga',
    );
  const approve = ['treasury', 'approve', 'wdr_1'];
  const setAddress = [
    'merchant',
    'settlement-address',
    'mer_a',
    '--network',
    'bsc',
    '--address',
    '0xAb',
    '--operator',
    'olga',
  ];
  const explain = ['treasury', 'acknowledge', '0xA:USDT:7', '--operator', 'olga', '--reason', 'gas'];
  const takeOver = ['treasury', 'take-over', '0x1', '--operator', 'olga', '--reason', 'restored'];
  const ofMode = (command: string): string[] => ['treasury', command, '--mode', 'live', '--operator', 'olga'];

  it.each<[string, string[], string, string]>([
    ['another action', approve, settlementAddress('0xThief'), 'action'],
    ['another withdrawal', approve, TEXT.replace('wdr_1', 'wdr_2'), 'order'],
    ['another amount', [...approve, '--amount', '5 USDT'], TEXT.replace('5.00', '5000.00'), 'amount'],
    ['another coin', [...approve, '--amount', '5 USDT'], TEXT.replace('USDT', 'USDC'), 'amount'],
    ['another destination', [...approve, '--to', '0xCold'], TEXT.replace('0xCold', '0xThief'), 'to'],
    [
      'a second destination',
      [...approve, '--to', '0xCold'],
      TEXT.replace('to: 0xCold', 'to: 0xCold\nto: 0xThief'),
      'to',
    ],
    ['another refund', ['treasury', 'approve', 're_1'], refund('re_2'), 'refund'],
    ['a withdrawal as a refund', ['treasury', 'approve', 're_1'], TEXT, 'action'],
    ['another address', setAddress, settlementAddress('0xThief'), 'to'],
    ['the address of another merchant', setAddress, settlementAddress('0xAb', 'mer_b'), 'merchant'],
    ['another mode to resume', ofMode('resume'), resume('test'), 'mode'],
    ['limits to resume', ofMode('resume'), limits('live'), 'action'],
    ['another mode of limits', ofMode('limits'), limits('test'), 'mode'],
    ['another outflow', explain, acknowledged('0xA:USDT:8', 'gas'), 'outflow'],
    ['another reason', explain, acknowledged('0xA:USDT:7', 'theft'), 'reason'],
    ['another lost payment', takeOver, takenOver('0x2', 'restored'), 'transaction'],
    ['another entry of the books', ['ledger', 'approve-adjustment', 'adj_1'], entry('adj_2'), 'order'],
  ])('signs nothing: %s', async (_, command, text, label) => {
    await enrol();
    await expect(run([termsFor(text)], 'yes', ...command, ...withKey())).rejects.toThrow(
      `nothing was signed: the command says ${label}`,
    );
    expect([opened, asked.length]).toEqual([0, 1]);
  });

  it.each<[string, string[], string]>([
    ['a withdrawal', [...approve, '--amount', '5', '--to', '0xcold'], TEXT],
    ['a refund', ['treasury', 'approve', 're_1'], refund('re_1')],
    ['a settlement address, whatever the case of its hex', setAddress, settlementAddress('0xaB')],
    ['a resumption', ofMode('resume'), resume('live')],
    ['limits', ofMode('limits'), limits('live')],
    ['an outflow', explain, acknowledged('0xA:USDT:7', 'gas')],
    ['a lost payment', takeOver, takenOver('0x1', 'restored')],
    ['an entry of the books', ['ledger', 'approve-adjustment', 'adj_1'], entry('adj_1')],
  ])('signs what was typed: %s', async (_, command, text) => {
    await enrol();
    await run([termsFor(text), { approved_by: ['ada'] }], 'yes', ...command, ...withKey());
    expect([opened, asked.length]).toEqual([1, 2]);
  });
});

describe('every command', () => {
  it('accepts no secret as an argument', () => {
    const names: string[] = [];
    const collect = (command: ReturnType<typeof createProgram>): void => {
      names.push(...command.options.map(({ long }) => long ?? ''));
      for (const child of command.commands) collect(child);
    };
    collect(createProgram({} as CliHost));
    expect(names.filter((name) => /(secret|password|token|mnemonic|passphrase)(?!-file)/.test(name))).toEqual([]);
  });
});
