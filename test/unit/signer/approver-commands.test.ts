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
const TEXT = `Quittance approval\naction: withdraw to a cold address\namount: 5.00 USDT\nnumber: ${NUMBER}`;
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

describe('quittance treasury approve', () => {
  const asked: AdminArguments[] = [];
  const run = async (answers: readonly JsonValue[], ...args: string[]): Promise<void> => {
    asked.length = 0;
    const rest = [...answers];
    const host = {
      admin: async (_name: string, given: AdminArguments) => {
        asked.push(given);
        return rest.shift()!;
      },
      openApproverKey: (given: AdminArguments) => openKeyFile(given, {}),
    } as unknown as CliHost;
    await createProgram(host).parseAsync(args, { from: 'user' });
  };
  const terms = { to_sign: [{ text: TEXT, number: NUMBER }] };

  it('shows the terms and signs them here; the key and the passphrase go nowhere', async () => {
    const entry = await enrol();
    await run(
      [terms, { approved_by: ['ada'] }],
      'treasury',
      'approve',
      'wdr_1',
      '--key',
      key(),
      '--passphrase-file',
      passphraseFile(),
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
    const entry = await enrol();
    await run([terms], 'treasury', 'approve', 'wdr_1');
    expect(written).toContain('Nothing was signed');
    expect(asked).toHaveLength(1);
    const [asTerms, asApprovals] = [join(directory, 'terms'), join(directory, 'approvals')];
    writeFileSync(asTerms, JSON.stringify(terms));
    written = '';
    await run([], 'approver', 'sign', '--terms', asTerms, '--key', key(), '--passphrase-file', passphraseFile());
    writeFileSync(asApprovals, written.slice(written.indexOf('\n[')));
    await run([{ approved_by: ['ada'] }], 'treasury', 'approve', 'wdr_1', '--approvals', asApprovals);
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
    const args = ['treasury', 'approve', 'wdr_1', '--key', key(), '--passphrase-file', passphraseFile()];
    await expect(run([{ to_sign: [{ text, number: NUMBER }] }], ...args)).rejects.toThrow(
      'what the service asks to sign',
    );
    expect(asked).toHaveLength(1);
  });

  it('accepts no secret as an argument, like every other command', () => {
    const names: string[] = [];
    const collect = (command: ReturnType<typeof createProgram>): void => {
      names.push(...command.options.map(({ long }) => long ?? ''));
      for (const child of command.commands) collect(child);
    };
    collect(createProgram({} as CliHost));
    expect(names.filter((name) => /(secret|password|token|mnemonic|passphrase)(?!-file)/.test(name))).toEqual([]);
  });
});
