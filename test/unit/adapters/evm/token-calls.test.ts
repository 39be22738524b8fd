import { describe, expect, it } from 'vitest';
import { createEvmContractCheck } from '../../../../src/adapters/evm/contract-check.ts';
import { readBaseFee } from '../../../../src/adapters/evm/rpc.ts';
import { balanceOf, gasOfTransfer, isFrozen, isPaused } from '../../../../src/adapters/evm/token-calls.ts';
import type { RpcProvider } from '../../../../src/ports/chain/rpc-pool.ts';
import { answeringProvider, Refuses } from '../../../support/answering-provider.ts';
import { localSettings } from '../../../support/anvil.ts';
import { ModelPool } from '../../../support/lying-evm.ts';

const token = { coin: 'USDT', address: '0x5FbDB2315678afecb367f032d93F642f64180aa3', decimals: 6 } as const;
const OURS = '0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc';
const FAULT = { name: 'ProviderFault' };
const word = (value: bigint): string => `0x${value.toString(16).padStart(64, '0')}`;
/** First bytes of `decimals()`. */
const DECIMALS = '0x313ce567';

/** `decimals` is what it answers to prove that it has the contract; `other` to every other call. */
const node = (other: unknown, decimals: unknown = word(6n)) =>
  answeringProvider({
    eth_call: ({ data }: { data: string }) => (data.startsWith(DECIMALS) ? decimals : other),
    eth_estimateGas: '0x0',
  });

describe('an answer that is none', () => {
  it.each<[string, unknown, unknown]>([
    ['nothing, as for a contract that it does not have', '0x', '0x'],
    ['half a word', '0x01', word(6n)],
    ['null', null, word(6n)],
    ['a refusal in words that nobody knows', new Refuses('no such luck'), word(6n)],
    ['that it is out of time', new Refuses('execution aborted (timeout = 5s)'), word(6n)],
    ['that it does not keep the state', new Refuses('missing trie node 1a3b (path )'), word(6n)],
  ])('is never "not paused", "not frozen" or a balance of 0: %s', async (_, answer, decimals) => {
    await expect(isPaused(node(answer, decimals), token)).rejects.toMatchObject(FAULT);
    await expect(isFrozen(node(answer, decimals), token, OURS)).rejects.toMatchObject(FAULT);
    await expect(balanceOf(node(answer, decimals), token, OURS)).rejects.toMatchObject(FAULT);
  });

  it('means that the contract lacks the function only from a provider that has the contract', async () => {
    expect(await isPaused(node('0x'), token)).toBe(false);
    expect(await isPaused(node(new Refuses('execution reverted', 3)), token)).toBe(false);
    expect(await isPaused(node(word(1n)), token)).toBe(true);
    await expect(balanceOf(node('0x'), token, OURS)).rejects.toMatchObject(FAULT);
  });

  it('is never an estimate of gas or a base fee', async () => {
    const transfer = { from: OURS, to: OURS, units: 1n };
    await expect(gasOfTransfer(node(word(5n)), token, transfer)).rejects.toMatchObject(FAULT);
    for (const block of [null, {}, { baseFeePerGas: null }, { baseFeePerGas: '0x' }])
      await expect(readBaseFee(answeringProvider({ eth_getBlockByNumber: block }))).rejects.toMatchObject(FAULT);
  });
});

describe('whether an address is a contract', () => {
  const check = (...providers: RpcProvider[]) =>
    createEvmContractCheck({ settings: localSettings(token.address), pool: new ModelPool(providers) });
  const code = (answer: unknown, name: string) => answeringProvider({ eth_getCode: answer }, { name });

  it('is believed of one provider, and denied by two', async () => {
    expect(await check(code('0x', 'one'), code('0x6001', 'two')).isContract(OURS)).toBe(true);
    expect(await check(code('0x', 'one'), code('0x', 'two')).isContract(OURS)).toBe(false);
    expect(await check(code('0x', 'one')).isContract(OURS)).toBe(false);
    await expect(check(code('0x', 'one'), code(null, 'two')).isContract(OURS)).rejects.toThrow(/not known/);
  });
});
