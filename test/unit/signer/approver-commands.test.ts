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
const take = (text: unknown): boolean => {
  written += String(text);
  return true;
};
beforeEach(() => {
  directory = temporaryFolder('approver');
  writeFileSync(join(directory, 'passphrase'), `${PASSPHRASE}\n`);
  written = '';
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
/** The same key for every test that only signs with one: making a key is slow. */
let made: { readonly file: string; readonly entry: ApproverKey } | undefined;
const enrolOnce = async (): Promise<ApproverKey> => {
  if (made) writeFileSync(key(), made.file);
  else {
    const entry = await enrol();
    made = { entry, file: readFileSync(key(), 'utf8') };
  }
  return made.entry;
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
/**
 * Runs a command against a service that gives these answers. What a person types: to the last question, or to one after
 * the other; null without a terminal.
 */
const run = async (
  answers: readonly JsonValue[],
  typed: string | null | readonly string[],
  ...args: string[]
): Promise<void> => {
  asked.length = 0;
  opened = 0;
  const rest = [...answers];
  const lines = Array.isArray(typed) ? [...(typed as readonly string[])] : null;
  const host = {
    admin: async (_name: string, given: AdminArguments) => {
      asked.push(given);
      return rest.shift()!;
    },
    ask: async (question: string) => {
      take(question);
      return lines === null ? (typed as string | null) : lines.shift()!;
    },
    openApproverKey: (given: AdminArguments) => {
      opened += 1;
      return openKeyFile(given, {});
    },
  } as unknown as CliHost;
  await createProgram(host).parseAsync(args, { from: 'user' });
};
const termsFor = (text: string): JsonValue => ({ to_sign: [{ text, number: NUMBER }] });
const AGREED = ['--amount', '5 USDT', '--to', '0xCold'];
const withKey = (): string[] => ['--key', key(), '--passphrase-file', passphraseFile()];
const hashShown = (): string => /hash of these terms: ([0-9a-f]{64})/.exec(written)![1]!;

describe('quittance treasury approve', () => {
  it('shows the terms and signs them here; the key and the passphrase go nowhere', async () => {
    const entry = await enrolOnce();
    await run(
      [termsFor(TEXT), { approved_by: ['ada'] }],
      'yes',
      'treasury',
      'approve',
      'wdr_1',
      ...AGREED,
      ...withKey(),
    );
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
    const entry = await enrolOnce();
    await run([termsFor(TEXT)], null, 'treasury', 'approve', 'wdr_1');
    expect(written).toContain('Nothing was signed');
    expect(asked).toHaveLength(1);
    const [asTerms, asApprovals] = [join(directory, 'terms'), join(directory, 'approvals')];
    writeFileSync(asTerms, JSON.stringify(termsFor(TEXT)));
    const sign = ['treasury', 'approve', 'wdr_1', ...AGREED, '--terms', asTerms];
    await expect(run([], 'yes', ...sign)).rejects.toThrow('--terms needs --key');
    await expect(run([], null, ...sign, ...withKey())).rejects.toThrow('--terms-hash');
    written = '';
    await run([], 'yes', ...sign, ...withKey());
    expect(asked).toEqual([]);
    writeFileSync(asApprovals, written.slice(written.indexOf('Type yes: ') + 'Type yes: '.length));
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
    await enrolOnce();
    await expect(run([termsFor(text)], 'yes', 'treasury', 'approve', 'wdr_1', ...AGREED, ...withKey())).rejects.toThrow(
      'what the service asks to sign',
    );
    expect(asked).toHaveLength(1);
  });

  it('opens no key before a person has typed yes', async () => {
    await enrolOnce();
    for (const typed of ['', 'no', 'y'])
      await expect(
        run([termsFor(TEXT)], typed, 'treasury', 'approve', 'wdr_1', ...AGREED, ...withKey()),
      ).rejects.toThrow('nothing was signed');
    expect([opened, asked.length]).toEqual([0, 1]);
  });

  it('signs without a terminal only terms whose hash was passed, which is the same for every number and expiry', async () => {
    await enrolOnce();
    const until = (time: string): string => TEXT.replace('\nnumber', `\nvalid until: ${time}\nnumber`);
    await run([termsFor(until('2026-11-28T10:00:00.000Z'))], null, 'treasury', 'approve', 'wdr_1');
    const known = hashShown();
    const later = termsFor(until('2026-11-28T10:05:00.000Z'));
    const approve = ['treasury', 'approve', 'wdr_1', ...AGREED, ...withKey()];
    await expect(run([later], null, ...approve)).rejects.toThrow('without a terminal');
    await run([later, { approved_by: ['ada'] }], null, ...approve, '--terms-hash', known);
    expect(asked).toHaveLength(2);
    const other = termsFor(TEXT.replace('0xTreasury', '0xOther'));
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
    textOf('action: pay a refund', 'amount: 5.00 USDT', 'to: 0xCold', ...PLACE, `refund: ${id}`, `order: ${id}-1`);
  const entry = (id: string, ...lines: string[]): string =>
    textOf('action: post an entry to the books by hand', ...lines, ...PLACE, `order: ${id}`);
  const LINES = ['debit: 7.00 USDT expenses:other', 'debit: 3.00 USDT income:other', 'credit: 10.00 USDT assets:cash'];
  const resume = (mode: string, ...lines: string[]): string =>
    textOf(
      'action: let the signer sign again, which ada stopped',
      ...lines,
      `mode: ${mode}`,
      'order: stop-1',
      'proposed by: olga',
    );
  const LOST = 'begin anew: bsc, though this journal does not hold entry 7 (ab), up to which the event log has paid';
  const limits = (mode: string, ...changes: string[]): string =>
    textOf(
      'action: put new limits into force',
      ...changes.map((change) => `change: ${change}`),
      `mode: ${mode}`,
      'order: limits-1',
      'proposed by: olga',
    );
  const WIDER = 'USDT of refunds per hour: 20000 instead of 10000';
  const FURTHER = 'withdrawals may go to bsc 0xThief';
  const acknowledged = (reason: string, ...outflows: string[]): string =>
    textOf(
      'action: acknowledge money that left without an order, and pay again',
      ...outflows.map((outflow) => `outflow: ${outflow}`),
      `reason: ${reason}`,
      'proposed by: olga',
    );
  const LEFT = '5.00 USDT from 0xA to 0xCold (0x77:0)';
  const FEE = '0.01 BNB from 0xA to several, or nobody known (0x77:fee)';
  const takenOver = (tx: string, reason: string, to = '0xCold'): string =>
    textOf(
      'action: write a payment that was signed into an event log that lost it',
      'amount: 5.00 USDT',
      `to: ${to}`,
      `transaction: ${tx}`,
      `reason: ${reason}`,
      'proposed by: olga',
    );
  const approve = ['treasury', 'approve', 'wdr_1', ...AGREED];
  const approveRefund = ['treasury', 'approve', 're_1', ...AGREED];
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
  const explain = (outflow: string, amount = '5 USDT', to = '0xCold'): string[] => [
    ...['treasury', 'acknowledge', outflow, '--amount', amount, '--to', to],
    ...['--operator', 'olga', '--reason', 'gas'],
  ];
  const takeOver = ['treasury', 'take-over', '0x1', ...AGREED, '--operator', 'olga', '--reason', 'restored'];
  const ofMode = (command: string, ...more: string[]): string[] => [
    ...['treasury', command, '--mode', 'live', '--operator', 'olga'],
    ...more,
  ];
  const post = (debit: string): string[] => [
    ...['ledger', 'approve-adjustment', 'adj_1', '--debit', debit],
    ...['--credit', 'assets:cash=10', '--coin', 'usdt'],
  ];
  const BOTH = 'income:other=3, expenses:other=7.00';

  it.each<[string, string[], string, string]>([
    ['another action', approve, settlementAddress('0xThief'), 'action'],
    ['another withdrawal', approve, TEXT.replace('wdr_1', 'wdr_2'), 'order'],
    ['another amount', approve, TEXT.replace('5.00', '5000.00'), 'amount'],
    ['another coin', approve, TEXT.replace('USDT', 'USDC'), 'amount'],
    ['an amount without its coin', [...approve, '--amount', '5'], TEXT, 'amount'],
    ['another destination', approve, TEXT.replace('0xCold', '0xThief'), 'to'],
    ['the end of a destination', [...approve, '--to', 'Cold'], TEXT, 'to'],
    ['a second destination', approve, TEXT.replace('to: 0xCold', 'to: 0xCold\nto: 0xThief'), 'to'],
    ['another refund', approveRefund, refund('re_2'), 'refund'],
    ['a refund to somebody else', approveRefund, refund('re_1').replace('0xCold', '0xThief'), 'to'],
    ['a withdrawal as a refund', approveRefund, TEXT, 'action'],
    ['another address', setAddress, settlementAddress('0xThief'), 'to'],
    ['the address of another merchant', setAddress, settlementAddress('0xAb', 'mer_b'), 'merchant'],
    ['another mode to resume', ofMode('resume'), resume('test'), 'mode'],
    ['limits to resume', ofMode('resume'), limits('live', WIDER), 'action'],
    ['a network that begins anew unnamed', ofMode('resume'), resume('live', LOST), 'begin anew'],
    ['another network that begins anew', ofMode('resume', '--begin-anew', 'tron'), resume('live', LOST), 'begin anew'],
    ['another mode of limits', ofMode('limits', '--change', WIDER), limits('test', WIDER), 'mode'],
    ['a further change of limits', ofMode('limits', '--change', WIDER), limits('live', WIDER, FURTHER), 'change'],
    ['another change of limits', ofMode('limits', '--change', WIDER), limits('live', FURTHER), 'change'],
    ['another outflow', explain('0x77:0'), acknowledged('gas', LEFT.replace('77:0', '78:0')), 'outflow'],
    ['more than left', explain('0x77:0'), acknowledged('gas', LEFT.replace('5.00', '5000.00')), 'outflow'],
    ['another coin that left', explain('0x77:0'), acknowledged('gas', LEFT.replace('USDT', 'USDC')), 'outflow'],
    ['somebody else who has it', explain('0x77:0'), acknowledged('gas', LEFT.replace('0xCold', '0xThief')), 'outflow'],
    ['a known destination for an unknown one', explain('0x77', '0.01 BNB'), acknowledged('gas', FEE), 'outflow'],
    ['two outflows of one transaction', explain('0x77'), acknowledged('gas', LEFT, FEE), 'outflow'],
    ['another reason', explain('0x77:0'), acknowledged('theft', LEFT), 'reason'],
    ['another lost payment', takeOver, takenOver('0x2', 'restored'), 'transaction'],
    ['a lost payment to somebody else', takeOver, takenOver('0x1', 'restored', '0xThief'), 'to'],
    ['another entry of the books', post(BOTH), entry('adj_2', ...LINES), 'order'],
    ['another account of the books', post(BOTH.replace('expenses', 'income')), entry('adj_1', ...LINES), 'debit'],
    ['a further line of the books', post('expenses:other=7'), entry('adj_1', ...LINES), 'debit'],
  ])('signs nothing: %s', async (_, command, text, label) => {
    await enrolOnce();
    await expect(run([termsFor(text)], 'yes', ...command, ...withKey())).rejects.toThrow(
      `nothing was signed: the command says ${label}`,
    );
    expect([opened, asked.length]).toEqual([0, 1]);
  });

  it.each<[string, string[], string]>([
    ['a withdrawal', [...approve, '--amount', '5.0 USDT', '--to', '0xcold'], TEXT],
    ['a refund', approveRefund, refund('re_1')],
    ['a settlement address, whatever the case of its hex', setAddress, settlementAddress('0xaB')],
    ['a resumption', ofMode('resume'), resume('live')],
    ['a network that begins anew', ofMode('resume', '--begin-anew', 'bsc'), resume('live', LOST)],
    ['limits', ofMode('limits', '--change', FURTHER, '--change', WIDER), limits('live', WIDER, FURTHER)],
    ['an outflow', explain('0x77:0'), acknowledged('gas', LEFT)],
    ['an outflow by its transaction', explain('0x77'), acknowledged('gas', LEFT)],
    ['an outflow without a destination', explain('0x77:fee', '0.01 BNB', 'unknown'), acknowledged('gas', FEE)],
    ['a lost payment', takeOver, takenOver('0x1', 'restored')],
    ['an entry of the books', post(BOTH), entry('adj_1', ...LINES)],
  ])('signs what was typed: %s', async (_, command, text) => {
    await enrolOnce();
    await run([termsFor(text), { approved_by: ['ada'] }], 'yes', ...command, ...withKey());
    expect([opened, asked.length]).toEqual([1, 2]);
    expect(Object.keys(asked[1]!).filter((name) => ['amount', 'to', 'change', 'debit'].includes(name))).toEqual([]);
  });

  const bare = ['treasury', 'approve', 'wdr_1'];
  it('asks for amount and destination before it shows the terms, which a person could only copy', async () => {
    await enrolOnce();
    const typed = ['5 USDT', '0xCold', 'yes'];
    await run([termsFor(TEXT), { approved_by: ['ada'] }], typed, ...bare, ...withKey());
    expect([opened, asked.length]).toEqual([1, 2]);
    const places = ['Amount and coin', 'Address that it goes to', 'to: 0xCold', 'Type yes'].map((part) =>
      written.indexOf(part),
    );
    expect(places).not.toContain(-1);
    expect(places).toEqual(places.toSorted((one, other) => one - other));
    await expect(run([termsFor(TEXT)], ['5 USDT', '0xThief'], ...bare, ...withKey())).rejects.toThrow(
      'says to 0xThief',
    );
    await expect(run([termsFor(TEXT)], ['5 USDT', ' '], ...bare, ...withKey())).rejects.toThrow('--to or an answer');
    const perChange = [WIDER, FURTHER, '', 'yes'];
    await run([termsFor(limits('live', WIDER, FURTHER)), {}], perChange, ...ofMode('limits'), ...withKey());
    expect(opened).toBe(1);
    await expect(run([termsFor(limits('live', WIDER))], [''], ...ofMode('limits'), ...withKey())).rejects.toThrow(
      'nothing was signed',
    );
  });

  it('signs without a terminal nothing whose amount, destination, lines or changes the command leaves open', async () => {
    await enrolOnce();
    const open: [string[], string][] = [
      [bare, TEXT],
      [takeOver.filter((_, index) => index !== 3 && index !== 4), takenOver('0x1', 'restored')],
      [explain('0x77:0').filter((_, index) => index !== 5 && index !== 6), acknowledged('gas', LEFT)],
      [ofMode('limits'), limits('live', WIDER)],
      [['ledger', 'approve-adjustment', 'adj_1'], entry('adj_1', ...LINES)],
    ];
    for (const [command, text] of open) {
      await run([termsFor(text)], null, ...command);
      const known = hashShown();
      written = '';
      await expect(run([termsFor(text)], null, ...command, ...withKey(), '--terms-hash', known)).rejects.toThrow(
        'without a terminal, say what you approve with --',
      );
      expect([opened, asked.length]).toEqual([0, 1]);
    }
  });

  it('signs no line about money of which the command cannot say anything', async () => {
    await enrolOnce();
    const hidden = resume('live', 'to: 0xThief');
    await expect(run([termsFor(hidden)], 'yes', ...ofMode('resume'), ...withKey())).rejects.toThrow(
      'say to 0xThief, and the command nothing of it',
    );
    expect(opened).toBe(0);
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
