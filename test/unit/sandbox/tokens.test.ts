import type { Wallet } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Coin } from '../../../src/domain/money/money.ts';
import { startTokenChain, type TokenChain } from '../../support/tokens.ts';

let chain: TokenChain;
let payer: Wallet;
let friend: Wallet;
beforeAll(async () => {
  chain = await startTokenChain();
  [payer, friend] = [await chain.account(), await chain.account()];
  for (const coin of ['USDT', 'USDC'] as const) await chain.send(coin, 'transfer', [payer.address, 1_000_000n]);
  await chain.mine();
});
afterAll(() => chain?.close());

/** Whether the call took effect. */
async function works(coin: Coin, method: string, args: readonly unknown[], from?: Wallet): Promise<boolean> {
  const hash = await chain.send(coin, method, args, from);
  await chain.mine();
  const receipt = await chain.rpc<{ status: string }>('eth_getTransactionReceipt', [hash]);
  return receipt.status === '0x1';
}

describe.each(['USDT', 'USDC'] as const)('the sandbox %s', (coin) => {
  it('moves at most what its holder has', async () => {
    const before = await chain.balanceOf(coin, friend.address);
    expect(await works(coin, 'transfer', [friend.address, 10n], payer)).toBe(true);
    expect(await chain.balanceOf(coin, friend.address)).toBe(before + 10n);
    expect(await works(coin, 'transfer', [friend.address, 10n ** 18n], payer)).toBe(false);
  });

  it('lets another account move at most its allowance', async () => {
    expect(await works(coin, 'approve', [friend.address, 5n], payer)).toBe(true);
    expect(await works(coin, 'transferFrom', [payer.address, friend.address, 6n], friend)).toBe(false);
    expect(await works(coin, 'transferFrom', [payer.address, friend.address, 5n], friend)).toBe(true);
    expect(await works(coin, 'transferFrom', [payer.address, friend.address, 1n], friend)).toBe(false);
  });

  it('moves nothing while it is paused', async () => {
    expect(await works(coin, 'pause', [])).toBe(true);
    expect(await works(coin, 'transfer', [friend.address, 1n], payer)).toBe(false);
    expect(await works(coin, 'unpause', [])).toBe(true);
    expect(await works(coin, 'transfer', [friend.address, 1n], payer)).toBe(true);
  });

  it('obeys its owner only', async () => {
    expect(await works(coin, 'pause', [], payer)).toBe(false);
    expect(await works(coin, coin === 'USDT' ? 'addBlackList' : 'blacklist', [friend.address], payer)).toBe(false);
  });
});

describe('a blacklisted account', () => {
  it('can still receive USDT, which is then stuck there', async () => {
    expect(await works('USDT', 'addBlackList', [friend.address])).toBe(true);
    expect(await works('USDT', 'transfer', [friend.address, 1n], payer)).toBe(true);
    expect(await works('USDT', 'transfer', [payer.address, 1n], friend)).toBe(false);
    expect(await works('USDT', 'removeBlackList', [friend.address])).toBe(true);
  });

  it('can neither receive nor send USDC', async () => {
    expect(await works('USDC', 'blacklist', [friend.address])).toBe(true);
    expect(await works('USDC', 'transfer', [friend.address, 1n], payer)).toBe(false);
    expect(await works('USDC', 'transfer', [payer.address, 1n], friend)).toBe(false);
    expect(await works('USDC', 'unBlacklist', [friend.address])).toBe(true);
  });
});
