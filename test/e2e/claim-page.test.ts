import { createPrivateKey, sign } from 'node:crypto';
import { Keypair } from '@solana/web3.js';
import { Wallet } from 'ethers';
import type { Browser, Page } from 'playwright-core';
import { TronWeb } from 'tronweb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { claimText } from '../../src/domain/claims.ts';
import type { Network } from '../../src/domain/networks/networks.ts';
import type { ClaimInput, PayerClaims } from '../../src/features/shared/claim-views.ts';
import { isSignedByWallet } from '../../src/chain-formats/wallet-signature.ts';
import { CLAIMABLE, CLAIMS_API, DEPOSIT, PAYEE, SESSIONS } from '../support/page-sessions.ts';
import { eventually } from '../support/running-sandbox.ts';
import { servePages, type ServedPages } from '../support/served-pages.ts';
import { CHROMIUM, openBrowser } from '../support/browser.ts';
import { violations } from './checkout-world.ts';

/* What only a browser shows of the page of a claim: wallets that sign, its policy, and how it looks. */

const KEY = '11'.repeat(32);
const solana = Keypair.fromSeed(Buffer.from(KEY, 'hex'));
const solanaKey = createPrivateKey({
  key: Buffer.from(`302e020100300506032b657004220420${KEY}`, 'hex'),
  format: 'der',
  type: 'pkcs8',
});
const SIGNERS: Partial<
  Record<Network, { from: string; sign: (text: string) => string | Promise<string>; inject: string }>
> = {
  bsc: {
    from: new Wallet(KEY).address,
    sign: (hex) => new Wallet(KEY).signMessage(Buffer.from(hex.slice(2), 'hex')),
    inject: `window.ethereum = { request: async ({ method, params }) => {
      if (method === 'eth_requestAccounts') return [window.accountOf];
      if (method === 'personal_sign' && params[1].toLowerCase() === window.accountOf.toLowerCase()) return window.signOutside(params[0]);
      throw new Error(method);
    } };`,
  },
  tron: {
    from: TronWeb.address.fromPrivateKey(KEY) as string,
    sign: (text) => new TronWeb({ fullHost: 'http://127.0.0.1:1' }).trx.signMessageV2(text, KEY),
    inject: `window.tronLink = {
      tronWeb: { defaultAddress: { base58: window.accountOf }, trx: { signMessageV2: (text) => window.signOutside(text) } },
      request: async () => ({ code: 200 }),
    };`,
  },
  solana: {
    from: solana.publicKey.toBase58(),
    sign: (base64) => sign(null, Buffer.from(base64, 'base64'), solanaKey).toString('base64'),
    inject: `addEventListener('wallet-standard:app-ready', ({ detail }) => detail.register({
      name: 'Signer', chains: [], features: {
        'standard:connect': { connect: async () => ({ accounts: [{ address: window.accountOf, chains: [] }] }) },
        'solana:signMessage': { signMessage: async ({ message }) => {
          const signed = await window.signOutside(btoa(String.fromCharCode(...message)));
          return [{ signature: Uint8Array.from(atob(signed), (character) => character.charCodeAt(0)) }];
        } },
      },
    }));`,
  },
};

describe.skipIf(CHROMIUM === undefined)('the claim page', () => {
  let browser: Browser;
  let served: ServedPages;
  const filed: ClaimInput[] = [];
  let claimable = CLAIMABLE;

  const api: PayerClaims = {
    claimsOf: async (id) => ({ ...(await CLAIMS_API.claimsOf(id))!, claimable: [claimable] }),
    prepareClaim: (sessionId, { payee }) => {
      const number = 'A'.repeat(22);
      const { network, coin, amount } = claimable;
      const text = claimText({
        sessionId,
        mode: 'test',
        network,
        depositKey: DEPOSIT.depositKey,
        coin,
        amount,
        payee,
        number,
      });
      return Promise.resolve({ ok: true, value: { claimable, payee, number, text } });
    },
    fileClaim: async (id, input) => {
      const prepared = await api.prepareClaim(id, input);
      const isProven =
        prepared.ok &&
        (await isSignedByWallet(claimable.network, claimable.fromAddress!, prepared.value.text, input.signature!));
      if (!isProven) return CLAIMS_API.fileClaim(id, input);
      filed.push(input);
      return { ok: true, value: (await CLAIMS_API.claimsOf(id))!.claims[0]! };
    },
  };

  beforeAll(async () => {
    browser = await openBrowser();
    served = await servePages(SESSIONS['late']!, {}, { api, burst: 1000 });
  });
  afterAll(async () => {
    await browser?.close();
    await served?.close();
  });

  const toSign = async (page: Page): Promise<void> => {
    await page.goto(`${served.url}/claim`);
    await page.locator('main summary').click();
    await page.locator('[name=payee]').fill(PAYEE);
    await page.getByRole('button', { name: 'Continue' }).click();
  };

  it.each(Object.entries(SIGNERS))(
    'a wallet on %s signs the text on the page, with the account that paid and no other',
    async (network, signer) => {
      claimable = { ...CLAIMABLE, network: network as Network, fromAddress: signer.from };
      filed.length = 0;
      const context = await browser.newContext();
      const page = await context.newPage();
      const complaints: string[] = [];
      page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
      await page.exposeFunction('signOutside', signer.sign);
      await page.addInitScript(`window.accountOf = ${JSON.stringify(PAYEE)}; ${signer.inject}`);
      await toSign(page);
      await page.getByRole('button', { name: /^Sign with/ }).click();
      await page.locator('.said.bad', { hasText: `Choose the account ${signer.from}` }).waitFor();
      expect(filed).toEqual([]);
      await page.addInitScript(`window.accountOf = ${JSON.stringify(signer.from)}; ${signer.inject}`);
      await toSign(page);
      await page.getByRole('button', { name: /^Sign with/ }).click();
      await eventually('the claim', () => Promise.resolve(filed.length > 0));
      expect(filed).toMatchObject([{ payee: PAYEE, evidence: 'signature', signature: expect.stringMatching(/^0x/) }]);
      expect(complaints).toEqual([]);
      await context.close();
    },
    30_000,
  );

  it('breaks no rule of accessibility and fits a small phone, light and dark, from right to left', async () => {
    claimable = CLAIMABLE;
    const page = await browser.newPage({ viewport: { width: 360, height: 740 } });
    for (const [language, colorScheme] of [
      ['en', 'dark'],
      ['ar', 'light'],
    ] as const) {
      await page.emulateMedia({ colorScheme });
      const check = async (name: string): Promise<void> => {
        expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), `${name} ${language}`).toBe(
          true,
        );
        expect(await violations(page), `${name} ${language}`).toEqual([]);
      };
      await page.goto(`${served.url}/claim?lang=${language}`);
      await page.locator('main summary').click();
      await check('claim');
      await page.locator('[name=payee]').fill(PAYEE);
      await page.locator('form .button').click();
      await page.locator('[name=signature]').fill('0x12');
      await page.locator('form .button').click();
      await page.locator('[role=alert]').waitFor();
      await check('refused');
    }
    await page.close();
  }, 60_000);
});
