import { describe, expect, it } from 'vitest';
import { comparableAddress } from '../../../../src/domain/networks/networks.ts';

describe('comparing addresses', () => {
  it('are one in any letter case on EVM networks alone', () => {
    const checksummed = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed';
    expect(comparableAddress('evm', checksummed)).toBe(comparableAddress('evm', checksummed.toLowerCase()));
    for (const [family, address] of [
      ['tron', 'TAzsQ9Gx8eqFNFSKbeXrbi45CuVPHzA8wr'],
      ['solana', 'So11111111111111111111111111111111111111112'],
    ] as const)
      expect(comparableAddress(family, address)).toBe(address);
  });
});
