import { Wallet } from 'ethers';
import { afterEach, describe, expect, it } from 'vitest';
import { EVIDENCE_KINDS, type EvidenceKind } from '../../../src/domain/claims.ts';
import type { ClaimView } from '../../../src/features/shared/claim-views.ts';
import { ANOTHER_SESSIONS, claimWorld, EXCHANGE, PAYEE, wallet } from '../../support/claim-world.ts';
import { caller } from '../../support/session-world.ts';
import { servePages, type ServedPages } from '../../support/served-pages.ts';

/* The payer's page as a browser without a script uses it: what it shows is what is sent back. */

let pages: ServedPages | undefined;
afterEach(async () => {
  await pages?.close();
  pages = undefined;
});

async function served(
  refundClaims: readonly EvidenceKind[] = EVIDENCE_KINDS,
  from: string | null = wallet.address,
  burst = 100,
) {
  const world = await claimWorld(from, refundClaims);
  const transactionId = await world.pay('10.00', from, from === wallet.address ? undefined : EXCHANGE);
  const view = async () => (await world.api.viewSession(world.sessionId))!;
  pages = await servePages(await view(), { claims: refundClaims }, { api: world.api, burst });
  const at = pages.url;
  const get = async (path = '/claim') => {
    pages!.show(await view());
    const answer = await fetch(`${at}${path}`);
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  };
  const post = async (fields: Readonly<Record<string, string>>) => {
    const answer = await fetch(`${at}/claim?lang=en`, {
      method: 'POST',
      body: new URLSearchParams(fields),
      redirect: 'manual',
    });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  };
  const begin = { transaction_id: transactionId, payee: PAYEE, evidence: 'signature', reason: 'my exchange closed' };
  return { ...world, transactionId, get, post, begin };
}

/** The fields that the page would send back, and the text that it shows. */
const fieldsOf = (page: string) =>
  Object.fromEntries(
    [...page.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [name!, value!]),
  );
const shownText = (page: string): string => /<pre[^>]*>([^<]*)<\/pre>/.exec(page)![1]!;

describe('the claim page', () => {
  it('does not exist if the shop accepts no claims', async () => {
    const { get, post, begin } = await served([]);
    expect((await get()).status).toBe(404);
    expect((await post(begin)).status).toBe(404);
    expect((await get('/help')).text).not.toContain('/claim');
  });

  it('accepts a signature over exactly the text that it shows, and then says what happens next', async () => {
    const { get, post, begin, claims } = await served();
    const first = await get();
    expect(first.text).toContain('name="payee"');
    expect(first.headers.get('content-security-policy')).toContain("form-action 'self'");
    const second = await post(begin);
    const text = shownText(second.text);
    expect(text).toContain(`refund to: ${PAYEE}\namount: 10.00 USDT`);
    expect(await claims()).toEqual([]);
    // A browser sends line ends of its own, and people paste with spaces.
    const signature = `  ${wallet.signMessageSync(text).replace(/(.{50})/, '$1\r\n')} `;
    const filed = await post({ ...fieldsOf(second.text), signature });
    expect([filed.status, filed.headers.get('location')]).toEqual([303, expect.stringMatching(/\/claim\?lang=en$/)]);
    expect(await claims()).toMatchObject([
      { payee: PAYEE, evidence: 'signature', status: 'open', reason: expect.any(String) },
    ]);
    const after = (await get()).text;
    expect(after).toContain('The shop decides on it.');
  });

  it('names the amount of a test payment and where it goes, once the claim is filed', async () => {
    const { get, post, begin, claims, pay } = await served(EVIDENCE_KINDS, '0xExchange');
    const second = await post({ ...begin, evidence: 'test_payment' });
    expect(second.text).toContain('between 1 and 2 USDT');
    expect((await post(fieldsOf(second.text))).status).toBe(303);
    const { testPayment, toAddress } = (await claims())[0] as ClaimView & { testPayment: string };
    const page = (await get()).text;
    expect(page).toContain(`${testPayment} USDT`);
    expect(page).toContain(`data-copy="${toAddress}"`);
    await pay(testPayment, '0xExchange', EXCHANGE);
    expect((await get()).text).not.toContain(`data-copy="${toAddress}"`);
  });

  it("asks for the exchange's minimum, within bounds, and says so before anything is filed", async () => {
    const { post, begin, claims } = await served(EVIDENCE_KINDS, '0xExchange');
    for (const [typed, from] of [
      ['10', 10],
      ['9,5', 10],
      ['', 1],
      ['-3', 1],
      ['many', 1],
      ['100000', 100],
    ] as const)
      expect((await post({ ...begin, evidence: 'test_payment', at_least: typed })).text).toContain(
        `between ${from} and ${from + 1} USDT`,
      );
    const { text } = await post({ ...begin, evidence: 'test_payment', at_least: '10' });
    expect((await post(fieldsOf(text))).status).toBe(303);
    expect(await claims()).toMatchObject([{ testPayment: expect.stringMatching(/^10\.\d+$/) }]);
  });

  it('refuses a forged signature, and keeps the input and the text', async () => {
    const { post, begin, claims } = await served();
    const second = await post(begin);
    const fields = fieldsOf(second.text);
    const text = shownText(second.text);
    const thief = new Wallet(`0x${'22'.repeat(32)}`);
    for (const signature of [thief.signMessageSync(text), wallet.signMessageSync(`${text} `), '', 'nonsense', '0x']) {
      const refused = await post({ ...fields, signature });
      expect(refused.status).toBe(400);
      expect(refused.text).toContain('This signature does not fit');
      expect(shownText(refused.text)).toBe(text);
    }
    const signature = wallet.signMessageSync(text);
    expect((await post({ ...fields, payee: '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65', signature })).status).toBe(
      400,
    );
    expect((await post({ ...fields, number: 'A'.repeat(22), signature })).status).toBe(400);
    expect((await post({ ...fields, number: 'short', signature })).status).toBe(409);
    expect(await claims()).toEqual([]);
    expect((await post({ ...fields, signature })).status).toBe(303);
    expect((await post({ ...fields, signature })).status).toBe(303);
    expect(await claims()).toHaveLength(1);
  });

  it('gives the same message for every refused payee, whosever address it is', async () => {
    const { post, begin, kinds } = await served();
    kinds.set('0xContract', { kind: 'contract', name: null });
    kinds.set('0xBinance', EXCHANGE);
    const said = new Set<string>();
    for (const payee of ['nonsense', ANOTHER_SESSIONS, wallet.address.toLowerCase(), '0xContract', '0xBinance']) {
      const { status, text } = await post({ ...begin, payee });
      expect(status).toBe(400);
      said.add(/role="alert">([^<]*)/.exec(text)![1]!);
    }
    expect(said.size).toBe(1);
    kinds.set(PAYEE, null);
    expect((await post(begin)).status).toBe(503);
  });

  it('is no way around: other deposits, other evidence, other shapes, and what is too long', async () => {
    const { post, begin, claims } = await served(['signature']);
    const faults: Readonly<Record<string, string>>[] = [
      { ...begin, transaction_id: 'txn_of_another_payment' },
      { ...begin, transaction_id: 'constructor' },
      { ...begin, evidence: 'test_payment', step: 'send' },
      { ...begin, evidence: 'no_sender', step: 'send' },
      { ...begin, evidence: '__proto__', step: 'send' },
      { transaction_id: '' },
      { ...begin, reason: 'x'.repeat(20_000) },
      { ...begin, ...Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`k${index}`, 'x'])) },
    ];
    for (const fields of faults) expect((await post(fields)).status, JSON.stringify(fields)).toBe(409);
    expect((await post({ ...begin, payee: '<script>alert(1)</script>' })).text).toContain('&lt;script&gt;');
    expect(await claims()).toEqual([]);
  });

  it('limits the attempts of one payment', async () => {
    const { post, begin } = await served(EVIDENCE_KINDS, wallet.address, 2);
    expect([(await post(begin)).status, (await post(begin)).status]).toEqual([200, 200]);
    const limited = await post(begin);
    expect([limited.status, Number(limited.headers.get('retry-after'))]).toEqual([429, expect.any(Number)]);
  });

  it('is linked where it helps: from the help page always, from the end of a payment where the sender cannot get it back', async () => {
    const own = await served();
    expect((await own.get('')).text).not.toContain('/claim');
    expect((await own.get('/help')).text).toContain('/claim');
    await pages!.close();
    const exchange = await served(EVIDENCE_KINDS, '0xExchange');
    expect((await exchange.get('')).text).toContain('/claim');
  });

  it('says that the refund of a claim goes to the named address, and of a rejection only that it was rejected', async () => {
    const { get, post, begin, claims, refund, api, sessionId } = await served();
    const second = await post(begin);
    await post({ ...fieldsOf(second.text), signature: wallet.signMessageSync(shownText(second.text)) });
    const third = await post(begin);
    await post({ ...fieldsOf(third.text), signature: wallet.signMessageSync(shownText(third.text)) });
    const [newest, first] = await claims();
    await api.rejectClaim(caller, sessionId, newest!.claimId, 'looks like a thief');
    await refund({ claimId: first!.claimId });
    expect((await get('')).text).toContain('to the address that you named');
    const page = (await get()).text;
    expect(page).toContain('The shop turned it down.');
    expect(page).not.toContain('thief');
    expect(page).toContain('The shop approved it.');
  });
});
