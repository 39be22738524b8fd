import fc from 'fast-check';
import { expect, it } from 'vitest';
import { deepLinks } from '../../src/checkout/deep-links.ts';
import { renderHelp } from '../../src/checkout/help.ts';
import { LANGUAGES } from '../../src/checkout/languages.ts';
import { renderFallback } from '../../src/checkout/page/fallback.ts';
import type { PageInput } from '../../src/checkout/page/input.ts';
import { pageStatus } from '../../src/checkout/page/model.ts';
import { renderPage } from '../../src/checkout/page/page.ts';
import { renderReceipt } from '../../src/checkout/receipt.ts';
import { Speech } from '../../src/checkout/speech.ts';
import { FIAT_CODES, maxDecimals } from '../../src/domain/money/currencies.ts';
import { formatAmount } from '../../src/domain/money/money.ts';
import { personalOf } from '../../src/features/sessions/create.ts';
import type { SessionView } from '../../src/features/shared/views.ts';
import { createInput } from '../../src/http/routes/create-input.ts';
import { createSessionBody } from '../../src/http/schemas/session.schema.ts';
import { validate } from '../../src/http/validation.ts';
import { FACTS, NOW_SEC, SESSIONS } from '../support/page-sessions.ts';
import { runsOf } from '../support/runs.ts';

/* What the API accepts, the payment page can show: every state, in every language. */

const text = (maxLength: number) => fc.string({ unit: 'grapheme', minLength: 1, maxLength });
const currency = fc.constantFrom(...FIAT_CODES, 'USDT', 'USDC', 'eur', 'usdt');
const amountWith = (decimals: number) =>
  fc.oneof(
    fc
      .bigInt(0n, 10n ** BigInt(12 + decimals) - 1n)
      .map((units) => formatAmount(units * 10n ** BigInt(18 - decimals), 0)),
    fc.constantFrom('0', '1', '2', '999999999999'),
  );
const quantity = fc.oneof(
  fc.integer({ min: 1, max: 1e9 }),
  fc.integer({ min: 1, max: 1e15 }).map((millionths) => millionths / 1e6),
  fc.constantFrom(1e-6, 1e-7, 0.1 + 0.2, 0.30000000000000004 - 0.3, 1e9, 5e-324),
);
const lineItem = fc.record(
  {
    price_data: fc.record({
      currency,
      unit_amount: amountWith(18),
      product_data: fc.record({ name: text(20), description: text(20) }, { requiredKeys: ['name'] }),
    }),
    quantity,
  },
  { requiredKeys: ['price_data'] },
);
const url = fc.constantFrom('https://shop.example/a?b={SESSION_ID}&c={ORDER_ID}', 'http://localhost/');
const order = currency.chain((priced) => {
  const amount = amountWith(maxDecimals(priced.toUpperCase()));
  return fc.record(
    {
      ...{ amount, tax_amount: amount, shipping_amount: amount, currency: fc.constant(priced), order_id: text(40) },
      description: text(60),
      line_items: fc.array(lineItem, { maxLength: 4 }),
      amounts_differ: fc.constantFrom(true, true, false),
      success_url: url,
      cancel_url: url,
    },
    { requiredKeys: ['amount', 'currency', 'order_id', 'amounts_differ'] },
  );
});
/** From a millionth of the coin to the most that an order can cost. */
const due = fc.bigInt(1n, 10n ** 18n).map((millionths) => formatAmount(millionths * 10n ** 12n));

const inputOf = (session: SessionView, speech: Speech, embeddedBy: string | null): PageInput => ({
  session,
  coin: null,
  status: pageStatus(session, FACTS),
  speech,
  shop: { name: 'Shop', host: null, logo: null, contact: null },
  finalityOf: FACTS.finalityOf,
  newAttempt: null,
  linksOf: (option, rest) => deepLinks(option, rest, { pageUrl: 'https://pay.example/pay/cs_1', mainNetwork: true }),
  simulated: new Set(),
  sandbox: true,
  testMode: true,
  nowMs: NOW_SEC * 1000,
  embeddedBy,
  asset: (name) => `/${name}`,
  explorerUrl: () => null,
});

it('every order that is accepted can be shown in every state and language', () => {
  let accepted = 0;
  fc.assert(
    fc.property(
      order,
      due,
      fc.constantFrom(...Object.keys(SESSIONS)),
      fc.constantFrom(...LANGUAGES),
      fc.boolean(),
      (body, dueAmount, state, language, converted) => {
        const parsed = validate(createSessionBody, body, 'body');
        const input = parsed.ok ? createInput(parsed.value, 'test') : parsed;
        if (!input.ok || input.value.mismatch) return;
        accepted += 1;
        const { orderId, amount: total, currency: priced, taxAmount = null, shippingAmount = null } = input.value;
        const base = SESSIONS[state]!;
        const session: SessionView = {
          ...base,
          ...{ orderId, amount: total, currency: priced, taxAmount, shippingAmount, dueAmount },
          rateLock: converted ? base.rateLock : null,
          personal: personalOf(input.value),
        };
        const speech = new Speech(language);
        const page = renderPage(inputOf(session, speech, null));
        renderPage(inputOf(session, speech, 'https://shop.example'));
        renderReceipt(inputOf(session, speech, null), true);
        renderHelp(inputOf(session, speech, null), null);
        renderFallback(session, NOW_SEC, speech);
        expect(page).not.toMatch(/\bNaN\b|\bundefined\b(?![^<]*<\/script>)/);
      },
    ),
    { numRuns: runsOf(300) },
  );
  expect(accepted).toBeGreaterThan(50);
});
