import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { deepLinks } from '../../../../src/checkout/deep-links.ts';
import { clip, html } from '../../../../src/runtime/http/html.ts';
import { renderHelp } from '../../../../src/checkout/help.ts';
import { LANGUAGES, chooseLanguage, type Language } from '../../../../src/checkout/languages.ts';
import { renderPage } from '../../../../src/checkout/page/page.ts';
import type { PageInput } from '../../../../src/checkout/page/input.ts';
import { pageStatus, type PageFacts } from '../../../../src/checkout/page/model.ts';
import { statusWords } from '../../../../src/checkout/page/status.ts';
import { renderReceipt } from '../../../../src/checkout/receipt.ts';
import { amountHtml, Speech } from '../../../../src/checkout/speech.ts';
import { english, type TextKey, type Texts } from '../../../../src/checkout/texts/en.ts';
import type { SessionId } from '../../../../src/domain/values/ids.ts';
import type { SessionView } from '../../../../src/features/shared/views.ts';
import { DEPOSIT, FACTS, NOW_SEC, OPEN, OPTION, PAYEE, refund, SESSIONS } from '../../../support/page-sessions.ts';
import { REPOSITORY } from '../../../support/repository.ts';

function inputOf(session: SessionView, language: Language = LANGUAGES[0]!, more: Partial<PageInput> = {}): PageInput {
  return {
    session,
    coin: null,
    status: pageStatus(session, FACTS),
    speech: new Speech(language),
    shop: { name: '1042', host: null, logo: null, contact: null },
    finalityOf: FACTS.finalityOf,
    newAttempt: null,
    linksOf: (option, amount) =>
      deepLinks(option, amount, { pageUrl: 'https://pay.example/pay/cs_1', mainNetwork: true }),
    simulated: new Set(['bsc']),
    sandbox: true,
    testMode: true,
    nowMs: NOW_SEC * 1000,
    embeddedBy: null,
    asset: (name) => `/${name}`,
    explorerUrl: () => null,
    ...more,
  };
}
const everyPage = (language: Language): string[] => [
  ...Object.values(SESSIONS).flatMap((session) => [
    renderPage(inputOf(session, language)),
    renderPage(inputOf(session, language, { sandbox: false })),
  ]),
  renderReceipt(inputOf(SESSIONS.paid!, language), true),
  renderReceipt(inputOf(OPEN, language), false),
  ...[SESSIONS.paid!, OPEN].map((session) => renderHelp(inputOf(session, language), null)),
];
const pageOf = (name: string, more: Partial<PageInput> = {}): string =>
  renderPage(inputOf(SESSIONS[name]!, undefined, more));
const textOf = (page: string): string =>
  page
    .replaceAll(/<(style|script)>.*?<\/\1>/gs, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ');

describe('the languages of the page', () => {
  /** Names that every language keeps as they are. */
  const UNTRANSLATED = [
    'Ethereum',
    'BNB Smart Chain',
    'TRON',
    'Solana',
    'ERC-20',
    'BEP-20',
    'USDT',
    'USDC',
    'EUR',
    'UTC',
    'MetaMask',
    'Trust Wallet',
    'TokenPocket',
    'Base App',
    'imToken',
    'min',
    'sec',
  ];

  it('show no text that is not in the catalogue', () => {
    // Every text of this language is made of signs without letters, so any letter left over is a string that no
    // translator has seen.
    const silent = Object.fromEntries(
      Object.entries(english).map(([key, text]) => [
        key,
        `⟦${text.replaceAll(/\p{L}/gu, '·')}⟧`.replaceAll(/\{·+\}/g, ''),
      ]),
    ) as Texts;
    const language: Language = { code: 'en', name: '-', locale: 'en', direction: 'ltr', texts: silent };
    for (const page of everyPage(language)) {
      let left = `${textOf(page)} ${[...page.matchAll(/ (?:alt|aria-label|title|placeholder)="([^"]*)"/g)].map((match) => match[1]).join(' ')}`;
      for (const { name } of LANGUAGES) left = left.replaceAll(name, '');
      for (const name of UNTRANSLATED) left = left.replaceAll(name, '');
      const codes = [
        `0x${'ab'.repeat(32)}`,
        OPEN.sessionId,
        OPTION.address,
        DEPOSIT.txHash,
        DEPOSIT.fromAddress!,
        PAYEE,
        `0x${'ab'.repeat(4)}…${'ab'.repeat(3)}`,
        `${DEPOSIT.txHash.slice(0, 10)}…${DEPOSIT.txHash.slice(-6)}`,
      ];
      for (const code of codes) left = left.replaceAll(code, '').replaceAll(code.match(/.{1,4}/g)!.join(' '), '');
      left = left
        .replaceAll(/[\d:]+\s[AP]M|(?:December|January) \d+, \d{4} at|€/g, '')
        .replaceAll(/\b(?:0x)?[\da-fA-F]{2,4}\b/g, '');
      expect(left.match(/[\p{L}]+/gu) ?? []).toEqual([]);
    }
  });

  it.each(LANGUAGES.slice(1).map((language) => [language.name, language] as const))(
    '%s translates every text and keeps its placeholders',
    (_, language) => {
      const placeholders = (text: string): string[] => (text.match(/\{\w+\}/g) ?? []).sort();
      // The same word may mean the same in both languages, but a sentence is never the same.
      const same: string[] = [];
      for (const [key, text] of Object.entries(english) as [TextKey, string][]) {
        expect(placeholders(language.texts[key]), key).toEqual(placeholders(text));
        expect(language.texts[key].trim(), key).not.toBe('');
        if (language.texts[key] === text) same.push(text);
      }
      expect(
        same.filter(
          (text) =>
            text.includes(' ') &&
            text
              .replaceAll(/\{\w+\}/g, '')
              .trim()
              .includes(' '),
        ),
      ).toEqual([]);
      expect(same.length).toBeLessThan(4);
    },
  );

  it('use every text of the catalogue somewhere', () => {
    const folder = join(REPOSITORY, 'src/checkout');
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
      (name) => /\.(?:ts|js)$/.test(name) && !name.startsWith('texts'),
    );
    const source = files.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n');
    const built = /^(?:\w+_title|hint_\w+|progress_\w+|refund_\w+|\w+_note)$/;
    const unused = Object.keys(english).filter((key) => !built.test(key) && !new RegExp(`['.]${key}\\b`).test(source));
    expect(unused).toEqual([]);
  });

  it('are chosen by the switch first, then by the browser, then English', () => {
    expect(chooseLanguage('tr', 'fr').code).toBe('tr');
    expect(chooseLanguage(undefined, 'nl-BE,nl;q=0.9,ru;q=0.5,fr;q=0.8').code).toBe('fr');
    expect(chooseLanguage(undefined, 'zh-HK').code).toBe('zh-Hant');
    expect(chooseLanguage(undefined, 'zh-Hans-HK').code).toBe('zh');
    expect(chooseLanguage('"><script>', 'x, *, en_US, iw').code).toBe('he');
    expect(chooseLanguage('xx', 'pt-BR;q=1').code).toBe('pt');
    expect(chooseLanguage(undefined, 'ar;q=0, vi').code).toBe('vi');
    for (const nonsense of [undefined, '', ';;;,,,', 'q=1', `${'a'.repeat(100_000)},fr`])
      expect(chooseLanguage(['fr'], nonsense).code).toBe('en');
  });

  it('tell the script how to write the time of day', () => {
    const clockOf = (wanted: string): string => new Speech(LANGUAGES.find(({ code }) => code === wanted)!).clock();
    expect(clockOf('en')).toMatch(/^{h}:{mm}\sAM\|{h}:{mm}\sPM$/);
    expect(clockOf('ko')).toBe('오전 {h}:{mm}|오후 {h}:{mm}');
    expect(clockOf('fr')).toBe('{hh}:{mm}');
    expect(clockOf('ja')).toBe('{h}:{mm}');
    for (const language of LANGUAGES)
      expect(new Speech(language).clock()).toMatch(/^[^{}|]*{hh?}:{mm}[^{}|]*(?:\|[^{}|]*{hh?}:{mm}[^{}|]*)?$/);
  });

  it('write shop money in their own order, with the one sign for decimals that wallets write', () => {
    const inFrench = textOf(renderPage(inputOf(OPEN, chooseLanguage('fr', undefined))));
    expect(inFrench).toContain('1.08 USDT');
    expect(inFrench).toMatch(/10\.00\s€/);
    expect(inFrench).toContain('10.80');
    const inArabic = renderPage(inputOf(OPEN, chooseLanguage('ar', undefined)));
    expect(inArabic).toContain('dir="rtl"');
    expect(inArabic).not.toMatch(/[\u0660-\u0669\u06f0-\u06f9]/);
  });
});

describe('the state of the page', () => {
  const stateOf = (session: SessionView, nowSec = NOW_SEC) => pageStatus(session, { ...FACTS, nowSec });

  it('offers an address only while money may still be sent', () => {
    for (const [name, session] of Object.entries(SESSIONS)) {
      const payable = [
        'awaiting',
        'awaiting either coin',
        'underpaid',
        'seen in part',
        'wrong coin',
        'wrong network',
        'lost',
      ].includes(name);
      expect(renderPage(inputOf(session)).includes('class="address'), name).toBe(payable);
      expect(stateOf(session).toSend !== null, name).toBe(payable);
    }
  });

  it('requests the missing amount, counting money on its way as arrived', () => {
    expect(stateOf(SESSIONS.underpaid!).toSend).toBe('5.80');
    expect(stateOf(SESSIONS['seen in part']!).toSend).toBe('5.80');
    expect(stateOf(SESSIONS.seen!).toSend).toBeNull();
    expect(stateOf({ ...SESSIONS.underpaid!, received: '2.00', refundable: '2.00' })).toMatchObject({
      state: 'underpaid',
      received: '2.00',
      toSend: '8.80',
    });
    expect(stateOf({ ...SESSIONS.underpaid!, received: '0.00', refundable: '0.00' })).toMatchObject({
      state: 'awaiting',
      received: '0.00',
      toSend: '10.80',
    });
    // 18 decimals arrived on one network, and the other one has 6.
    expect(stateOf({ ...SESSIONS.underpaid!, received: '10.7999999' })).toMatchObject({ toSend: '0.000001' });
    expect(pageOf('underpaid')).toContain('data-units="5800000"');
    expect(pageOf('underpaid')).toContain('data-units="5800000000000000000"');
  });

  it('does not ask for a rest within the tolerance, but shows the whole amount before anything arrives', () => {
    const forgiving = { ...OPEN, tolerance: '0.50' };
    const coming = {
      ...forgiving,
      status: 'processing' as const,
      deposits: [{ ...DEPOSIT, status: 'detected' as const }],
    };
    const toSend = (session: SessionView): string | null => pageStatus(session, FACTS).toSend;
    expect(toSend(forgiving)).toBe('10.80');
    expect(toSend({ ...coming, pending: '10.30' })).toBeNull();
    expect(toSend({ ...coming, pending: '10.29' })).toBe('0.51');
    expect(toSend({ ...coming, received: '5.00', pending: '5.30' })).toBeNull();
  });

  it('stops asking at the deadline by the server’s clock, before the session ends', () => {
    expect(stateOf(OPEN, OPEN.expiresAtSec).state).toBe('awaiting');
    expect(stateOf(OPEN, OPEN.expiresAtSec + 1)).toMatchObject({ state: 'closing', toSend: null });
    expect(textOf(pageOf('closing'))).toContain('We are still looking for a transfer that you made in time.');
  });

  it('says what happens to money that came after a cancel', () => {
    expect(textOf(pageOf('cancelled on its way'))).toContain('10.80 USDT is on its way. Once it is final');
    expect(textOf(pageOf('cancelled after it came'))).toContain('10.80 USDT arrived. The shop can return it');
  });

  it('says what paid, even if some or all of it was returned since', () => {
    const back = (amount: string) => refund('COMPLETED', amount);
    const returned = { ...SESSIONS.paid!, received: '0.00', paidWith: '10.80', refunds: [back('10.80')] };
    expect(textOf(renderPage(inputOf(returned)))).toContain('Refunded: 10.80 USDT The shop returned 10.80 USDT');
    // Somebody paid 6.00, got it back, and another paid what was due.
    const before = { ...SESSIONS.paid!, received: '10.80', paidWith: '10.80', excess: '0.00', refunds: [back('6.00')] };
    expect(textOf(renderPage(inputOf(before)))).toContain('10.80 USDT received. Thank you.');
    const over = {
      ...SESSIONS.overpaid!,
      received: '11.30',
      paidWith: '12.00',
      excess: '0.50',
      refunds: [back('0.70')],
    };
    expect(textOf(renderPage(inputOf(over)))).toContain('11.30 USDT received, 0.50 USDT more than due');
    expect(textOf(renderReceipt(inputOf(returned), true))).toContain('The shop returned 10.80 USDT');
  });

  it('mentions unmatched money before it asks for any', () => {
    const order = (name: string, first: string): void => {
      const text = textOf(pageOf(name));
      expect(text.indexOf(first), name).toBeGreaterThan(0);
      expect(text.indexOf(first), name).toBeLessThan(text.indexOf('Send exactly 10.80 USDT'));
    };
    order('lost', 'Check your wallet before you pay again.');
    order('wrong coin', '10.80 USDC arrived, but this order is paid in USDT');
    order('wrong network', 'which this order does not accept');
  });

  it('says that money can be returned only while it can, and how much is left after a part was returned', () => {
    for (const name of ['late and refunded', 'late and on its way back'])
      expect(textOf(pageOf(name)), name).not.toContain('can return');
    const left = 'The shop still holds 6.80 USDT and can return it';
    expect(textOf(pageOf('cancelled and refunded in part'))).toContain(left);
    expect(textOf(pageOf('cancelled and refunded in part'))).not.toContain('6.80 USDT arrived');
    const short = { ...SESSIONS['expired in part']!, received: '6.80', refunds: [refund('COMPLETED', '1.00')] };
    expect(textOf(renderPage(inputOf(short)))).toContain(left);
    // Nobody can be named to return it to, so the refund of another transfer took nothing of it.
    const nobody = { ...DEPOSIT, kind: 'late' as const, fromAddress: null, refundable: '0.00' };
    const late = { ...SESSIONS['late and refunded']!, deposits: [nobody] };
    expect(textOf(renderPage(inputOf(late)))).toContain('10.80 USDT arrived too late');
  });

  it('says after a cancel only what has not been returned yet', () => {
    const returned = {
      ...SESSIONS['cancelled after it came']!,
      received: '0.00',
      refundable: '0.00',
      refunds: [refund('COMPLETED', '10.80')],
    };
    expect(textOf(renderPage(inputOf(returned)))).not.toContain('10.80 USDT arrived');
  });

  it('lists the newest transfers only, however many came, with amounts of all of them', () => {
    const [one] = SESSIONS.paid!.deposits;
    const crowd = { ...SESSIONS.paid!, deposits: Array.from({ length: 2_000 }, () => one!) };
    const few = { ...SESSIONS.paid!, deposits: Array.from({ length: 30 }, () => one!) };
    expect(pageStatus(crowd, FACTS)).toEqual(pageStatus(few, FACTS));
    expect(renderPage(inputOf(crowd)).length).toBe(renderPage(inputOf(few)).length);
  });

  it('links only to the URLs that the merchant named', () => {
    const evil = { ...OPEN, status: 'cancelled' as const, personal: { cancelUrl: 'javascript:alert(1)' } };
    expect(renderPage(inputOf(evil))).not.toContain('javascript:');
    expect(pageOf('paid')).toContain('href="https://shop.example/1"');
    expect(pageOf('cancelled')).toContain('href="https://shop.example/2"');
  });
});

describe('the first line', () => {
  const said = (session: SessionView, facts = FACTS) => {
    const status = pageStatus(session, facts);
    const input = inputOf(session, undefined, { status });
    return {
      says: statusWords(input).title,
      tone: status.headline.tone,
      state: status.state,
      due: status.toSend,
      actions: status.actions.join(' '),
    };
  };

  it.each([
    ['awaiting', 'Pay 10.80 USDT', 'pay', 'awaiting', '10.80', 'pay back help'],
    ['awaiting either coin', 'Pay 10.80 USDT', 'pay', 'awaiting', '10.80', 'pay back help'],
    ['underpaid', 'Partly paid: 5.80 USDT still due', 'warn', 'underpaid', '5.80', 'pay back help'],
    ['seen in part', 'Partly paid: 5.80 USDT still due', 'warn', 'seen', '5.80', 'pay help'],
    ['seen', 'Payment on its way', 'wait', 'seen', null, 'help'],
    ['all on its way at the deadline', 'Payment on its way', 'wait', 'seen', null, 'help'],
    ['closing', 'The time to pay is over', 'wait', 'closing', null, 'back help'],
    ['closing with a part on its way', 'The time to pay is over', 'wait', 'closing', null, 'back help'],
    ['wrong coin', 'Wrong coin: 10.80 USDC arrived, 10.80 USDT is due', 'warn', 'awaiting', '10.80', 'pay back help'],
    ['wrong network', 'Wrong network: 10.80 USDT still due', 'warn', 'awaiting', '10.80', 'pay back help'],
    ['lost', 'Transfer lost: 10.80 USDT still due', 'warn', 'awaiting', '10.80', 'pay back help'],
    ['paid', 'Paid, 1.00 USDT on its way back to you', 'wait', 'paid', null, 'back receipt help'],
    ['overpaid', 'Paid, 1.20 USDT more than due', 'good', 'overpaid', null, 'back receipt help'],
    ['refunded', 'Refunded: 10.80 USDT', 'back', 'refunded', null, 'back receipt help'],
    ['refunded in part', 'Paid, 4.00 USDT returned', 'good', 'paid', null, 'back receipt help'],
    ['reversed', 'The network took the payment back', 'bad', 'reversed', null, 'back receipt help'],
    ['expired', 'The time to pay is over', 'warn', 'expired', null, 'pay_again help'],
    ['expired in part', 'Too little arrived in time', 'warn', 'expired', null, 'pay_again help'],
    ['late', 'Sent too late', 'warn', 'expired', null, 'pay_again help'],
    ['late and on its way back', '10.80 USDT on its way back to you', 'wait', 'expired', null, 'pay_again help'],
    ['late and refunded', 'Refunded: 10.80 USDT', 'back', 'refunded', null, 'pay_again help'],
    ['wrong coin until the end', 'Wrong coin: 10.80 USDC arrived', 'warn', 'expired', null, 'pay_again help'],
    ['wrong network until the end', 'Wrong network: 10.80 USDT arrived', 'warn', 'expired', null, 'pay_again help'],
    ['failed', 'The payment did not go through', 'bad', 'failed', null, 'pay_again help'],
    ['failed in part', 'The payment did not go through', 'bad', 'failed', null, 'pay_again help'],
    ['cancelled', 'The shop cancelled this payment', 'warn', 'cancelled', null, 'pay_again help'],
    ['cancelled and refunded in part', 'Partly refunded: 4.00 USDT', 'back', 'cancelled', null, 'pay_again help'],
  ])('%s: %s', (name, says, tone, state, due, actions) => {
    expect(said(SESSIONS[name]!)).toEqual({ says, tone, state, due, actions });
    const page = renderPage(inputOf(SESSIONS[name]!));
    expect(textOf(/<h1.*?<\/h1>/s.exec(page)![0]).trim()).toBe(says);
    expect(page).toContain(`data-tone="${tone}"`);
  });

  it('never names an amount to send once nothing may be sent, in any state at any time', () => {
    for (const session of Object.values(SESSIONS)) {
      const { due, says } = said(session, { ...FACTS, nowSec: NOW_SEC + 100_000 });
      expect(due).toBeNull();
      expect(says).not.toMatch(/still due|is due|^Pay /);
    }
  });

  it('says of every payment that ended unpaid or was reverted that its address must no longer be used', () => {
    for (const [name, session] of Object.entries(SESSIONS)) {
      const { state, toSend } = pageStatus(session, FACTS);
      const isOver = toSend === null && state !== 'seen' && (session.paidAtSec === null || session.reversed);
      const says = textOf(renderPage(inputOf(session))).includes('Do not send money to this address any more.');
      expect([name, says]).toEqual([name, isOver]);
    }
  });

  it('says that no money arrived only if none did', () => {
    expect(textOf(renderPage(inputOf(SESSIONS['failed']!)))).toContain('no money arrived');
    const inPart = textOf(renderPage(inputOf(SESSIONS['failed in part']!)));
    expect(inPart).toContain('5.00 USDT arrived. The shop can return it');
    expect(inPart).toContain('The network dropped a transfer of 5.80 USDT');
    expect(inPart).not.toContain('no money arrived');
    const late = {
      ...SESSIONS['failed']!,
      deposits: [...SESSIONS['failed']!.deposits, { ...DEPOSIT, kind: 'late' as const }],
    };
    expect(textOf(renderPage(inputOf(late)))).toContain('10.80 USDT arrived too late');
    expect(textOf(renderPage(inputOf(late)))).not.toContain('no money arrived');
  });

  it("links to the shop's contact if it has one", () => {
    const shop = { name: 'Mugs', host: null, logo: null };
    expect(renderPage(inputOf(OPEN, undefined, { shop: { ...shop, contact: 'mailto:help@shop.example' } }))).toContain(
      'href="mailto:help@shop.example"',
    );
    expect(renderPage(inputOf(OPEN, undefined, { shop: { ...shop, contact: null } }))).not.toContain('class="contact"');
  });

  it('links to the new payment of the order rather than to the shop', () => {
    const newAttempt = 'cs_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' as SessionId;
    const session = SESSIONS.expired!;
    const page = renderPage(
      inputOf(session, undefined, { newAttempt, status: pageStatus(session, { ...FACTS, newAttempt }) }),
    );
    expect(page).toContain(`href="/pay/${newAttempt}?lang=en"`);
    expect(textOf(page)).toContain('The shop opened a new payment for this order.');
    expect(textOf(page)).not.toContain('Pay again at the shop');
  });
});

describe('the network', () => {
  const chosen = (session: SessionView, facts = FACTS): string => {
    const page = renderPage(inputOf(session, undefined, { status: pageStatus(session, facts) }));
    return /id="network-(\w+)"[^>]*checked/.exec(page)![1]!;
  };

  it('is the one that the money is on, and before that the cheapest that can be reached', () => {
    expect(chosen(OPEN)).toBe('bsc');
    expect(chosen(SESSIONS.underpaid!)).toBe('ethereum');
    expect(chosen(SESSIONS['seen in part']!)).toBe('bsc');
    expect(chosen(OPEN, { ...FACTS, outageSince: (network) => (network === 'bsc' ? NOW_SEC - 300 : null) })).toBe(
      'ethereum',
    );
    expect(pageStatus(SESSIONS['wrong network']!, FACTS).network).toBeNull();
    expect(pageStatus(SESSIONS.lost!, FACTS).network).toBeNull();
  });

  it('that cannot be reached is named, with the others offered', () => {
    const facts: PageFacts = { ...FACTS, outageSince: (network) => (network === 'ethereum' ? NOW_SEC - 300 : null) };
    const text = textOf(renderPage(inputOf(OPEN, undefined, { status: pageStatus(OPEN, facts) })));
    expect(text).toContain('Ethereum cannot be reached since');
    expect(text).toContain('Please pay on another network.');
    const seen = SESSIONS.seen!;
    const whileSeen = textOf(renderPage(inputOf(seen, undefined, { status: pageStatus(seen, facts) })));
    expect(whileSeen).toContain('Money that you sent there is safe');
  });

  it('says how far it is and how long it takes', () => {
    const finalized = {
      ...SESSIONS.seen!,
      deposits: [{ ...DEPOSIT, network: 'bsc' as const, status: 'detected' as const }],
    };
    const text = (have: number, session: SessionView): string =>
      textOf(
        renderPage(
          inputOf(session, undefined, { status: pageStatus(session, { ...FACTS, confirmationsOf: () => have }) }),
        ),
      );
    expect(text(3, SESSIONS.seen!)).toContain('Confirmations: 3 of 12. Takes about 2 min.');
    expect(text(2, finalized)).toContain('Block 2 of about 3. Takes about 2 sec.');
    expect(text(9, finalized)).toContain('Block 9. This takes longer than usual');
    expect(text(0, OPEN)).toContain('ERC-20 · about 2 min Fee varies');
  });
});

describe('amounts', () => {
  it('are grouped for display, and are one number for assistive software', () => {
    const plain = (text: string): string => amountHtml(text).text.replaceAll(/<[^>]*>/g, '');
    for (const text of ['1234.56', '12345.67 USDT', '0.123456', '1000000', '10.80 USDT + 5.00 USDC', '12', 'none'])
      expect(plain(text)).toBe(text);
    const groups = (text: string): string =>
      amountHtml(text)
        .text.replaceAll(/\s+/g, ' ')
        .replaceAll(/<span class="group" ?>(\d+)<\/span ?>/g, '|$1');
    expect(groups('1234567.891234 USDT')).toContain('>1|234|567.891|234<');
    expect(groups('1234.5678')).toContain('>1234.5678<');
  });

  it('and the printed rate agree to the last digit', () => {
    const page = textOf(
      renderPage(
        inputOf({ ...OPEN, amount: '12.50', dueAmount: '13.51', rateLock: { ...OPEN.rateLock!, rate: '1.08012' } }),
      ),
    );
    expect(page).toContain('1.0808 USDT');
  });
});

describe('the report that a payer can send to the shop', () => {
  it('names the payment, transfers, refunds and addresses', () => {
    const text = textOf(renderHelp(inputOf(SESSIONS.paid!), null));
    for (const fact of [
      OPEN.sessionId,
      OPEN.orderId,
      DEPOSIT.txHash,
      DEPOSIT.fromAddress!,
      PAYEE,
      OPTION.address,
      '10.80 USDT',
    ])
      expect(text).toContain(fact);
  });

  it('says what arrived, even if some of it went back', () => {
    expect(textOf(renderHelp(inputOf(SESSIONS['refunded in part']!), null))).toMatch(/Received\s+10\.80 USDT/);
    expect(textOf(renderHelp(inputOf(SESSIONS.late!), null))).toMatch(/Received\s+0\.00 USDT/);
  });

  it("leaves out the merchant's notifications", () => {
    const entry = (type: string) => ({ atMs: NOW_SEC * 1000, type, message: `about ${type}`, facts: {} });
    const record = {
      sessionId: OPEN.sessionId,
      mode: 'test' as const,
      entries: [entry('DepositDetected'), entry('DeliveryAttempted'), entry('RedeliveryRequested')],
      coverage: [],
      readTo: [],
      conclusion: 'Paid.',
    };
    const text = textOf(renderHelp(inputOf(SESSIONS.paid!), record));
    expect(text).toContain('about DepositDetected');
    expect(text).not.toContain('about Delivery');
    expect(text).not.toContain('about Redelivery');
  });
});

describe('texts of merchants and payers', () => {
  const hostile = [
    '"><img src=x onerror=alert(1)>',
    '</script><script>alert(1)</script>',
    "' onfocus='alert(1)",
    '\u202etxet',
    'a\u0000b\u200bc',
  ];

  it('are inert in text and attributes', () => {
    for (const text of hostile) {
      const page = renderPage(
        inputOf(
          {
            ...OPEN,
            personal: {
              description: text,
              lineItems: [{ price_data: { currency: 'EUR', unit_amount: '1.00', product_data: { name: text } } }],
            },
          },
          undefined,
          { shop: { name: text, host: text, logo: null, contact: null } },
        ),
      );
      for (const trick of ['<img src=x', '<script>alert', '\u0000', '\u202e', '\u200b'])
        expect(page).not.toContain(trick);
      expect(page.match(/<script/g)).toHaveLength(3);
      expect(html`<p title="${text}"></p>`.text.split('"')).toHaveLength(3);
    }
  });

  it('cannot fill the page: names are cut', () => {
    const page = renderPage(
      inputOf(OPEN, undefined, {
        shop: { name: 'x'.repeat(10_000), host: null, logo: null, contact: null },
      }),
    );
    expect(page).not.toContain('x'.repeat(81));
    expect(clip('👨‍👩‍👧'.repeat(3), 80)).toBe('👨‍👩‍👧'.repeat(3));
    expect([...clip('漢'.repeat(200), 80)]).toHaveLength(80);
  });
});

describe('the receipt', () => {
  it('shows what went back, by which transaction and to whom', () => {
    const text = textOf(renderReceipt(inputOf(SESSIONS.refunded!), true));
    expect(text).toContain('The shop returned 10.80 USDT');
    expect(text).toContain('Refund of 10.80 USDT on Ethereum');
    expect(text).toContain(PAYEE);
    expect(textOf(renderReceipt(inputOf(SESSIONS.reversed!), true))).toContain('took a transfer back');
  });

  it('says that test money is test money, on paper too', () => {
    const paid = SESSIONS.paid!;
    expect(renderReceipt(inputOf(paid, undefined, { sandbox: true, testMode: true }), true)).toContain(
      english.sandbox_band,
    );
    expect(renderReceipt(inputOf(paid, undefined, { sandbox: false, testMode: true }), true)).toContain(
      english.test_band,
    );
    expect(renderReceipt(inputOf(paid, undefined, { sandbox: false, testMode: false }), true)).not.toContain(
      'class="band"',
    );
  });
});

describe('the order', () => {
  it('is expanded once nothing is to be sent, unless it is so long that it would hide the outcome', () => {
    const item = { price_data: { currency: 'EUR', unit_amount: '1.00', product_data: { name: 'Mug' } } };
    const withItems = (count: number): string => {
      const paid = SESSIONS.paid!;
      return renderPage(
        inputOf({ ...paid, personal: { ...paid.personal, lineItems: Array.from({ length: count }, () => item) } }),
      );
    };
    expect(withItems(5)).toMatch(/<details class="items"\s+open>/);
    expect(withItems(6)).toMatch(/<details class="items"\s*>/);
    expect(pageOf('awaiting')).not.toMatch(/<details class="items"\s+open>/);
  });

  it('shows the exact total of several units of an item', () => {
    const item = (unit: string, quantity: number) => ({
      price_data: { currency: 'EUR', unit_amount: unit, product_data: { name: '1' } },
      quantity,
    });
    const lineItems = [item('4.75', 2), item('0.1', 3), item('999999999999.99', 1e9)];
    const page = textOf(renderPage(inputOf({ ...OPEN, personal: { lineItems } })).replaceAll('<wbr />', ''));
    expect(page).toContain('€9.50');
    expect(page).toContain('€0.3');
    expect(page).toContain('€999,999,999,999,990,000,000.00');
  });
});
