import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { amountOf, formatAmount, parseAmount } from '../../src/domain/money/money.ts';
import { paddedAmount } from '../../src/http/presenters/amount-text.ts';
import { amountText, positiveAmountText, readReturnUrl } from '../../src/http/schemas/words.schema.ts';
import { runsOf } from '../support/runs.ts';

const digits = fc.stringMatching(/^[0-9.]{0,20}$/);
const noise = fc.oneof(fc.string({ maxLength: 20 }), digits, fc.stringMatching(/^[0-9.eE+\-_x ]{0,12}$/));
const normalAmount = fc.stringMatching(/^(0|[1-9]\d{0,11})(\.\d{1,18})?$/);

describe('amounts on the wire', () => {
  it('are accepted exactly when the domain can read them', () => {
    fc.assert(
      fc.property(fc.oneof(noise, normalAmount), (text) => {
        const units = parseAmount(text);
        expect(amountText.safeParse(text).success).toBe(units !== null);
        expect(positiveAmountText.safeParse(text).success).toBe(units !== null && units > 0n);
      }),
      { numRuns: runsOf(3000) },
    );
  });

  it('are padded without changing their value, as the domain writes them', () => {
    fc.assert(
      fc.property(normalAmount, fc.integer({ min: 0, max: 3 }), (text, decimals) => {
        expect(paddedAmount(text, decimals)).toBe(formatAmount(amountOf(text), decimals));
      }),
      { numRuns: runsOf(3000), examples: [['1.0', 0]] },
    );
  });
});

describe('return URLs', () => {
  it('that are accepted are https to a host without a user name, however they are written', () => {
    const part = fc.constantFrom(
      'https',
      'http',
      'javascript',
      ':',
      '/',
      '//',
      '\\',
      '@',
      'shop.example',
      'evil.com',
      'localhost',
      ' ',
      '\n',
      '?',
      '#',
      'a',
      '%',
      '[::1]',
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(part, { maxLength: 10 }).map((parts) => parts.join('')),
          fc.webUrl(),
          fc.string(),
        ),
        (text) => {
          const read = readReturnUrl(text);
          if ('fault' in read) return;
          const url = new URL(text);
          expect(read.href).toBe(url.href);
          expect(
            url.protocol === 'https:' ||
              (url.protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname)),
          ).toBe(true);
          expect([url.username, url.password]).toEqual(['', '']);
          expect(text.toLowerCase().startsWith(`${url.protocol}//`)).toBe(true);
        },
      ),
      { numRuns: runsOf(5000) },
    );
  });
});
