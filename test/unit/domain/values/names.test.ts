import { describe, expect, it } from 'vitest';
import { isPlainName, sameName } from '../../../../src/domain/values/names.ts';

describe('names that look alike are one name', () => {
  it.each([
    ['Ada', 'ADA'],
    ['Alice', 'AIice'],
    ['Alice', 'A1ice'],
    ['Bo', 'B0'],
    ['Arnold', 'Amold'],
    ['Walter', 'VValter'],
    ['Zoe', 'Zoë'],
    ['Ada Byron', 'Ada  Byron '],
    ['Ada', 'Ada.'],
    ['Ada Byron', 'Ada-Byron'],
    ['Ada Byron', 'ada_byron'],
    ['ada.byron', 'Ada Byron '],
    ['Ada', 'A\u200bda'],
    ['Ada', 'Ａｄａ'],
    ['merchant', 'rnerchant'],
  ])('%s and %s', (one, other) => {
    expect(sameName(one, other)).toBe(true);
  });

  it.each([
    ['Ada', 'Ida'],
    ['Ben', 'Ken'],
    ['Ada Byron', 'Ada'],
    ['Ada Byron', 'Adabyron'],
  ])('but not %s and %s', (one, other) => {
    expect(sameName(one, other)).toBe(false);
  });
});

it.each(['Evе', 'Αda', 'аdа', 'Ꭺda', ''])('a name in another script is not taken: %s', (name) => {
  expect(isPlainName(name)).toBe(false);
});

it.each(['Ada', 'Zoë', 'ada@shop.example', 'nonce-accounts'])('a name in Latin letters is taken: %s', (name) => {
  expect(isPlainName(name)).toBe(true);
});
