import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROLE_ACTIONS } from '../../src/console/access.ts';
import type { PersonRole } from '../../src/domain/events/person-events.ts';
import { must } from '../../src/domain/values/must.ts';
import { CHROMIUM } from '../support/browser.ts';
import { axe } from '../support/console-browser.ts';
import { actionOf, reachOf, type Ask, type Reach } from '../support/console-reach.ts';
import { ConsoleSandbox } from '../support/console-sandbox.ts';
import { PSEUDO, untranslatedIn } from '../support/untranslated.ts';

const A_DAY_MS = 86_400_000;
const PSEUDO_LANGUAGE = new URL('../support/pseudo-language.ts', import.meta.url).href;
/** Names, amounts, addresses and the words of the API, which are the same in every language. */
const IS_DATA = new RegExp(
  [
    '[\\d.,%-]+( (USDT|USDC|ETH|BNB|TRX|SOL))?',
    '(USDT|USDC|ETH|BNB|TRX|SOL)',
    '(ethereum|bsc|tron|solana|late|live|test|UTC|Quittance)( \\((live|test)\\))?',
    '\\S*[_:.@/]\\S*',
    '[\\w:@.-]+(, [\\w:@.-]+)+',
    'Mozilla/.*',
    '(GET|POST|PUT|DELETE)',
    '[a-z]+([A-Z][a-z]+)+',
    'Owner|Demo shop( \\(mer_\\w+\\))?|A ticket|Passkey 1|Reach \\d|order-[\\w-]+|finance|viewer|support|operator|approver|auditor',
    'command line|at the command line|the sandbox|the first person of a sandbox',
  ]
    .map((form) => `^(${form})$`)
    .join('|'),
);
const mayTake = (role: PersonRole, action: string | null): boolean =>
  action === null || ROLE_ACTIONS[role].some((allowed) => allowed === action);
/** Pages for everybody are led to where they are of use. */
const isOwnPage = (role: PersonRole, route: string): boolean =>
  actionOf(route) !== null && mayTake(role, actionOf(route));

describe.skipIf(CHROMIUM === undefined)('the pages of the console in a browser', () => {
  let at: ConsoleSandbox;
  beforeAll(async () => {
    at = await ConsoleSandbox.start({ NODE_OPTIONS: `--import ${PSEUDO_LANGUAGE}` });
  }, 180_000);
  afterAll(() => at?.close(), 60_000);

  it('no page violates an accessibility rule, light or dark', async () => {
    const { base_url: base, ops_url: ops, webhook_inbox: inbox, merchant } = at.sandbox.facts;
    const id = await at.paid('order-for-every-page');
    const parts = [
      '',
      '/keys',
      '/links',
      '/links/new',
      '/payments',
      `/payments/${id}`,
      '/requests',
      '/settings',
      '/statement',
      '/webhooks',
    ];
    const behindPasskey = [
      '/attention',
      '/actions',
      '/audit',
      '/books',
      '/canaries',
      '/chains',
      '/deliveries',
      '/me',
      '/merchants',
      '/people',
      '/search?q=x',
      '/service',
    ];
    const urls = [
      ...['/', '/docs/errors', `/pay/${id}`, `/pay/${id}/receipt`, `/pay/${id}/help`, `/pay/cs_${'a'.repeat(32)}`].map(
        (path) => base + path,
      ),
      ...[inbox, `${ops}/`],
      ...[
        '/',
        ...behindPasskey,
        '/treasury',
        '/unmatched',
        '/books/test',
        '/books/test/journal',
        '/books/test/months',
      ].map((path) => at.origin + path),
      ...parts.map((part) => `${at.origin}/m/${merchant.id}${part}`),
    ];
    const found: Record<string, readonly string[]> = {};
    const outside = await at.browser.newPage();
    const look = async (page: Page, url: string): Promise<void> => {
      const answer = await page.goto(url);
      expect([url, answer!.status()]).toEqual([url, url.includes('/pay/cs_a') ? 404 : 200]);
      await page.emulateMedia({ colorScheme: 'light' });
      found[url] = await axe(page);
      // Dark mode changes nothing but colours.
      await page.emulateMedia({ colorScheme: 'dark' });
      found[`${url} dark`] = await axe(page, ['color-contrast']);
    };
    const lookAt = async (page: Page, all: readonly string[]): Promise<void> => {
      for (const url of all) await look(page, url);
    };
    const ofConsole = urls.filter((url) => url.startsWith(at.origin));
    const middle = Math.ceil(ofConsole.length / 2);
    const beside = await at.owner.context.newPage();
    await Promise.all([
      lookAt(at.owner.page, ofConsole.slice(0, middle)),
      lookAt(beside, ofConsole.slice(middle)),
      lookAt(
        outside,
        urls.filter((url) => !url.startsWith(at.origin)),
      ),
    ]);
    await Promise.all([outside.close(), beside.close()]);
    expect(Object.fromEntries(Object.entries(found).filter(([, faults]) => faults.length > 0))).toEqual({});
    expect(at.owner.complaints).toEqual([]);
  }, 120_000);

  it('every link and button that is shown to a role leads somewhere, and every page of the role is led to', async () => {
    const { merchant } = at.sandbox.facts;
    await at.late('order-for-every-role');
    const priced = { merchant_id: merchant.id, amount: '7.50', currency: 'USDT', description: 'A ticket', by: 'Owner' };
    await at.command('payment-link.create', priced);
    const ofMerchant = `:${merchant.id}`;
    const roles: readonly (readonly [PersonRole, string])[] = [
      ['viewer', ''],
      ['support', ''],
      ['support', ofMerchant],
      ['merchant_admin', ofMerchant],
      ['finance', ''],
      ['operator', ''],
      ['approver', ''],
      ['auditor', `@${new Date(Date.now() + A_DAY_MS).toISOString().slice(0, 10)}`],
    ];
    const seen = new Map<string, Reach>();
    for (const [role, scope] of roles) {
      const { context } = await at.invited(`Reach ${seen.size}`, role + scope);
      const ask: Ask = async (path) => {
        const answer = await context.request.get(at.origin + path);
        return { status: answer.status(), url: answer.url(), text: await answer.text() };
      };
      seen.set(role + scope, await reachOf(ask, (action) => mayTake(role, action)));
      await context.close();
    }
    const routes = new Set([...seen.values()].flatMap(({ pages }) => [...pages.keys()]));
    for (const kind of ['/unmatched/:transfer', '/m/:merchant/links/:link', '/books/:mode/account'])
      expect(routes).toContain(kind);
    for (const [role, scope] of roles) {
      const { pages, deadEnds } = must(seen.get(role + scope));
      const missing = [...routes].filter((route) => !pages.has(route) && isOwnPage(role, route));
      expect({ role: role + scope, deadEnds, missing }).toEqual({ role: role + scope, deadEnds: [], missing: [] });
    }
  }, 120_000);

  it('every word of every page can be translated', async () => {
    const ask: Ask = async (path) => {
      const answer = await at.owner.context.request.get(at.origin + path, { headers: { 'accept-language': PSEUDO } });
      const text = await answer.text();
      if (answer.headers()['content-type']?.startsWith('text/html') === true)
        for (const piece of untranslatedIn(text)) left.set(piece, path);
      return { status: answer.status(), url: answer.url(), text };
    };
    const left = new Map<string, string>();
    const { pages } = await reachOf(ask, () => true);
    expect(pages.size).toBeGreaterThan(20);
    expect(Object.fromEntries([...left].filter(([piece]) => !IS_DATA.test(piece)))).toEqual({});
  }, 120_000);

  it('a page refreshes itself, and keeps what is being written, opened and read', async () => {
    const { page } = at.owner;
    const { merchant } = at.sandbox.facts;
    const id = await at.created('order-to-watch');
    await page.setViewportSize({ width: 900, height: 120 });
    await page.goto(`${at.origin}/m/${merchant.id}/payments`);
    await page.getByLabel('Order').fill('half a word');
    const row = page.locator('tr', { hasText: 'order-to-watch' });
    await page.evaluate(
      `[...document.querySelectorAll('tr')].find((row) => row.textContent.includes('order-to-watch')).scrollIntoView()`,
    );
    const { y } = (await row.boundingBox())!;
    await at.created('order-of-somebody-else');
    await page.getByText('order-of-somebody-else').waitFor();
    expect(Math.abs((await row.boundingBox())!.y - y)).toBeLessThan(2);
    expect(await page.getByLabel('Order').inputValue()).toBe('half a word');
    await page.goto(`${at.origin}/m/${merchant.id}/payments/${id}`);
    await page.locator('main summary').first().click();
    await page.mouse.move(1, 1);
    await at.asked('POST', `/api/v1/checkout/sessions/${id}/cancel`, {});
    await page.locator('main .badge', { hasText: 'cancelled' }).first().waitFor();
    expect(await page.locator('main details').first().getAttribute('open')).toBe('');
    await page.setViewportSize({ width: 1280, height: 720 });
  }, 60_000);
});
