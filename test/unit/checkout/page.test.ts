import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { deepLinks } from '../../../src/checkout/deep-links.ts';
import { clip, html } from '../../../src/checkout/html.ts';
import { LANGUAGES, chooseLanguage, type Language } from '../../../src/checkout/languages.ts';
import { renderPage } from '../../../src/checkout/page.ts';
import type { PageInput } from '../../../src/checkout/page-input.ts';
import { pageStatus } from '../../../src/checkout/page-model.ts';
import { renderReceipt } from '../../../src/checkout/receipt.ts';
import { Speech } from '../../../src/checkout/speech.ts';
import { english, type TextKey, type Texts } from '../../../src/checkout/texts/en.ts';
import type { PaymentOption } from '../../../src/domain/events/session-events.ts';
import type { MerchantId, SessionId, TransactionId } from '../../../src/domain/ids.ts';
import type { DepositView, SessionView } from '../../../src/features/shared/views.ts';
import { REPOSITORY } from '../../support/repository.ts';

const NOW_SEC = 1_767_225_600;
const OPTION: PaymentOption = {
  network: 'ethereum',
  coin: 'USDT',
  tokenAddress: '0xdAC17F958D2ee523a2206206994597C13D831ec7',
  decimals: 6,
  chainId: '1',
  address: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  derivationIndex: 0,
  finality: { kind: 'confirmations', confirmations: 12 },
};
const OPEN: SessionView = {
  sessionId: 'cs_k7w2q5m4n6p3r7s2t5v4x6y3z7a2b5c4' as SessionId,
  mode: 'test',
  merchantId: 'mer_1' as MerchantId,
  orderId: '1042',
  status: 'open',
  amount: '10.00',
  currency: 'EUR',
  dueCoin: 'USDT',
  dueAmount: '10.80',
  tolerance: '0.00',
  rateLock: { rate: '1.08', lockedAtSec: NOW_SEC - 60, rule: 'static', quotes: [] },
  taxAmount: '1.00',
  shippingAmount: '2.00',
  createdAtSec: NOW_SEC - 60,
  expiresAtSec: NOW_SEC + 600,
  paymentOptions: [OPTION, { ...OPTION, network: 'bsc', chainId: '56', decimals: 18, finality: { kind: 'finalized' } }],
  domainId: null,
  personal: { successUrl: 'https://shop.example/1', cancelUrl: 'https://shop.example/2' },
  received: '0.00',
  pending: '0.00',
  excess: '0.00',
  refunded: '0.00',
  refundable: '0.00',
  refundableByCoin: [],
  reversed: false,
  afterExpiry: false,
  paidAtSec: null,
  paidWith: null,
  deposits: [],
  refunds: [],
};
const DEPOSIT: DepositView = {
  transactionId: 'txn_a' as TransactionId,
  depositKey: 'ethereum:0x1:0',
  network: 'ethereum',
  coin: 'USDT',
  tokenAddress: OPTION.tokenAddress,
  amount: '10.80',
  fromAddress: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  toAddress: OPTION.address,
  txHash: '0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060',
  logIndex: 0,
  blockNumber: 100,
  blockHash: '0xabc',
  blockTimeSec: NOW_SEC - 10,
  kind: 'on_time',
  status: 'final',
  sender: null,
  refundable: '10.80',
};
const refund = (status: 'PENDING' | 'COMPLETED' | 'FAILED') => ({ coin: 'USDT', amount: '1.00', status }) as SessionView['refunds'][number];

/** A session of every state and note that the page knows. */
const SESSIONS: Readonly<Record<string, SessionView>> = {
  awaiting: OPEN,
  underpaid: { ...OPEN, received: '5.00', deposits: [{ ...DEPOSIT, amount: '5.00' }] },
  seen: { ...OPEN, status: 'processing', pending: '10.80', deposits: [{ ...DEPOSIT, status: 'detected' }] },
  'seen in part': { ...OPEN, status: 'processing', pending: '5.00', deposits: [{ ...DEPOSIT, amount: '5.00', network: 'bsc', status: 'detected' }] },
  closing: { ...OPEN, expiresAtSec: NOW_SEC - 1 },
  paid: {
    ...OPEN,
    status: 'paid',
    received: '10.80',
    paidAtSec: NOW_SEC,
    paidWith: '10.80',
    deposits: [DEPOSIT],
    refunds: [refund('PENDING'), refund('COMPLETED'), refund('FAILED')],
  },
  reversed: { ...OPEN, status: 'paid', received: '0.00', reversed: true, paidAtSec: NOW_SEC, deposits: [{ ...DEPOSIT, status: 'reverted' }] },
  overpaid: {
    ...OPEN,
    status: 'paid',
    received: '12.00',
    excess: '1.20',
    paidAtSec: NOW_SEC,
    paidWith: '12.00',
    deposits: [{ ...DEPOSIT, amount: '12.00' }],
  },
  expired: { ...OPEN, status: 'expired', expiresAtSec: NOW_SEC - 1 },
  'expired in part': { ...OPEN, status: 'expired', expiresAtSec: NOW_SEC - 1, received: '5.00', deposits: [{ ...DEPOSIT, amount: '5.00' }] },
  late: { ...OPEN, status: 'expired', expiresAtSec: NOW_SEC - 1, deposits: [{ ...DEPOSIT, kind: 'late' }] },
  failed: { ...OPEN, status: 'failed', expiresAtSec: NOW_SEC - 1, deposits: [{ ...DEPOSIT, status: 'failed' }] },
  cancelled: { ...OPEN, status: 'cancelled', expiresAtSec: NOW_SEC - 1 },
  'cancelled on its way': { ...OPEN, status: 'cancelled', expiresAtSec: NOW_SEC - 1, deposits: [{ ...DEPOSIT, kind: 'late', status: 'detected' }] },
  'cancelled after it came': { ...OPEN, status: 'cancelled', expiresAtSec: NOW_SEC - 1, received: '10.80', refundable: '10.80', deposits: [DEPOSIT] },
  'wrong coin': { ...OPEN, deposits: [{ ...DEPOSIT, coin: 'USDC', kind: 'wrong_coin' }] },
  'wrong network': { ...OPEN, deposits: [{ ...DEPOSIT, network: 'tron', kind: 'wrong_network' }] },
  lost: { ...OPEN, deposits: [{ ...DEPOSIT, status: 'reverted' }] },
};

function inputOf(session: SessionView, language: Language = LANGUAGES[0]!, more: Partial<PageInput> = {}): PageInput {
  return {
    session,
    status: pageStatus(session, () => 3, NOW_SEC),
    speech: new Speech(language),
    shop: { name: '1042', host: null },
    linksOf: (option, amount) => deepLinks(option, amount, { pageUrl: 'https://pay.example/pay/cs_1', mainNetwork: true }),
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
];
const pageOf = (name: string, more: Partial<PageInput> = {}): string => renderPage(inputOf(SESSIONS[name]!, undefined, more));
const textOf = (page: string): string =>
  page
    .replaceAll(/<style>.*?<\/style>/gs, '')
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
  ];

  it('show no text that is not in the catalogue', () => {
    // Every text of this language is made of signs without letters, so any letter left over is a string that no translator has seen.
    const silent = Object.fromEntries(
      Object.entries(english).map(([key, text]) => [key, `⟦${text.replaceAll(/\p{L}/gu, '·')}⟧`.replaceAll(/\{·+\}/g, '')]),
    ) as Texts;
    const language: Language = { code: 'en', name: '-', locale: 'en', direction: 'ltr', texts: silent };
    for (const page of everyPage(language)) {
      let left = `${textOf(page)} ${[...page.matchAll(/ (?:alt|aria-label|title|placeholder)="([^"]*)"/g)].map((match) => match[1]).join(' ')}`;
      for (const { name } of LANGUAGES) left = left.replaceAll(name, '');
      for (const name of UNTRANSLATED) left = left.replaceAll(name, '');
      const codes = [
        OPEN.sessionId,
        OPTION.address,
        DEPOSIT.txHash,
        DEPOSIT.fromAddress!,
        `${DEPOSIT.txHash.slice(0, 10)}…${DEPOSIT.txHash.slice(-6)}`,
      ];
      for (const code of codes) left = left.replaceAll(code, '').replaceAll(code.match(/.{1,4}/g)!.join(' '), '');
      left = left.replaceAll(/\b(?:0x)?[\da-fA-F]{2,4}\b/g, '').replaceAll(/[\d:]+\s[AP]M|January \d+, \d{4} at|€/g, '');
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
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => /\.(?:ts|js)$/.test(name) && !name.startsWith('texts'));
    const source = files.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n');
    const built = /^(?:\w+_title|hint_\w+|progress_\w+|refund_\w+|\w+_note)$/;
    const unused = Object.keys(english).filter((key) => !built.test(key) && !new RegExp(`['.]${key}\\b`).test(source));
    expect(unused).toEqual([]);
  });

  it('are chosen by the switch first, then by the browser, then English', () => {
    expect(chooseLanguage('tr', 'fr').code).toBe('tr');
    expect(chooseLanguage(undefined, 'de-AT,de;q=0.9,ru;q=0.5,fr;q=0.8').code).toBe('fr');
    expect(chooseLanguage(undefined, 'zh-Hant-TW').code).toBe('zh');
    expect(chooseLanguage('xx', 'pt-BR;q=1').code).toBe('pt');
    expect(chooseLanguage(undefined, 'ar;q=0, vi').code).toBe('vi');
    for (const nonsense of [undefined, '', ';;;,,,', 'q=1', `${'a'.repeat(100_000)},fr`]) expect(chooseLanguage(['fr'], nonsense).code).toBe('en');
  });

  it('write shop money and rates by their own customs, and coins as wallets write them', () => {
    const inFrench = textOf(renderPage(inputOf(OPEN, chooseLanguage('fr', undefined))));
    expect(inFrench).toContain('1,08 USDT');
    expect(inFrench).toMatch(/10,00\s€/);
    expect(inFrench).toContain('10.80');
    const inArabic = renderPage(inputOf(OPEN, chooseLanguage('ar', undefined)));
    expect(inArabic).toContain('dir="rtl"');
    expect(inArabic).not.toMatch(/[\u0660-\u0669\u06f0-\u06f9]/);
  });
});

describe('the state of the page', () => {
  const stateOf = (session: SessionView, nowSec = NOW_SEC) => pageStatus(session, () => 3, nowSec);

  it('offers an address only while money may still be sent', () => {
    for (const [name, session] of Object.entries(SESSIONS)) {
      const payable = ['awaiting', 'underpaid', 'seen in part', 'wrong coin', 'wrong network', 'lost'].includes(name);
      expect(renderPage(inputOf(session)).includes('class="address'), name).toBe(payable);
      expect(stateOf(session).toSend !== null, name).toBe(payable);
    }
  });

  it('asks for what is missing, money on its way counted as arrived', () => {
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

  it('does not ask for a rest that the merchant forgives, but names the whole amount before anything came', () => {
    const forgiving = { ...OPEN, tolerance: '0.50' };
    const coming = { ...forgiving, status: 'processing' as const, deposits: [{ ...DEPOSIT, status: 'detected' as const }] };
    const toSend = (session: SessionView): string | null => pageStatus(session, () => 0, NOW_SEC).toSend;
    expect(toSend(forgiving)).toBe('10.80');
    expect(toSend({ ...coming, pending: '10.30' })).toBeNull();
    expect(toSend({ ...coming, pending: '10.29' })).toBe('0.51');
    expect(toSend({ ...coming, received: '5.00', pending: '5.30' })).toBeNull();
  });

  it('stops asking at the deadline by the server’s clock, before the session is judged', () => {
    expect(stateOf(OPEN, OPEN.expiresAtSec).state).toBe('awaiting');
    expect(stateOf(OPEN, OPEN.expiresAtSec + 1)).toMatchObject({ state: 'closing', toSend: null });
    expect(textOf(pageOf('closing'))).toContain('We are still looking for a transfer that you made in time.');
  });

  it('says what becomes of money that came after a cancel', () => {
    expect(textOf(pageOf('cancelled on its way'))).toContain('10.80 USDT is on its way. Once it is final');
    expect(textOf(pageOf('cancelled after it came'))).toContain('10.80 USDT arrived. The shop can return it');
  });

  it('says what paid, also when some of it or all of it was returned since', () => {
    const back = (amount: string) => ({ ...refund('COMPLETED'), amount });
    const returned = { ...SESSIONS.paid!, received: '0.00', paidWith: '10.80', refunds: [back('10.80')] };
    expect(textOf(renderPage(inputOf(returned)))).toContain('10.80 USDT received. Thank you. The shop returned 10.80 USDT');
    // Somebody paid 6.00, got it back, and another paid what was due.
    const before = { ...SESSIONS.paid!, received: '10.80', paidWith: '10.80', excess: '0.00', refunds: [back('6.00')] };
    expect(textOf(renderPage(inputOf(before)))).toContain('10.80 USDT received. Thank you.');
    const over = { ...SESSIONS.overpaid!, received: '11.30', paidWith: '12.00', excess: '0.50', refunds: [back('0.70')] };
    expect(textOf(renderPage(inputOf(over)))).toContain('11.30 USDT received, 0.50 USDT more than due');
    expect(textOf(renderReceipt(inputOf(returned), true))).toContain('The shop returned 10.80 USDT');
  });

  it('says after a cancel only what was not returned yet', () => {
    const returned = {
      ...SESSIONS['cancelled after it came']!,
      received: '0.00',
      refundable: '0.00',
      refunds: [{ ...refund('COMPLETED'), amount: '10.80' }],
    };
    expect(textOf(renderPage(inputOf(returned)))).not.toContain('10.80 USDT arrived');
  });

  it('never leads anywhere but to the addresses that the merchant named', () => {
    const evil = { ...OPEN, status: 'cancelled' as const, personal: { cancelUrl: 'javascript:alert(1)' } };
    expect(renderPage(inputOf(evil))).not.toContain('javascript:');
    expect(pageOf('paid')).toContain('href="https://shop.example/1"');
    expect(pageOf('cancelled')).toContain('href="https://shop.example/2"');
  });
});

describe('texts of merchants and payers', () => {
  const hostile = ['"><img src=x onerror=alert(1)>', '</script><script>alert(1)</script>', "' onfocus='alert(1)", '\u202etxet', 'a\u0000b\u200bc'];

  it('are inert in text and attributes', () => {
    for (const text of hostile) {
      const page = renderPage(
        inputOf(
          {
            ...OPEN,
            personal: { description: text, lineItems: [{ price_data: { currency: 'EUR', unit_amount: '1.00', product_data: { name: text } } }] },
          },
          undefined,
          { shop: { name: text, host: text } },
        ),
      );
      for (const trick of ['<img src=x', '<script>alert', '\u0000', '\u202e', '\u200b']) expect(page).not.toContain(trick);
      expect(page.match(/<script/g)).toHaveLength(2);
      expect(html`<p title="${text}"></p>`.text.split('"')).toHaveLength(3);
    }
  });

  it('cannot fill the page: names are cut', () => {
    const page = renderPage(inputOf(OPEN, undefined, { shop: { name: 'x'.repeat(10_000), host: null } }));
    expect(page).not.toContain('x'.repeat(81));
    expect(clip('👨‍👩‍👧'.repeat(3), 80)).toBe('👨‍👩‍👧'.repeat(3));
    expect([...clip('漢'.repeat(200), 80)]).toHaveLength(80);
  });
});

describe('the receipt', () => {
  it('says that test money is test money, on paper too', () => {
    const paid = SESSIONS.paid!;
    expect(renderReceipt(inputOf(paid, undefined, { sandbox: true, testMode: true }), true)).toContain(english.sandbox_band);
    expect(renderReceipt(inputOf(paid, undefined, { sandbox: false, testMode: true }), true)).toContain(english.test_band);
    expect(renderReceipt(inputOf(paid, undefined, { sandbox: false, testMode: false }), true)).not.toContain('class="band"');
  });
});

describe('the order', () => {
  it('lies open once nothing is to be sent, unless it is so long that it would hide the outcome', () => {
    const item = { price_data: { currency: 'EUR', unit_amount: '1.00', product_data: { name: 'Mug' } } };
    const withItems = (count: number): string => {
      const paid = SESSIONS.paid!;
      return renderPage(inputOf({ ...paid, personal: { ...paid.personal, lineItems: Array.from({ length: count }, () => item) } }));
    };
    expect(withItems(5)).toMatch(/<details class="order"\s+open>/);
    expect(withItems(6)).toMatch(/<details class="order"\s*>/);
    expect(pageOf('awaiting')).not.toMatch(/<details class="order"\s+open>/);
  });

  it('shows what several of an item cost together, exactly', () => {
    const item = (unit: string, quantity: number) => ({ price_data: { currency: 'EUR', unit_amount: unit, product_data: { name: '1' } }, quantity });
    const page = textOf(renderPage(inputOf({ ...OPEN, personal: { lineItems: [item('4.75', 2), item('0.1', 3), item('999999999999.99', 1e9)] } })));
    expect(page).toContain('€9.50');
    expect(page).toContain('€0.3');
    expect(page).toContain('€999,999,999,999,990,000,000.00');
  });
});
