import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startSignerProcess, type SignerProcess } from '../../src/adapters/signer/process.ts';
import type { OutflowFacts } from '../../src/domain/events/treasury-move-events.ts';
import type { MerchantId } from '../../src/domain/values/ids.ts';
import type { ApprovalAct } from '../../src/ports/signer/approvals.ts';
import type { OutgoingTransaction } from '../../src/ports/outgoing/transaction.ts';
import type { PayoutRules } from '../../src/ports/signer/protocol.ts';
import { silentLog } from '../../src/ports/log.ts';
import { Wallet } from '../../src/signer/keys/wallet.ts';
import { outgoing } from '../support/outgoing.ts';
import { approveAt, approverKey, passkey, signedBy, termsFor } from '../support/approvers.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/*
 * Whoever took over the worker has the signer's socket and may say anything on it. The signer is the real program; no
 * chain is needed.
 */

const MNEMONIC = 'test test test test test test test test test test test junk';
const wallet = new Wallet(MNEMONIC);
const COLD = wallet.collectionAddress('evm', 50);
const OTHER_COLD = wallet.collectionAddress('evm', 51);
const OUTWARD = { perTransaction: '1000', perDay: '1000' };
const LIMITS = { perTransaction: '100', perHour: '200', perDay: '300', approvalFrom: '10' };
const NEVER_SENT = Buffer.alloc(64, 7).toString('base64url');

let directory: string;
beforeAll(() => {
  directory = temporaryFolder('signer-approvals');
});
const running: SignerProcess[] = [];
afterEach(() => Promise.all(running.splice(0).map((signer) => signer.close())));

async function startSigner(change: Partial<PayoutRules> = {}, log = silentLog): Promise<SignerProcess> {
  const network = (of: 'ethereum' | 'bsc') =>
    ({
      mode: 'test',
      network: of,
      chainId: '31337',
      tokens: [{ coin: 'USDT', address: OTHER_COLD, decimals: 6 }],
      urls: ['http://127.0.0.1:1'],
    }) as const;
  const payouts: PayoutRules = {
    journalDirectory: mkdtempSync(join(directory, 'journal-')),
    networks: [network('ethereum'), network('bsc')],
    limits: { USDT: LIMITS },
    payoutsPerHour: 100,
    treasuryLimits: { USDT: OUTWARD },
    withdrawalAddresses: { test: { ethereum: [COLD, OTHER_COLD], bsc: [COLD] } },
    approvers: ['ada', 'ben', 'cleo'].map(approverKey),
    ...change,
  };
  const signer = await startSignerProcess({
    directory: mkdtempSync(join(directory, 'run-')),
    wallets: { test: { kind: 'mnemonic', mnemonic: MNEMONIC } },
    payouts,
    log,
  });
  running.push(signer);
  return signer;
}

const withdrawal = (change: Partial<OutgoingTransaction> = {}): OutgoingTransaction =>
  outgoing({
    kind: 'withdrawal',
    id: 'wdr_1',
    network: 'ethereum',
    coin: 'USDT',
    amount: '5.00',
    fromAddress: wallet.treasury.evm,
    toAddress: COLD,
    ...change,
  });
const moving = (change: Partial<OutgoingTransaction> = {}, proposedBy = 'olga'): ApprovalAct => ({
  kind: 'transaction',
  order: withdrawal(change),
  proposedBy,
});
const isAgreed = async (signer: SignerProcess, change: Partial<OutgoingTransaction> = {}): Promise<boolean> =>
  (await signer.check(withdrawal(change))).ok;

describe('an approval of a withdrawal', () => {
  it('counts for the exact terms, from two people, each once', async () => {
    const signer = await startSigner();
    const byAda = { ok: true, approvers: ['ada'], done: false };
    for (const counted of [true, false, false])
      expect(await approveAt(signer, moving(), 'ada')).toEqual({ ...byAda, counted });
    expect(await isAgreed(signer)).toBe(false);
    const byBoth = { ok: true, approvers: ['ada', 'ben'], done: true };
    expect(await approveAt(signer, moving(), 'ben')).toEqual({ ...byBoth, counted: true });
    expect(await approveAt(signer, moving(), 'cleo')).toEqual({ ...byBoth, counted: false });
    expect(await isAgreed(signer)).toBe(true);
    const others: Partial<OutgoingTransaction>[] = [
      { amount: '5.01' },
      { toAddress: OTHER_COLD },
      { network: 'bsc' },
      { id: 'wdr_2' },
    ];
    for (const change of others) expect(await isAgreed(signer, change)).toBe(false);
  });

  it('names everything that is approved in its text', async () => {
    const { text, number } = await termsFor(await startSigner(), moving());
    const until = /^valid until: (.*)$/m.exec(text)![1]!;
    expect(text).toBe(
      [
        'Quittance approval',
        'action: withdraw to a cold address',
        'amount: 5.00 USDT',
        `from: ${wallet.treasury.evm}`,
        `to: ${COLD}`,
        'network: ethereum',
        'mode: test',
        'order: wdr_1',
        'proposed by: olga',
        `valid until: ${until}`,
        `number: ${number}`,
      ].join('\n'),
    );
    const minutes = (Date.parse(until) - Date.now()) / 60_000;
    expect(minutes).toBeGreaterThan(8);
    expect(minutes).toBeLessThanOrEqual(10);
  });

  it.each<[string, Partial<OutgoingTransaction>]>([
    ['more money', { amount: '6.00' }],
    ['another address', { toAddress: OTHER_COLD }],
    ['another network', { network: 'bsc' }],
    ['another order', { id: 'wdr_2' }],
  ])('is good for no other terms: %s', async (_, change) => {
    const signer = await startSigner();
    const signed = signedBy('ada', await termsFor(signer, moving()));
    expect(await signer.approve(moving(change), signed)).toMatchObject({ ok: false, code: 'wrong_number' });
    expect(await signer.approve(moving({}, 'zoe'), signed)).toMatchObject({ ok: false, code: 'wrong_number' });
    // Nor is what was signed good under a number that the signer gave for those terms.
    const own = await termsFor(signer, moving(change));
    expect(await signer.approve(moving(change), { ...signed, number: own.number })).toMatchObject({
      ok: false,
      code: 'wrong_signature',
    });
    expect(await signer.approve(moving(), signed)).toMatchObject({ ok: true });
  });

  it('is taken once, and by the signer that gave its number', async () => {
    const journalDirectory = mkdtempSync(join(directory, 'journal-'));
    const signer = await startSigner({ journalDirectory });
    const used = signedBy('ada', await termsFor(signer, moving()));
    const unused = signedBy('ben', await termsFor(signer, moving()));
    expect(await signer.approve(moving(), used)).toMatchObject({ ok: true });
    expect(await signer.approve(moving(), used)).toMatchObject({ ok: false, code: 'used_number' });
    await signer.close();
    const again = await startSigner({ journalDirectory });
    for (const old of [used, unused])
      expect(await again.approve(moving(), old)).toMatchObject({ ok: false, code: 'wrong_number' });
    expect(await approveAt(again, moving(), 'ben')).toMatchObject({ ok: true, approvers: ['ada', 'ben'] });
  });

  it('is nothing that is too old, or whose time somebody changed', async () => {
    const signer = await startSigner();
    const signed = signedBy('ada', await termsFor(signer, moving()));
    const [until, ...rest] = signed.number.split('.');
    for (const other of [Number(until) - 3_600_000, Number(until) + 3_600_000])
      expect(await signer.approve(moving(), { ...signed, number: [other, ...rest].join('.') })).toMatchObject({
        ok: false,
        code: 'wrong_number',
      });
  });

  it("is not valid from the proposer, however the name is written, from somebody unknown, or with another's key", async () => {
    const signer = await startSigner();
    for (const proposer of ['ada', 'Ada', 'ADA'])
      expect(await approveAt(signer, moving({}, proposer), 'ada')).toMatchObject({ ok: false, code: 'own_proposal' });
    for (const proposer of ['c1eo', 'CIEO', 'cléo'])
      expect(await approveAt(signer, moving({}, proposer), 'cleo')).toMatchObject({ ok: false, code: 'own_proposal' });
    // With Cyrillic letters: no look of such a name is known, so that nobody may propose under it.
    for (const proposer of ['аdа', 'clео'])
      await expect(approveAt(signer, moving({}, proposer), 'ada')).rejects.toThrow('proposedBy');
    expect(await approveAt(signer, moving(), 'eve')).toMatchObject({ ok: false, code: 'unknown_approver' });
    const byEve = { ...signedBy('eve', await termsFor(signer, moving())), approver: 'ada' };
    expect(await signer.approve(moving(), byEve)).toMatchObject({ ok: false, code: 'wrong_signature' });
    expect((await signer.status('test')).wrongApprovals).toBe(2);
  });

  it('is not to be guessed: the attempts are counted, logged, and few a minute', async () => {
    const logged: object[] = [];
    const signer = await startSigner({}, { ...silentLog, warn: (fields) => logged.push(fields) });
    const { number } = await termsFor(signer, moving());
    const guess = { approver: 'ada', number, proof: { kind: 'ed25519', signature: NEVER_SENT } } as const;
    const codes: string[] = [];
    for (let guesses = 0; guesses < 200; guesses += 1) {
      const verdict = await signer.approve(moving(), guess);
      codes.push(verdict.ok ? 'approved' : verdict.code);
    }
    expect(codes.filter((code) => code === 'wrong_signature')).toHaveLength(10);
    expect(codes.filter((code) => code === 'too_many_attempts')).toHaveLength(190);
    expect((await signer.status('test')).wrongApprovals).toBe(10);
    expect(JSON.stringify(logged)).toContain('approvalRefused');
  });

  it('does not exist with fewer than two approvers other than the proposer, and the refusal says how to enrol', async () => {
    const signer = await startSigner({ approvers: ['ada', 'ben'].map(approverKey) });
    const refused = await signer.approvalTerms(moving({}, 'ada'));
    expect(refused).toMatchObject({
      ok: false,
      code: 'too_few_approvers',
      message: expect.stringContaining('quittance approver enroll') as string,
    });
  });

  it.each([
    ['a line of its own', { proposedBy: 'olga\namount: 1.00 USDT' }],
    ['a terminal escape', { proposedBy: 'olga\u001b[2K' }],
    ['a separator of lines', { proposedBy: 'olga\u2028amount: 1.00 USDT' }],
    ['text that turns around', { proposedBy: 'olga\u202e' }],
    ['blanks up to where a line begins', { proposedBy: `olga${' '.repeat(300)}amount: 1.00 USDT` }],
    ['letters that look like blanks', { proposedBy: `olga${'\u3164'.repeat(300)}amount: 1.00 USDT` }],
    ['a pattern of Braille that looks like a blank', { proposedBy: `olga${'\u2800'.repeat(300)}amount: 1.00 USDT` }],
    ['a field more', { note: 'x' }],
  ])('hides nothing in its text: %s', async (_, change) => {
    const signer = await startSigner();
    await expect(signer.approvalTerms({ ...moving(), ...change })).rejects.toThrow(/invalid parameters/);
  });
});

describe('two approvers with one key', () => {
  it('are no two people: the signer does not start', async () => {
    const { publicKey } = approverKey('ada') as { publicKey: string };
    await expect(
      startSigner({ approvers: [approverKey('ada'), { name: 'ben', kind: 'ed25519', publicKey }] }),
    ).rejects.toThrow(/same key/);
    await expect(startSigner({ approvers: [approverKey('merchant')] })).rejects.toThrow(/must not be called/);
  });
});

describe.each(['P-256', 'Ed25519'] as const)('a passkey on %s', (algorithm) => {
  it('approves with the user verified, from its own origin, for its own relying party', async () => {
    const { key, assertion } = passkey('ada', algorithm);
    const signer = await startSigner({ approvers: [key, approverKey('ben')] });
    const given = async (change: Parameters<typeof assertion>[1], from: Partial<{ text: string }> = {}) => {
      const { text, number } = await termsFor(signer, moving());
      return signer.approve(moving(), { approver: 'ada', number, proof: assertion(from.text ?? text, change) });
    };
    const wrong = [
      { origin: 'https://pay.example.evil' },
      { rpId: 'evil.example' },
      { verified: false },
      { type: 'webauthn.create' },
    ];
    for (const change of wrong) expect(await given(change)).toMatchObject({ ok: false, code: 'wrong_signature' });
    expect(await given({}, { text: (await termsFor(signer, moving({ amount: '6.00' }))).text })).toMatchObject({
      ok: false,
      code: 'wrong_signature',
    });
    expect(await given({ count: 7 })).toEqual({ ok: true, approvers: ['ada'], done: false, counted: true });
    // A count that does not rise is a copy of the authenticator.
    expect(await given({ count: 7 })).toMatchObject({ ok: false, code: 'wrong_signature' });
    expect(await approveAt(signer, moving(), 'ben')).toMatchObject({ ok: true, done: true });
    expect(await isAgreed(signer)).toBe(true);
  });

  it('of another person, or one that was not enrolled, approves nothing', async () => {
    const [ada, ben, thief] = ['ada', 'ben', 'ada'].map((name) => passkey(name, algorithm));
    const signer = await startSigner({ approvers: [ada!.key, ben!.key, approverKey('cleo')] });
    for (const foreign of [ben!, thief!]) {
      const { text, number } = await termsFor(signer, moving());
      const verdict = await signer.approve(moving(), { approver: 'ada', number, proof: foreign.assertion(text) });
      expect(verdict).toMatchObject({ ok: false, code: 'wrong_signature' });
    }
  });
});

describe('resuming after a stop', () => {
  const resume: ApprovalAct = { kind: 'resume', mode: 'test', anew: [], proposedBy: 'olga' };

  it('is for two; stopping is for anyone', async () => {
    const signer = await startSigner();
    for (const name of ['ada', 'ben']) await approveAt(signer, moving(), name);
    await signer.stop('test', 'anyone');
    expect(await signer.check(withdrawal())).toMatchObject({ ok: false, code: 'kill_switch' });
    await approveAt(signer, resume, 'ada');
    await approveAt(signer, resume, 'ada');
    expect(await signer.status('test')).toMatchObject({ stopped: true });
    expect(await approveAt(signer, resume, 'ben')).toMatchObject({ done: true });
    expect(await signer.status('test')).toMatchObject({ stopped: false });
    expect(await isAgreed(signer)).toBe(true);
  });

  it('names who stopped on one line, whatever they call themselves', async () => {
    const signer = await startSigner();
    await signer.stop('test', `ada${' '.repeat(150)}to: ${OTHER_COLD}\u2028mode: live`);
    const { text } = await termsFor(signer, resume);
    expect(text).toContain(`\naction: let the signer sign again, which ada to: ${OTHER_COLD} mode: live stopped\n`);
  });

  it('is agreed to for one stop, not for the next', async () => {
    const signer = await startSigner();
    await signer.stop('test', 'anyone');
    const kept = signedBy('cleo', await termsFor(signer, resume));
    for (const name of ['ada', 'ben']) await approveAt(signer, resume, name);
    await signer.stop('test', 'anyone');
    expect(await signer.approve(resume, kept)).toMatchObject({ ok: false, code: 'wrong_number' });
    expect(await approveAt(signer, resume, 'ada')).toMatchObject({ ok: true, done: false });
    expect(await signer.status('test')).toMatchObject({ stopped: true });
  });
});

describe('an outflow that nobody ordered', () => {
  const outflow: OutflowFacts = {
    mode: 'test',
    network: 'ethereum',
    outflowKey: '0xabc:1',
    address: wallet.treasury.evm,
    coin: 'USDT',
    amount: '7.00',
    ...{ toAddress: OTHER_COLD, txHash: `0x${'a'.repeat(64)}`, blockNumber: 9 },
  };
  const explain = (reason = 'a drill'): ApprovalAct => ({
    kind: 'acknowledge',
    mode: 'test',
    network: 'ethereum',
    outflowKeys: [outflow.outflowKey],
    reason,
    proposedBy: 'olga',
  });

  it.each(['a drill    order: outflow-2', ' a drill', 'a drill ', 'a drill\nmode: live', 'a\u00addrill'])(
    'is explained on one line with single blanks: %j',
    async (reason) => {
      const signer = await startSigner();
      await signer.reportOutflows('test', 'ethereum', [outflow]);
      await expect(signer.approvalTerms(explain(reason))).rejects.toThrow('invalid parameters: act');
    },
  );

  it('that was not reported to the signer is not done because nothing is left to approve', async () => {
    const signer = await startSigner();
    expect(await signer.approvalTerms(explain())).toMatchObject({ ok: false, code: 'unknown_outflow' });
    await signer.reportOutflows('test', 'ethereum', [outflow]);
    const both = { ...explain(), outflowKeys: [outflow.outflowKey, '0xabc:2'] } as ApprovalAct;
    expect(await signer.approvalTerms(both)).toMatchObject({ ok: false, code: 'unknown_outflow' });
    expect(await signer.approvalTerms(explain())).toMatchObject({ ok: true, done: false });
  });

  it('stops its network at the signer until two approvers acknowledged it, also after a restart, and is not reported again', async () => {
    const journalDirectory = mkdtempSync(join(directory, 'journal-'));
    const signer = await startSigner({ journalDirectory });
    for (const name of ['ada', 'ben']) await approveAt(signer, moving(), name);
    for (const name of ['ada', 'ben']) await approveAt(signer, moving({ network: 'bsc' }), name);
    await signer.reportOutflows('test', 'ethereum', [outflow, outflow]);
    expect(await signer.check(withdrawal())).toMatchObject({ ok: false, kind: 'later', code: 'unknown_outflow' });
    expect(await isAgreed(signer, { network: 'bsc' })).toBe(true);
    await signer.close();
    const again = await startSigner({ journalDirectory });
    expect(await again.status('test')).toMatchObject({ unknownOutflows: 1 });
    const { text } = await termsFor(again, explain());
    expect(text).toContain(`outflow: 7.00 USDT from ${wallet.treasury.evm} to ${OTHER_COLD}`);
    await approveAt(again, explain(), 'ada');
    // In other words it is something else to agree to.
    expect(await approveAt(again, explain('something else'), 'ben')).toMatchObject({ ok: true, done: false });
    expect(await isAgreed(again)).toBe(false);
    expect(await approveAt(again, explain(), 'ben')).toMatchObject({ done: true });
    expect(await isAgreed(again)).toBe(true);
    await again.reportOutflows('test', 'ethereum', [outflow]);
    expect(await isAgreed(again)).toBe(true);
    expect(await again.approvalTerms(explain())).toEqual({ ok: true, done: true, approvers: ['ada', 'ben'] });
  });
});

describe('a change of what may be paid', () => {
  const act: ApprovalAct = { kind: 'limits', mode: 'test', proposedBy: 'olga' };
  const wide = { USDT: { ...OUTWARD, perTransaction: '5000', perDay: '5000' } };

  it('that allows more waits for two approvers; one that allows less applies at once', async () => {
    const journalDirectory = mkdtempSync(join(directory, 'journal-'));
    const restarted = async (change: Partial<PayoutRules>): Promise<SignerProcess> => {
      await Promise.all(running.splice(0).map((signer) => signer.close()));
      return startSigner({ journalDirectory, ...change });
    };
    const big = { amount: '2000.00' };
    for (const name of ['ada', 'ben']) await approveAt(await restarted({}), moving(big), name);
    const raised = await restarted({ treasuryLimits: wide });
    expect(await raised.check(withdrawal(big))).toMatchObject({ ok: false, code: 'per_transaction_cap' });
    expect((await raised.status('test')).limitsToApprove).toHaveLength(2);
    await approveAt(raised, act, 'ada');
    expect(await isAgreed(raised, big)).toBe(false);
    expect(await approveAt(raised, act, 'ben')).toMatchObject({ done: true });
    expect(await isAgreed(raised, big)).toBe(true);
    const lowered = await restarted({});
    expect(await lowered.check(withdrawal(big))).toMatchObject({ ok: false, code: 'per_transaction_cap' });
    // What was agreed to before does not count again, whoever agrees now.
    const raisedAgain = await restarted({ treasuryLimits: wide });
    expect(await approveAt(raisedAgain, act, 'ada')).toMatchObject({ done: false });
    expect(await isAgreed(raisedAgain, big)).toBe(false);
  });

  it('that adds a cold address waits, too', async () => {
    const journalDirectory = mkdtempSync(join(directory, 'journal-'));
    const [first] = [
      await startSigner({ journalDirectory, withdrawalAddresses: { test: { ethereum: [OTHER_COLD] } } }),
    ];
    await first.close();
    const signer = await startSigner({ journalDirectory });
    expect(await signer.check(withdrawal())).toMatchObject({ ok: false, code: 'not_on_allow_list' });
  });
});

describe('the settlement address of a merchant', () => {
  const [merchantId] = ['mer_a'] as unknown as [MerchantId];
  const to = (address: string): ApprovalAct => ({
    kind: 'settlement_address',
    destination: { mode: 'test', network: 'ethereum', merchantId, address },
    proposedBy: 'olga',
  });
  const settle = (address: string) =>
    withdrawal({ kind: 'settlement', id: `stl_${address.slice(2, 8)}`, merchantId, toAddress: address });

  it('is the last one that two agreed to, and going back to an earlier one takes two again', async () => {
    const signer = await startSigner();
    await approveAt(signer, to(COLD), 'ada');
    expect(await signer.check(settle(COLD))).toMatchObject({ ok: false, code: 'not_on_allow_list' });
    await approveAt(signer, to(COLD), 'ben');
    // The address is right now; the books of this signer owe the merchant nothing.
    expect(await signer.check(settle(COLD))).toMatchObject({ ok: false, code: 'exceeds_account' });
    for (const name of ['ben', 'cleo']) await approveAt(signer, to(OTHER_COLD), name);
    expect(await signer.check(settle(COLD))).toMatchObject({ ok: false, code: 'not_on_allow_list' });
    expect(await approveAt(signer, to(COLD), 'ada')).toMatchObject({ done: false });
    expect(await signer.check(settle(COLD))).toMatchObject({ ok: false, code: 'not_on_allow_list' });
    expect(await signer.approvalTerms(to(OTHER_COLD))).toEqual({ ok: true, done: true, approvers: ['ben', 'cleo'] });
  });
});

describe('the journal', () => {
  it('holds who agreed to what, and no signature and no key', async () => {
    const journalDirectory = mkdtempSync(join(directory, 'journal-'));
    const signer = await startSigner({ journalDirectory });
    const signed = signedBy('ada', await termsFor(signer, moving()));
    await signer.approve(moving(), signed);
    const text = readdirSync(journalDirectory).flatMap((name) =>
      name.endsWith('.jsonl') ? [readFileSync(join(journalDirectory, name), 'utf8')] : [],
    );
    expect(text.join('')).toContain('"approver":"ada"');
    expect(text.join('')).not.toContain((signed.proof as { signature: string }).signature);
  });
});
