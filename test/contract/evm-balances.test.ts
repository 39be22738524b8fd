import { getAddress, hexlify, randomBytes } from 'ethers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { evmNativeUnits, evmTokenUnits } from '../../src/adapters/evm/balances.ts';
import { createRpcPool } from '../../src/adapters/rpc/pool.ts';
import type { Token } from '../../src/domain/networks/networks.ts';
import { startTokenChain, type TokenChain } from '../support/tokens.ts';

let chain: TokenChain;
beforeAll(async () => {
  chain = await startTokenChain();
});
afterAll(() => chain.close());

const ask = async (token: Token, addresses: readonly string[]): Promise<bigint[]> => {
  const pool = createRpcPool({ network: 'ethereum', urls: [chain.url], maxWaitMs: 0 });
  try {
    return (await pool.run((provider) => evmTokenUnits(provider, token, addresses))).value;
  } finally {
    await pool.close();
  }
};

it('reads the final balances of many addresses, two hundred a call, without a deployed contract', async () => {
  const addresses = Array.from({ length: 450 }, () => getAddress(hexlify(randomBytes(20))));
  const paid = new Map([0, 1, 199, 200, 449].map((index) => [index, BigInt(index + 1) * 1_000_000n]));
  // The token must be there in a final block: an account without code answers nothing, which is no balance of zero.
  await chain.mine(70);
  for (const [index, units] of paid) await chain.send('USDT', 'transfer', [addresses[index], units]);
  await chain.mine(1);
  expect((await ask(chain.token('USDT'), addresses))[449]).toBe(0n);
  await chain.mine(8);
  const units = await ask(chain.token('USDT'), addresses);
  expect(units).toEqual(addresses.map((_, index) => paid.get(index) ?? 0n));
  expect(await ask(chain.token('USDC'), [chain.owner, addresses[0]!.toLowerCase()])).toEqual([
    await chain.balanceOf('USDC', chain.owner),
    0n,
  ]);
});

it('reads the final native balances of many addresses', async () => {
  const addresses = Array.from({ length: 230 }, () => getAddress(hexlify(randomBytes(20))));
  const held = new Map([0, 199, 200, 229].map((index) => [index, BigInt(index + 1) * 10n ** 15n]));
  for (const [index, wei] of held) await chain.rpc('anvil_setBalance', [addresses[index]!, `0x${wei.toString(16)}`]);
  await chain.mine(9);
  const pool = createRpcPool({ network: 'ethereum', urls: [chain.url], maxWaitMs: 0 });
  try {
    const { value } = await pool.run((provider) => evmNativeUnits(provider, addresses));
    expect(value).toEqual(addresses.map((_, index) => held.get(index) ?? 0n));
  } finally {
    await pool.close();
  }
});

it('reports a token that does not respond instead of zero balances', async () => {
  // A precompiled contract that refuses such input.
  const refusing: Token = { ...chain.token('USDT'), address: '0x0000000000000000000000000000000000000009' };
  await expect(ask(refusing, [chain.owner])).rejects.toThrow(/does not say what an account holds/);
});
