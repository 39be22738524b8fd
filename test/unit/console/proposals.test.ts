import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { AdminArguments } from '../../../src/operator/server/commands.ts';
import type { JsonValue } from '../../../src/ports/read-model/read-model.ts';
import { ConsoleWorld, signedForm, termsIn, type TestPerson } from '../../support/console-world.ts';

/*
 * What needs two others is proposed by those whose role has it, under the terms that they sign, and in their own name.
 */

const POSTED = {
  id: 'adj_posted',
  status: 'posted',
  mode: 'live',
  network: 'bsc',
  coin: 'USDT',
  reason: 'goodwill',
  attachment_sha256: null,
  lines: [
    { account: 'expenses:other', debit: '12.50', credit: null },
    { account: 'liabilities:merchants:mer_shop:payable', debit: null, credit: '12.50' },
  ],
  ...{ reverses: null, reversed_by: null, proposed_by: 'Fin' },
};
const WAITING = { ...POSTED, id: 'adj_waiting', status: 'waiting_for_approval' };
const LATE = {
  ...{ id: 'bsc:0xab:0', state: 'open', kind: 'late', mode: 'live', network: 'bsc', coin: 'USDT', amount: '20.00' },
  ...{ age_days: 0, from_address: '0xf', to_address: '0xt', tx_hash: '0xab', block_time: 1_799_999_000 },
  ...{ order_id: 'order-1', decision: null, sender: null },
};
const canaryRun = (network: string, result: string) => ({
  ...{ started: 1_799_999_000, mode: 'live', network, amount: '1', coin: 'USDT', session_id: null, steps: [] },
  ...{
    result,
    failed_step: result === 'failed' ? 'refund' : null,
    reason: result === 'failed' ? 'took too long' : null,
  },
});
/** What the command answers to an approval. */
let verdict: JsonValue = { approved_by: ['Ada'], counted: true, status: 'waiting_for_approval' };
const asked: [string, AdminArguments][] = [];
const answers: Readonly<Record<string, JsonValue>> = {
  'ledger.adjust': { id: 'adj_new' },
  'ledger.adjustments': { adjustments: [POSTED, WAITING] },
  'ledger.reject-adjustment': { rejected: 'adj_waiting' },
  'treasury.return': { id: 'nrt_new' },
  'treasury.settle': { id: 'stl_new' },
  'treasury.status': {
    signers: [
      { mode: 'live', stopped: true, caps: [], limitsToApprove: ['USDT of refunds per day: 20 instead of 10'] },
    ],
    treasuries: [
      { mode: 'live', network: 'bsc', address: '0xt', alarm: '0xab moved our money', waiting: [] },
      {
        ...{ mode: 'live', network: 'ethereum', address: '0xt', alarm: null },
        waiting: [
          { refundId: 're_big', reason: 'waiting_for_approval', detail: '0 of 2 approvals for 40.00 USDT' },
          { refundId: 're_poor', reason: 'insufficient_funds', detail: '9.00 USDT are missing' },
        ],
      },
    ],
    comparisons: [],
  },
  'treasury.balances': { treasuries: [{ mode: 'live', network: 'bsc', coins: { USDT: '5' }, gas: '1' }] },
  'treasury.outflows': {
    outflows: [
      {
        ...{ mode: 'live', network: 'bsc', outflow: '0xab:1', tx_hash: '0xab', coin: 'USDT', amount: '7.00' },
        ...{ from_address: '0xt', to_address: null, block_number: 9 },
      },
    ],
  },
  'treasury.reconcile': {
    treasuries: [
      {
        ...{ mode: 'live', network: 'bsc', throughBlock: 9, unknown: [{ outflowKey: '0xab:1' }] },
        accounts: [{ account: 'treasury', coin: 'USDT', onChain: '5.00', booked: '12.00', difference: '-7.00' }],
        unbooked: {
          ...{ addresses_read: 10_000, next: '0xnext' },
          found: [{ session_id: 'cs_1', address: '0xc', coin: 'USDT', booked: '0.00', on_chain: '3.00' }],
          native_coin: [
            { kind: 'found', session_id: 'cs_2', address: '0xd', coin: 'BNB', booked_before: '0.00', on_chain: '0.50' },
          ],
        },
      },
    ],
  },
  'ledger.trial-balance': { accounts: [] },
  'ledger.rates': { currencies: [], coins: [] },
  'inbox.list': { transfers: [LATE], next_cursor: null },
  'inbox.show': LATE,
  'inbox.return': { state: 'open', target: null, notes: ['ready to be paid'] },
  'canary.history': [
    canaryRun('bsc', 'under way'),
    canaryRun('bsc', 'failed'),
    { ...canaryRun('bsc', 'failed'), started: 1_799_998_200 },
    canaryRun('ethereum', 'payment and refund'),
    canaryRun('ethereum', 'failed'),
  ],
  'chain.status': [],
  'chain.coverage': [],
  'treasury.moves': { moves: [] },
};
const APPROVED = ['ledger.approve-adjustment', 'treasury.acknowledge'];
const commands = Object.fromEntries(
  [...Object.keys(answers), ...APPROVED].map((name) => [
    name,
    async (args: AdminArguments) => {
      asked.push([name, args]);
      if (!APPROVED.includes(name)) return answers[name]!;
      return args['approvals'] === undefined
        ? { to_sign: [{ text: 'the terms of the signer', number: 'n-1' }] }
        : verdict;
    },
  ]),
);

let world: ConsoleWorld;
let [finance, approver, auditor, operator]: TestPerson[] = [];
beforeAll(async () => {
  world = await ConsoleWorld.start({ commands });
  finance = await world.person('Fin', { role: 'finance' });
  approver = await world.person('Ada', { role: 'approver' });
  operator = await world.person('Olga', { role: 'operator' });
  auditor = await world.person('Aud', { role: 'auditor', untilSec: 1_800_500_000 });
});
beforeEach(() => void asked.splice(0));
afterAll(() => world.close());

const told = (name: string): AdminArguments[] => asked.flatMap(([command, args]) => (command === name ? [args] : []));
const ENTRY = {
  mode: 'live',
  network: 'bsc',
  coin: 'USDT',
  debit: 'expenses:other=12.50',
  credit: 'income:other=12.50',
  attachment: '',
  reason: 'goodwill',
};

it('an entry by hand is proposed by finance, in their name, under terms that show its lines', async () => {
  const terms = termsIn((await world.post('/adjustments/propose', finance!, ENTRY)).body)!;
  expect(terms.text).toContain('debit: expenses:other=12.50\ncredit: income:other=12.50\nreason: goodwill');
  expect(told('ledger.adjust')).toEqual([]);
  const other = { ...ENTRY, credit: 'income:other=99.00', ...signedForm(terms, finance!) };
  expect((await world.post('/adjustments/propose', finance!, other)).status).not.toBe(303);
  expect(told('ledger.adjust')).toEqual([]);
  expect((await world.postSigned('/adjustments/propose', finance!, ENTRY)).status).toBe(303);
  const { attachment: _, ...given } = ENTRY;
  expect(told('ledger.adjust')).toEqual([{ ...given, operator: 'Fin' }]);
});

it('a posted entry is reversed by another proposal, and a waiting one is cancelled', async () => {
  expect(
    (await world.postSigned('/adjustments/reverse', finance!, { reverses: 'adj_posted', reason: 'agreed otherwise' }))
      .status,
  ).toBe(303);
  expect(told('ledger.adjust')).toEqual([{ reverses: 'adj_posted', operator: 'Fin', reason: 'agreed otherwise' }]);
  expect(
    (await world.postSigned('/adjustments/reject', finance!, { id: 'adj_waiting', reason: 'a slip' })).status,
  ).toBe(303);
  expect(told('ledger.reject-adjustment')).toEqual([{ id: 'adj_waiting', operator: 'Fin' }]);
});

it('approvers sign the terms of the signer, which judges them; they propose nothing', async () => {
  const page = (await world.get('/adjustments', approver!)).body;
  expect(page).toContain('action="/adjustments/approve"');
  expect(page).not.toContain('/adjustments/propose');
  expect((await world.post('/adjustments/propose', approver!, ENTRY)).status).toBe(404);
  const shown = await world.post('/adjustments/approve', approver!, { id: 'adj_waiting' });
  const terms = termsIn(shown.body)!;
  expect(terms).toEqual({ text: 'the terms of the signer', number: 'n-1' });
  const signed = await world.post('/adjustments/approve', approver!, {
    id: 'adj_waiting',
    ...signedForm(terms, approver!),
  });
  expect(signed.headers['location']).toBe('/adjustments?done=approved');
  expect(told('ledger.approve-adjustment').at(-1)).toMatchObject({
    id: 'adj_waiting',
    approvals: [{ approver: 'Ada', number: 'n-1' }],
  });
  expect((await world.post('/adjustments/approve', finance!, { id: 'adj_waiting' })).status).toBe(404);
});

it.each([
  [['Ada'], 'approved-before', 'You had already approved this'],
  [['Ben', 'Cy'], 'approved-by-others', 'Two others had already approved this'],
])('an approval that changed nothing says so: approved by %s', async (approvers, notice, words) => {
  const id = { id: 'adj_waiting' };
  const terms = termsIn((await world.post('/adjustments/approve', approver!, id)).body)!;
  const before = verdict;
  verdict = { approved_by: approvers, counted: false };
  const signed = await world.post('/adjustments/approve', approver!, { ...id, ...signedForm(terms, approver!) });
  verdict = before;
  expect(signed.headers['location']).toBe(`/adjustments?done=${notice}`);
  expect((await world.get(`/adjustments?done=${notice}`, approver!)).body).toContain(words);
});

it.each(['number-20', 'number-4000000000', 'number-99999999999999999999999'])(
  'a form with more terms than are ever signed at once is refused: %s',
  async (name) => {
    const answer = await world.post('/adjustments/approve', approver!, {
      id: 'adj_waiting',
      [name]: 'n-1',
      'response-0': '{}',
    });
    expect([answer.status, answer.body]).toEqual([400, expect.stringContaining('oo much to be signed at once')]);
    expect(asked).toEqual([]);
  },
);

it("the signer receives nothing without a response from the person's passkey", async () => {
  const terms = { text: 'the terms of the signer', number: 'n-1' };
  const none = await world.people.signInBySso(
    {
      issuer: 'https://sso',
      subject: '1',
      name: 'Nobody',
      grants: [{ role: 'approver', merchantId: null, untilSec: null }],
    },
    'test',
  );
  const without: TestPerson = { ...approver!, name: 'Nobody', token: none.ok ? none.value.token : '' };
  const cases: [TestPerson, Record<string, string>, string][] = [
    [without, signedForm(terms, approver!), 'you have none yet'],
    [approver!, signedForm(terms, finance!), 'This passkey is not one of yours'],
    [approver!, { 'number-0': 'n-1', 'response-0': 'junk' }, 'This passkey is not one of yours'],
    [approver!, { 'number-0': 'n-1', 'response-0': '{"id":"__proto__"}' }, 'This passkey is not one of yours'],
    [
      approver!,
      { ...signedForm(terms, approver!), 'number-1': 'n-2', 'response-1': '{"id":"x"}' },
      'This passkey is not one of yours',
    ],
  ];
  for (const [person, form, why] of cases) {
    const answer = await world.post('/adjustments/approve', person, { id: 'adj_waiting', ...form });
    expect([answer.status, answer.body]).toEqual([403, expect.stringContaining(why)]);
  }
  expect(asked).toEqual([]);
});

it('auditors read the entries and can do nothing with them', async () => {
  const page = (await world.get('/adjustments', auditor!)).body;
  expect(page).toContain('adj_waiting');
  expect(page).not.toContain('<form method="post" action="/adjustments');
});

it('a return of native coin is proposed in the name of who asks, and says so when its sender is an exchange', async () => {
  const form = {
    mode: 'live',
    network: 'bsc',
    tx: '0x1',
    address: '0x2',
    amount: '',
    sender: 'known',
    reason: 'sent BNB by mistake',
  };
  expect((await world.postSigned('/treasury/return', finance!, form)).status).toBe(303);
  expect(told('treasury.return')).toEqual([
    { mode: 'live', network: 'bsc', tx: '0x1', address: '0x2', operator: 'Fin', reason: 'sent BNB by mistake' },
  ]);
  const terms = termsIn((await world.post('/treasury/return', finance!, { ...form, sender: 'acknowledged' })).body)!;
  expect(terms.text).toContain('although: it came from where its owner may not receive it');
  await world.postSigned('/treasury/return', finance!, { ...form, amount: '0.5', sender: 'acknowledged' });
  expect(told('treasury.return').at(-1)).toMatchObject({ amount: '0.5', acknowledgeSender: true });
  expect((await world.post('/treasury/return', approver!, form)).status).toBe(404);
});

it('a settlement is proposed under terms that name the merchant', async () => {
  const form = { network: 'bsc', coin: 'USDT', amount: '9.75', merchant_id: 'mer_shop', reason: 'weekly' };
  const { text } = termsIn((await world.post('/treasury/settle', finance!, form)).body)!;
  expect(text).toContain('amount: 9.75\nmerchant: Shop (live mode, mer_shop)\nreason: weekly');
  expect((await world.postSigned('/treasury/settle', finance!, form)).status).toBe(303);
  expect(told('treasury.settle')).toMatchObject([{ merchant_id: 'mer_shop', operator: 'Fin' }]);
  expect((await world.post('/treasury/settle', finance!, { ...form, merchant_id: 'mer_none' })).status).toBe(400);
});

it('the terms of a return say what becomes of the transfer, not its state before', async () => {
  const { text } = termsIn(
    (await world.post('/unmatched/bsc%3A0xab%3A0/return', operator!, { reason: 'too late' })).body,
  )!;
  expect(text).toContain('becomes: returning\nnote: ready to be paid');
});

it('what needs attention is linked for those who may open it, and said to be the operator’s for others', async () => {
  const ofApprover = (await world.get('/attention', approver!)).body;
  expect(ofApprover).toContain('A transfer waits for a decision');
  expect(ofApprover).toContain('An operator handles this');
  expect(ofApprover).not.toContain('href="/unmatched');
  expect((await world.get('/attention', operator!)).body).toMatch(/href="\/unmatched[^>]*>Attach or return them/);
  expect((await world.get('/attention', finance!)).body).toMatch(/href="\/unmatched[^>]*>View them/);
});

it('a stopped signer is told to all who see it, with who can let it sign again', async () => {
  expect((await world.get('/treasury', operator!)).body).toMatch(
    /The signer is stopped: nothing is paid out.*Two approvers decide it on this page/s,
  );
  expect((await world.get('/treasury', approver!)).body).toContain('Resume: show the terms');
});

it('wider limits need attention, and come before everything that needs no decision', async () => {
  expect((await world.get('/attention', finance!)).body).toMatch(/Wider limits wait.*per day: 20 instead of 10/s);
  const page = (await world.get('/treasury', approver!)).body;
  expect(page).toMatch(/per day: 20 instead of 10.*action="\/treasury\/limits".*<h2>Signer<\/h2>/s);
});

it('a network whose newest finished canary payment failed needs attention; one that recovered does not', async () => {
  const page = (await world.get('/attention', operator!)).body;
  expect(page).toContain('The canary payment on bsc failed');
  expect(page).toMatch(/refund.*took too long.*href="\/canaries/s);
  expect(page).not.toContain('The canary payment on ethereum failed');
  // Since the first of the failures that no payment has ended.
  expect(page).toMatch(/2027-01-15 07:30:00.*Failures in a row<\/dt>\s*<dd>2<\/dd>/s);
});

it('books and chain are compared at once, and the answer says what was found and where to go on', async () => {
  const page = (await world.get('/treasury/balances?mode=live', operator!)).body;
  expect(page).toMatch(/action="\/treasury\/compare".*<option value="bsc"/s);
  expect((await world.get('/treasury/balances?mode=live', finance!)).body).not.toContain('/treasury/compare');
  const form = { network: 'bsc', reason: 'BNB was sent', back: '/treasury/balances?mode=live' };
  const { status, body } = await world.post('/treasury/compare', operator!, form);
  expect(told('treasury.reconcile')).toEqual([{ mode: 'live', network: 'bsc' }]);
  expect(status).toBe(200);
  expect(body).toContain('bsc, through block 9');
  expect(body).toContain('Nothing is paid out on this network until two approvers explain it');
  expect(body).toMatch(/-7\.00.*href="\/search\?q=cs_1".*3\.00.*found, and booked as owed to its sender.*0\.50/s);
  expect(world.actions().at(-1)).toMatchObject({
    ...{ action: 'treasury.compare', outcome: 'done' },
    detail: 'bsc through block 9: 1 unknown outflows, 1 amounts that the books lack',
  });
  const next = Object.fromEntries(
    [...body.matchAll(/<input type="hidden" name="(network|after|back)" value="([^"]*)"/g)].map(([, name, value]) => [
      name!,
      value!,
    ]),
  );
  await world.post('/treasury/compare', operator!, { ...next, reason: 'BNB was sent' });
  expect(told('treasury.reconcile').at(-1)).toEqual({ mode: 'live', network: 'bsc', after: '0xnext' });
});

it('money that left without an order needs attention, and two approvers explain it with their passkeys', async () => {
  expect((await world.get('/attention', finance!)).body).toMatch(/Nothing is paid out on bsc.*0xab moved our money/s);
  expect((await world.get('/treasury', operator!)).body).toMatch(/7\.00 USDT.*Two approvers explain it/s);
  expect((await world.get('/treasury?mode=test', approver!)).body).not.toContain('Left without an order');
  const page = (await world.get('/treasury', approver!)).body;
  expect(page).toMatch(/action="\/treasury\/acknowledge".*name="id" value="0xab:1"/s);
  const form = { id: '0xab:1', reason: 'a drill', proposer: 'Olga' };
  const terms = termsIn((await world.post('/treasury/acknowledge', approver!, form)).body)!;
  const signed = await world.post('/treasury/acknowledge', approver!, { ...form, ...signedForm(terms, approver!) });
  expect(signed.headers['location']).toBe('/treasury?done=approved');
  expect(told('treasury.acknowledge').at(-1)).toMatchObject({
    ...{ outflow: '0xab:1', operator: 'Olga', reason: 'a drill' },
    approvals: [{ approver: 'Ada', number: 'n-1' }],
  });
});

it('a refund that waits is listed with its reason, and approved there without anybody typing its id', async () => {
  const page = (await world.get('/treasury?mode=live', approver!)).body;
  expect(page).toMatch(/re_big.*0 of 2 approvals for 40\.00 USDT.*action="\/treasury\/approve".*value="re_big"/s);
  expect(page).toMatch(/re_poor.*9\.00 USDT are missing/s);
  expect(page).not.toContain('value="re_poor"');
  expect((await world.get('/treasury?mode=live', finance!)).body).toMatch(
    /action="\/treasury\/reject".*value="re_poor"/s,
  );
  expect((await world.get('/treasury?mode=test', approver!)).body).not.toContain('re_big');
});
