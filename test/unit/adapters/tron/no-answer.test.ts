import { ChainUnavailable } from '../../../../src/ports/chain/chain.ts';
import { ModelPool } from '../../../support/lying-evm.ts';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createTronContractCheck } from '../../../../src/adapters/tron/contract-check.ts';
import { usedTronAddresses } from '../../../../src/adapters/tron/address-history.ts';
import { verifyTronProvider } from '../../../../src/adapters/tron/provider-check.ts';
import { listedBlocks } from '../../../../src/adapters/tron/listed-blocks.ts';
import { newestBlock, receiptsOfBlock, transactionInfo, transactionsOf } from '../../../../src/adapters/tron/rpc.ts';
import { costOfTransfer, isFrozen, isPaused, sunOf, unitsOf } from '../../../../src/adapters/tron/token-calls.ts';
import type { NetworkSettings } from '../../../../src/domain/networks/networks.ts';
import { ProviderFault, type RpcProvider } from '../../../../src/ports/chain/rpc-pool.ts';
import { REPOSITORY } from '../../../support/repository.ts';
import { computed } from '../../../support/tron-node.ts';

/* What nodes say instead of an answer, as a full node (java-tron 4.8.0) and hosted providers were seen to say it. */

const real = (file: string): unknown =>
  JSON.parse(readFileSync(join(REPOSITORY, 'test/fixtures/chains/java-tron-4.8.0', file), 'utf8'));
const TOKEN = { coin: 'USDT', address: 'TBEzG1CBfbyhJuuhYdurCckiesDBwp8AbR', decimals: 6 } as const;
const [FROM, TO] = ['TYDzsYUEpvnYmQk4zGP9sWWcTEd2MiAtW6', 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t'];
const settings: NetworkSettings = {
  ...{ network: 'tron', mode: 'live', chainId: String(0x90a1df8e), tokens: [TOKEN] },
  ...{ simulated: false, mainNetwork: false, explorerTransactionUrl: null },
};

const NO_ANSWERS: readonly (readonly [string, unknown])[] = [
  ['a call that was broken off', real('constant-OUT_OF_TIME.json')],
  ['a refusal', { Error: 'class java.lang.NullPointerException : null' }],
  ['a limit', { Error: 'class java.lang.IllegalAccessException : lack of computing resources' }],
  ['a refusal of a hosted provider', { success: false, statusCode: 404, error: 'Not Found' }],
  ['a refusal without its status', { success: false, statusCode: 404 }],
  ['a JSON-RPC error', { jsonrpc: '2.0', id: 1, error: { code: -32603, message: 'internal error' } }],
  ['an empty list', []],
  ['nothing that was computed', { result: { result: true } }],
  ['nothing', null],
];

/** Each call's answers one after the other, the last of them for good; `{}` for calls that are not named. */
function answering(answers: Readonly<Record<string, readonly unknown[]>>): RpcProvider & { readonly asked: string[] } {
  const asked: string[] = [];
  const post = (path: string, body: { function_selector?: string }): Promise<unknown> => {
    const call = path.replace(/^.*\//, '');
    const name = body.function_selector ?? call;
    asked.push(name);
    const own = answers[name] ?? answers[call] ?? [{}];
    return Promise.resolve(own[Math.min(asked.filter((other) => other === name).length, own.length) - 1]);
  };
  return {
    name: 'one',
    call: () => Promise.reject(new Error()),
    get: () => Promise.reject(new Error()),
    post,
    asked,
    report: () => undefined,
  };
}

const PRICED = { getchainparameters: [real('getchainparameters.json')], getaccountresource: [{}] };
const transfer = { from: FROM, to: TO, units: 1n };

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout'], shouldAdvanceTime: true, advanceTimeDelta: 200 }));
afterEach(() => void vi.useRealTimers());

describe('an answer of a TRON node that is none', () => {
  it.each(NO_ANSWERS)('decides nothing about a token or an account: %s', async (_, answer) => {
    const provider = answering({
      triggerconstantcontract: [answer],
      getaccount: [answer],
      getcontract: [answer],
      ...PRICED,
    });
    for (const read of [
      () => isPaused(provider, TOKEN),
      () => isFrozen(provider, TOKEN, TO),
      () => unitsOf(provider, TOKEN, TO),
      () => costOfTransfer(provider, TOKEN, transfer),
      () => usedTronAddresses(provider, settings, [TO]),
      () => sunOf(provider, TO),
    ])
      await expect(read()).rejects.toBeInstanceOf(ProviderFault);
    const check = createTronContractCheck({ settings, pool: new ModelPool([provider]) });
    await expect(check.isContract(TO)).rejects.toBeInstanceOf(ChainUnavailable);
  });

  it.each(NO_ANSWERS)('is not a missing transaction or block: %s', async (_, answer) => {
    const provider = answering({ gettransactioninfobyid: [answer], getblock: [answer], getnowblock: [answer] });
    await expect(transactionInfo(provider, 'wallet', 'a'.repeat(64))).rejects.toBeInstanceOf(ProviderFault);
    await expect(newestBlock(provider, 'walletsolidity')).rejects.toBeInstanceOf(ProviderFault);
  });

  it.each(NO_ANSWERS)('does not make its chain another one: %s', async (_, answer) => {
    const block = (file: string): unknown => real(file);
    const provider = answering({
      getblock: [block('getblock-genesis.json'), block('solidity-getnowblock.json'), block('getblock-newest.json')],
      gettransactioninfobyblocknum: [[]],
      getblockbynum: [{ ...(block('solidity-getnowblock.json') as object), transactions: [] }],
      triggerconstantcontract: [answer],
    });
    vi.setSystemTime(1_795_889_580_000);
    await expect(verifyTronProvider(provider, settings)).rejects.not.toMatchObject({ kind: 'wrong-chain' });
  });

  it('is asked for again, of the same provider', async () => {
    const busy = real('constant-OUT_OF_TIME.json');
    const provider = answering({ 'paused()': [busy, busy, computed(1)] });
    expect(await isPaused(provider, TOKEN)).toBe(true);
    expect(provider.asked).toEqual(['paused()', 'paused()', 'paused()']);
  });
});

describe('what a real node computed', () => {
  it.each([
    ['constant-balanceOf.json', 10_000_000_000_000n - 2n],
    ['constant-decimals.json', 6n],
  ])('is read: %s', async (file) => {
    const [word] = (real(file) as { constant_result: [string] }).constant_result;
    expect(await unitsOf(answering({ triggerconstantcontract: [real(file)] }), TOKEN, TO)).toBe(BigInt(`0x${word}`));
  });

  it('is no function of the contract where the contract refused', async () => {
    const provider = answering({ triggerconstantcontract: [real('constant-revert.json')] });
    expect([await isPaused(provider, TOKEN), await isFrozen(provider, TOKEN, TO)]).toEqual([false, false]);
  });

  it('is not yet the contract where the chain has none', async () => {
    const provider = answering({ triggerconstantcontract: [real('constant-no-contract.json')] });
    await expect(isPaused(provider, TOKEN)).rejects.toMatchObject({ kind: 'behind' });
  });

  it.each([
    ['getaccount.json', 1_999_925_954_420],
    ['getaccount-unknown.json', 0],
    ['getaccount-contract.json', 0],
  ])('is the TRX of an account: %s', async (file, sun) => {
    expect(await sunOf(answering({ getaccount: [real(file)] }), TO)).toBe(sun);
  });
});

describe('the fee limit of a transfer on TRON', () => {
  /** Energy of this token's transfer to an account that holds some of it, and to one that holds none. */
  const [ENERGY, ENERGY_OF_A_FIRST] = [13_201, 28_201];
  const priced = (sun: number, held: bigint) =>
    answering({
      'transfer(address,uint256)': [real('constant-transfer.json')],
      'balanceOf(address)': [computed(held)],
      ...PRICED,
      getchainparameters: [{ chainParameter: [{ key: 'getEnergyFee', value: sun }, { key: 'getCreateAccountFee' }] }],
    });

  it('covers a payee that gives away what it held before the transfer runs', async () => {
    const cost = await costOfTransfer(priced(1_000, 5n), TOKEN, transfer);
    expect(cost).toMatchObject({ burnt: ENERGY * 1_000, isTooDear: false });
    expect(cost.mostBurnt).toBeGreaterThanOrEqual(ENERGY_OF_A_FIRST * 1_000);
    expect(cost.feeLimit).toBeGreaterThanOrEqual(cost.mostBurnt);
  });

  it('says when no limit that may be set covers the transfer', async () => {
    expect(await costOfTransfer(priced(10_000, 0n), TOKEN, transfer)).toMatchObject({ isTooDear: true });
  });

  it('is not set for a transfer that the token refuses', async () => {
    const refusing = answering({
      'transfer(address,uint256)': [real('constant-revert.json')],
      'balanceOf(address)': [computed(1)],
    });
    await expect(costOfTransfer(refusing, TOKEN, transfer)).rejects.toMatchObject({ name: 'TransferImpossible' });
    await expect(costOfTransfer(refusing, TOKEN, { ...transfer, units: 2n })).rejects.toMatchObject({ kind: 'behind' });
  });

  it('is not the energy of a call that the token refused, where the answer has lost its message', async () => {
    const { message: _, ...result } = (real('constant-revert.json') as { result: { message: string } }).result;
    const provider = answering({
      'transfer(address,uint256)': [{ ...(real('constant-revert.json') as object), result }],
      'balanceOf(address)': [computed(1)],
      ...PRICED,
    });
    await expect(costOfTransfer(provider, TOKEN, transfer)).rejects.toBeInstanceOf(ProviderFault);
  });

  it.each([[{}], [{ chainParameter: [] }], [{ chainParameter: [{ key: 'getEnergyFee' }] }]])(
    'is not set without the price of energy: %j',
    async (parameters) => {
      const provider = answering({
        'transfer(address,uint256)': [real('constant-transfer.json')],
        getchainparameters: [parameters],
      });
      await expect(costOfTransfer(provider, TOKEN, transfer)).rejects.toBeInstanceOf(ProviderFault);
    },
  );
});

describe('a block whose transactions are left out', () => {
  const whole = {
    blockID: 'b'.repeat(64),
    block_header: { raw_data: { number: 7, parentHash: 'a'.repeat(64), timestamp: 1, txTrieRoot: 'c'.repeat(64) } },
  };
  const empty = {
    ...whole,
    block_header: { raw_data: { ...whole.block_header.raw_data, txTrieRoot: '0'.repeat(64) } },
  };
  const block = { number: 7, hash: whole.blockID, parentHash: 'a'.repeat(64), timeSec: 0 };
  const node = (answer: object): RpcProvider =>
    answering({
      gettransactioninfobyblocknum: [[]],
      getblockbynum: [answer],
      getblockbylimitnext: [{ block: [answer] }],
    });
  const listed = (provider: RpcProvider) =>
    listedBlocks((task) => task(provider), { fromBlock: 7, toBlock: 7 })
      .next()
      .then(({ value }) => value as unknown);

  it('is not an empty one, in which nothing was paid and nothing of ours landed', async () => {
    await expect(receiptsOfBlock(node(whole), 7)).rejects.toThrow(/without its transactions/);
    await expect(transactionsOf(node(whole), block)).rejects.toThrow(/without its transactions/);
    await expect(listed(node(whole))).rejects.toThrow(/without its transactions/);
  });

  it('is told from one that has none', async () => {
    expect(await receiptsOfBlock(node(empty), 7)).toEqual([]);
    expect(await transactionsOf(node(empty), block)).toEqual([]);
    expect(await listed(node(empty))).toEqual([{ number: 7, transactions: [] }]);
  });

  it('or whose transactions do not say what became of them says nothing', async () => {
    const value = { owner_address: FROM, to_address: TO, amount: 5 };
    const paid = { txID: 'd'.repeat(64), raw_data: { contract: [{ type: 'TransferContract', parameter: { value } }] } };
    await expect(listed(node({ ...whole, transactions: [paid] }))).rejects.toThrow(/left out/);
    expect(
      await listed(node({ ...whole, transactions: [{ ...paid, ret: [{ contractRet: 'SUCCESS' }] }] })),
    ).toMatchObject([{ number: 7, transactions: [{ txID: paid.txID }] }]);
  });
});

describe('what a transaction has done', () => {
  it('is not told by an answer without its receipt', async () => {
    const { receipt: _, ...info } = real('info-staked-8.json') as { id: string; receipt: object };
    const provider = answering({ gettransactioninfobyid: [info] });
    await expect(transactionInfo(provider, 'wallet', info.id)).rejects.toBeInstanceOf(ProviderFault);
  });

  it('nor a balance by something that is no number', async () => {
    const provider = answering({ triggerconstantcontract: [{ ...computed(1), constant_result: ['00'] }] });
    await expect(isFrozen(provider, TOKEN, TO)).rejects.toBeInstanceOf(ProviderFault);
    await expect(unitsOf(provider, TOKEN, TO)).rejects.toBeInstanceOf(ProviderFault);
  });
});
