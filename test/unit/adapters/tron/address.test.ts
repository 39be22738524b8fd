import { describe, expect, it } from 'vitest';
import { TronWeb } from 'tronweb';
import { accountOf, accountOfBase58, toBase58Address } from '../../../../src/adapters/tron/address.ts';
import { addressHexOf, base58Of } from '../../../../src/sandbox/tron-facade/tron-codec.ts';

const USDT = 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t';
const USDT_ACCOUNT = 'a614f803b6fd780986a42c78ec9c7f77e6ded13c';
/** The key pair and addresses that TRON's own documentation works its examples with. */
const DOCUMENTED = { hex: '41e552f6487585c2b58bc2c9bb4492bc1f17132cd0', base58: 'TWsm8HtU2A5eEzoT8ev8yaoFjHsXLLrckb' };

describe('a TRON address', () => {
  it('reads the same account in every form a node writes', () => {
    for (const form of [
      USDT,
      USDT_ACCOUNT,
      `41${USDT_ACCOUNT}`,
      `0x${USDT_ACCOUNT}`,
      `41${USDT_ACCOUNT}`.toUpperCase(),
    ]) {
      expect(accountOf(form)).toBe(USDT_ACCOUNT);
    }
  });

  it('is written as tronweb and the sandbox write it', () => {
    for (const hex of [DOCUMENTED.hex, `41${USDT_ACCOUNT}`, `41${'00'.repeat(20)}`, `41${'ff'.repeat(20)}`]) {
      const base58 = toBase58Address(hex.slice(2));
      expect(base58).toBe(TronWeb.address.fromHex(hex));
      expect(base58).toBe(base58Of(hex));
      expect(`41${accountOfBase58(base58)}`).toBe(TronWeb.address.toHex(base58).toLowerCase());
      expect(addressHexOf(base58)).toBe(hex);
    }
    expect(toBase58Address(DOCUMENTED.hex.slice(2))).toBe(DOCUMENTED.base58);
  });

  it('is refused when one character is wrong, missing or foreign', () => {
    const wrong = [
      USDT.replace('7', '8'),
      USDT.slice(0, -1),
      `${USDT}1`,
      USDT.replace('N', '0'),
      '',
      'T',
      USDT_ACCOUNT.slice(1),
      `42${USDT_ACCOUNT}`,
    ];
    for (const text of wrong) expect(accountOf(text)).toBeNull();
  });
});
