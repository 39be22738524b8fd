import { describe, expect, it } from 'vitest';
import { inCoin } from '../../../src/features/shared/coin-choice.ts';
import { createSessionPresenter } from '../../../src/http/presenters/session.presenter.ts';
import { CHOICE, OPEN } from '../../support/page-sessions.ts';
import { servePages } from '../../support/served-pages.ts';

const presented = createSessionPresenter({
  publicUrl: 'https://pay.example',
  networks: () => [],
  deepLinks: (option, amount, { pageUrl }) => ({ link: `${option.coin} ${amount} ${pageUrl}` }),
}).session;

describe('a session whose payer chooses the coin', () => {
  it('shows the requested coin, and switches back', () => {
    expect(inCoin(CHOICE, undefined)).toBe(CHOICE);
    expect(inCoin(CHOICE, 'USDT')).toBe(CHOICE);
    expect(inCoin(OPEN, 'USDC')).toBe(OPEN);
    const other = inCoin(CHOICE, 'USDC');
    expect(other).toMatchObject({
      dueCoin: 'USDC',
      dueAmount: '10.79',
      rateLock: { rate: '1.079' },
      alternative: { dueCoin: 'USDT', dueAmount: '10.80' },
    });
    expect(inCoin(other, 'USDT')).toEqual(CHOICE);
  });

  it('gives the merchant the amount due in the other coin, in the same fields, and nothing if there is no choice', () => {
    const { alternative, ...answer } = presented(CHOICE);
    expect(answer).toEqual(presented(OPEN));
    expect(alternative).toMatchObject({
      exchange_rate: '1.079',
      target_currency: 'USDC',
      target_amount_total: '10.79',
      rate_locked_at: CHOICE.createdAtSec,
    });
    const [option] = alternative!.payment_options;
    const page = `https://pay.example/pay/${OPEN.sessionId}?coin=USDC`;
    expect(option).toMatchObject({
      network: 'ethereum',
      coin: 'USDC',
      amount: '10.79',
      deep_links: { link: `USDC 10.79 ${page}` },
    });
    expect(option!.address).toBe(answer.payment_options[0]!.address);
    expect(presented(OPEN)).not.toHaveProperty('alternative');
  });

  it('shows each coin on a page of its own, and keeps it in every URL of that page', async () => {
    const served = await servePages(CHOICE);
    try {
      const read = async (query: string): Promise<string> => (await fetch(`${served.url}${query}`)).text();
      const usdc = await read('?coin=usdc&lang=en');
      expect(/<h1[^>]*>(.*?)<\/h1>/s.exec(usdc)![1]!.replaceAll(/<[^>]*>/g, '')).toBe('Pay 10.79 USDC');
      expect(usdc).toContain('data-units="10790000"');
      expect(usdc).toContain(CHOICE.alternative!.paymentOptions[0]!.tokenAddress);
      expect(usdc).not.toContain(OPEN.paymentOptions[0]!.tokenAddress);
      for (const address of usdc.matchAll(
        new RegExp(`(data-events|data-status|data-page|href)="(/pay/${OPEN.sessionId}[^"]*)"`, 'g'),
      ))
        expect(address[2], address[1]).toMatch(/[?&;]coin=USD[CT]/);
      expect(usdc).toContain(`href="/pay/${OPEN.sessionId}?coin=USDT&amp;lang=en"`);
      // A page without a coin in its address follows the session, live as after a reload.
      expect(await read('?lang=en')).toMatch(/data-events="[^"]*events\?lang=en"/);
      const status = (await (await fetch(`${served.url}/status?coin=USDC&lang=en`)).json()) as { page: object };
      expect(status.page).toMatchObject({ headline: 'Pay 10.79 USDC', amount_due: '10.79' });
      const help = (await read('/help?lang=en')).replaceAll(/<[^>]*>/g, '').replaceAll(/\s+/g, ' ');
      expect(help).toContain('10.80 USDT / 10.79 USDC');

      // Once the choice is made, every address shows the coin that came.
      served.show({
        ...OPEN,
        dueCoin: 'USDC',
        dueAmount: '10.79',
        received: '5.00',
        paymentOptions: CHOICE.alternative!.paymentOptions,
      });
      for (const query of ['?lang=en', '?coin=USDT&lang=en', '?coin=USDC&lang=en', '?coin=nonsense&lang=en']) {
        const page = await read(query);
        expect(page, query).toContain('5.79 USDC');
        expect(page, query).not.toContain('class="coins"');
      }
    } finally {
      await served.close();
    }
  });
});
