import { expect, it } from 'vitest';
import { LINE_OF_TERMS, onOneLine } from '../../../src/domain/line-of-terms.ts';

it.each([
  'a',
  'paid twice',
  'é',
  'Zoë: 5 % off (order #12) – "sorry"',
  'nazione è chiusa',
  '返金',
  'ที่ชำระแล้ว',
  'རྒྱུ',
  'שָׁלֹ֔ום',
  'x'.repeat(500),
])('a line of terms may be %j', (text) => {
  expect(LINE_OF_TERMS.test(text)).toBe(true);
  expect(onOneLine(text)).toBe(text);
});

it.each([
  '',
  'x'.repeat(501),
  ' a',
  'a ',
  'a  b',
  '\u0301a',
  'a\nb',
  'a\u2028b',
  'a\u00a0b',
  'a\u200bb',
  'a\u202eb',
  'a\u3164b',
  'a\u2800b',
  'a\ufe0fb',
  // Blanks of musical notation and of hieroglyphs.
  'a\u{1d159}b',
  'a\u{13441}b',
  // Marks on top of one another, which cover the lines above.
  `a${'\u0300'.repeat(5)}b`,
  `amount: 1${'\u20e3\u0336'.repeat(40)}`,
])('a line of terms is not %j', (text) => {
  expect(LINE_OF_TERMS.test(text)).toBe(false);
});

it('what was typed becomes a line of terms', () => {
  for (const text of ['a  \u3164\u2800 b', '\u2028a\nb\u00a0', 'a\u00adb', ' a\ufe0f b', 'a\u{1d159}b'])
    expect(onOneLine(text)).toBe('a b');
  expect(onOneLine(`a${'\u0300'.repeat(300)}b`)).toBe(`a${'\u0300'.repeat(4)}b`);
});
