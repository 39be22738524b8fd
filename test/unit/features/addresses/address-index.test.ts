import fc from 'fast-check';
import { getAddress } from 'ethers';
import { describe, expect, test } from 'vitest';
import { base32, type SessionId } from '../../../../src/domain/values/ids.ts';
import { AddressIndex } from '../../../../src/features/addresses/address-index.ts';
import { AddressFilter } from '../../../../src/features/addresses/filter.ts';
import { StoreUnavailable } from '../../../../src/ports/event-log/event-store.ts';
import { base58 } from '../../../../src/chain-formats/base58.ts';

const bytes = (length: number): fc.Arbitrary<Uint8Array> => fc.uint8Array({ minLength: length, maxLength: length });
const hexOf = (value: Uint8Array): string => Buffer.from(value).toString('hex');
const sessionOf = (value: Uint8Array): SessionId => `cs_${base32(value)}` as SessionId;
/** Deterministic bytes that differ for every number. */
const numbered = (number: number, length: number): Uint8Array => {
  const result = new Uint8Array(length);
  let state = number * 2_654_435_761 + 1;
  for (let at = 0; at < length; at += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    result[at] = state >>> 24;
  }
  new DataView(result.buffer).setUint32(0, number);
  return result;
};
const evm = (value: Uint8Array): string => `0x${hexOf(value)}`;
const SESSION = sessionOf(new Uint8Array(20));

describe('the address index', () => {
  test('gives every address back with its session, whatever was added between', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.tuple(bytes(20), bytes(20)), {
          minLength: 1,
          maxLength: 200,
          selector: ([address]) => hexOf(address),
        }),
        (pairs) => {
          const index = new AddressIndex('evm');
          for (const [address, session] of pairs) index.add(evm(address), sessionOf(session));
          return (
            index.recent === pairs.length &&
            pairs.every(([address, session]) => index.sessionOf(evm(address)) === sessionOf(session))
          );
        },
      ),
    );
  });

  test('matches no foreign address, even when it holds many', () => {
    const index = new AddressIndex('evm');
    for (let number = 0; number < 20_000; number += 1)
      index.add(evm(numbered(number, 20)), sessionOf(numbered(number, 20)));
    for (let number = 0; number < 20_000; number += 1) {
      expect(index.sessionOf(evm(numbered(number, 20)))).toBe(sessionOf(numbered(number, 20)));
      expect(index.has(evm(numbered(number + 20_000, 20)))).toBe(false);
    }
  });

  test('distinguishes addresses that share all but one byte', () => {
    const index = new AddressIndex('evm');
    const base = numbered(7, 20);
    index.add(evm(base), SESSION);
    for (let at = 0; at < 20; at += 1) {
      const near = Uint8Array.from(base);
      near[at]! ^= 1;
      expect(index.has(evm(near))).toBe(false);
    }
  });

  test('reads EVM addresses in any case', () => {
    const index = new AddressIndex('evm');
    const checksummed = getAddress(evm(numbered(3, 20)));
    index.add(checksummed, SESSION);
    for (const text of [checksummed, checksummed.toLowerCase(), `0x${checksummed.slice(2).toUpperCase()}`])
      expect(index.sessionOf(text)).toBe(SESSION);
  });

  test.each([
    '',
    '0x',
    '0x12',
    'zz'.repeat(21),
    `0x${'g'.repeat(40)}`,
    `0x${'é'.repeat(40)}`,
    '0'.repeat(42),
    `0x${'0'.repeat(41)}`,
    'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t',
  ])('does not take %j for an EVM address', (text) => {
    const index = new AddressIndex('evm');
    index.add(evm(new Uint8Array(20)), SESSION);
    expect(index.has(text)).toBe(false);
    expect(() => index.add(text, SESSION)).toThrow(/not a evm address/);
  });

  test('reads TRON addresses in base58, in hex with 41 and in the hex of logs, and keeps the case of base58', () => {
    const index = new AddressIndex('tron');
    index.add('TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t', SESSION);
    const hex = 'a614f803b6fd780986a42c78ec9c7f77e6ded13c';
    for (const text of [`41${hex}`, hex, `0x${hex}`, hex.toUpperCase()]) expect(index.sessionOf(text)).toBe(SESSION);
    expect(index.has('tr7nhqjekqxgtci8q8zy4pl8otszgjlj6t')).toBe(false);
    expect(index.has(`42${hex}`)).toBe(false);
  });

  test('reads Solana addresses with any number of leading zeros', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 32 }), bytes(32), (zeros, value) => {
        value.fill(0, 0, zeros);
        const index = new AddressIndex('solana');
        index.add(base58(value), SESSION);
        const near = Uint8Array.from(value);
        near[31]! ^= 1;
        return (
          index.sessionOf(base58(value)) === SESSION && !index.has(base58(near)) && !index.has(`1${base58(value)}`)
        );
      }),
    );
  });

  test('accepts the same address again for the same session, but never for another one', () => {
    const index = new AddressIndex('evm');
    const address = evm(numbered(1, 20));
    index.add(address, SESSION);
    index.add(address.toUpperCase().replace('0X', '0x'), SESSION);
    expect(index.recent).toBe(1);
    expect(() => index.add(address, sessionOf(numbered(2, 20)))).toThrow(/assigned twice/);
  });

  test('filters hex texts without losing one of ours', () => {
    const index = new AddressIndex('evm');
    for (let number = 0; number < 3_000; number += 3) index.add(evm(numbered(number, 20)), SESSION);
    const topics = Array.from({ length: 3_000 }, (_, number) => `0x${'0'.repeat(24)}${hexOf(numbered(number, 20))}`);
    const found = index.isOurs.sift!(topics);
    expect(topics.flatMap((_, number) => (number % 3 === 0 ? [number] : []))).toEqual(
      found.filter((number) => number % 3 === 0),
    );
    expect(found.filter((number) => number % 3 !== 0).length).toBeLessThan(600);
    expect(index.isOurs.sift!(['', '0x'])).toEqual(expect.any(Array));
  });

  test('writes each address as the look-ups do, and reads from them what memory lacks', () => {
    const asked: string[] = [];
    const filter = new AddressFilter();
    for (const [family, given, other, written] of [
      [
        'evm',
        getAddress(evm(numbered(5, 20))),
        evm(numbered(5, 20)).toUpperCase().replace('0X', '0x'),
        evm(numbered(5, 20)),
      ],
      [
        'tron',
        'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t',
        '0xa614f803b6fd780986a42c78ec9c7f77e6ded13c',
        'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t',
      ],
      ['solana', base58(numbered(5, 32)), base58(numbered(5, 32)), base58(numbered(5, 32))],
    ] as const) {
      const index = new AddressIndex(family, {
        filter,
        seed: 1,
        stored: (address) => {
          asked.push(address);
          return { sessionId: SESSION, isWhole: true };
        },
      });
      index.add(given, SESSION);
      index.settle(written);
      expect(index.recent).toBe(0);
      expect(index.sessionOf(other)).toBe(SESSION);
      expect(asked.pop()).toBe(written);
    }
  });

  test('throws rather than treat one of our addresses as foreign while the look-ups cannot tell', () => {
    let isWhole = true;
    const index = new AddressIndex('evm', {
      filter: new AddressFilter(),
      seed: 0,
      stored: () => ({ sessionId: null, isWhole }),
    });
    const address = evm(numbered(1, 20));
    index.settle(address);
    expect(index.has(address)).toBe(false);
    isWhole = false;
    expect(() => index.has(address)).toThrow(StoreUnavailable);
    expect(index.has(evm(numbered(2, 20)))).toBe(false);
    index.add(address, SESSION);
    expect(index.sessionOf(address)).toBe(SESSION);
  });

  test('an address of another mode or family does not match, and costs no disk access', () => {
    const filter = new AddressFilter();
    const [one, other] = [1, 2].map(
      (seed) =>
        new AddressIndex('evm', {
          filter,
          seed,
          stored: () => {
            throw new Error('not asked');
          },
        }),
    ) as [AddressIndex, AddressIndex];
    one.add(evm(numbered(1, 20)), SESSION);
    expect([one.has(evm(numbered(1, 20))), other.has(evm(numbered(1, 20)))]).toEqual([true, false]);
  });
});
