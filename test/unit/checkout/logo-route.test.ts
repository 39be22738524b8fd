import { afterEach, expect, it } from 'vitest';
import { servePages, type ServedPages } from '../../support/served-pages.ts';
import { OPEN } from '../../support/page-sessions.ts';

const LOGO = { png: Buffer.from('a picture'), version: '0123456789abcdef', width: 160, height: 80 };

let pages: ServedPages;
afterEach(() => pages.close());

it("the shop's logo is served by the page itself and cached while it stays the same", async () => {
  pages = await servePages(OPEN, { logo: LOGO });
  const page = await (await fetch(pages.url)).text();
  const address = `/pay/${OPEN.sessionId}/logo.png?${LOGO.version}`;
  expect(page).toContain(`<img src="${address}" alt="" width="160" height="80" />`);
  expect(await (await fetch(`${pages.url}/receipt`)).text()).toContain(address);
  const answer = await fetch(new URL(address, pages.url));
  expect(Buffer.from(await answer.arrayBuffer())).toEqual(LOGO.png);
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    'content-type': 'image/png',
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin',
    'cache-control': 'private, max-age=31536000, immutable',
  });
  expect((await fetch(`${pages.url}/logo.png?another`)).headers.get('cache-control')).toBe('no-store');
});

it('a shop without a logo has no logo route', async () => {
  pages = await servePages(OPEN);
  expect(await (await fetch(pages.url)).text()).not.toContain('logo.png');
  expect((await fetch(`${pages.url}/logo.png`)).status).toBe(404);
});
