import { beforeEach, describe, expect, it } from 'vitest';
import { createEvmChain } from '../../../../src/adapters/evm/chain.ts';
import { keccak256, toUtf8Bytes } from 'ethers';
import type { Chain } from '../../../../src/ports/chain/chain.ts';
import { localSettings } from '../../../support/anvil.ts';
import { ModelChain, ModelPool, ModelProvider } from '../../../support/lying-evm.ts';

const TOKEN = '0x5FbDB2315678afecb367f032d93F642f64180aa3';
const OURS = '0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc';
const txHash = keccak256(toUtf8Bytes('a payment'));

type Receipts = Record<string, unknown>[];

/** Changes what it answers of whole blocks and of ranges of logs, as often as it is asked. */
class OddProvider extends ModelProvider {
  readonly asked: string[] = [];
  ofBlock: (receipts: Receipts) => unknown = (receipts) => receipts;
  ofLogs: (logs: unknown[]) => unknown = (logs) => logs;

  override async call(method: string, params: readonly unknown[]): Promise<unknown> {
    // The proof that it serves the chain asks for the receipt of another transaction.
    if (params[0] === txHash) this.asked.push(method);
    const answer = await super.call(method, params);
    if (method === 'eth_getBlockReceipts') return this.ofBlock(structuredClone(answer) as Receipts);
    return method === 'eth_getLogs' ? this.ofLogs(answer as unknown[]) : answer;
  }
}

describe('a transfer that is read with its whole block', () => {
  let provider: OddProvider;
  let chain: Chain;
  const read = () => chain.transferAt(txHash, 0, { blockNumber: 1 });
  const singly = (): number => provider.asked.filter((method) => method === 'eth_getTransactionReceipt').length;

  beforeEach(() => {
    const model = new ModelChain(TOKEN);
    model.mine([{ txHash, to: OURS, units: 7n }]);
    model.mine([]);
    provider = new OddProvider('odd', model, OURS);
    chain = createEvmChain({ settings: localSettings(TOKEN), pool: new ModelPool([provider]), lagProbeMs: Infinity });
  });

  it('is not read twice while the response is complete', async () => {
    expect(await read()).toMatchObject({ txHash, tokenUnits: 7n });
    expect(singly()).toBe(0);
  });

  it.each<[string, (receipts: Receipts) => unknown]>([
    ['is no list', () => null],
    ['holds null', (receipts) => [null, ...receipts]],
    ['holds a text', (receipts) => ['0x', ...receipts]],
    ['holds an entry without a hash', (receipts) => [{ ...receipts[0], transactionHash: undefined }]],
    ['holds an entry without logs', (receipts) => [{ ...receipts[0], logs: null }]],
    ['holds a log that is null', (receipts) => [{ ...receipts[0], logs: [null] }]],
    ['holds a log without topics', (receipts) => [{ ...receipts[0], logs: [{ address: TOKEN, data: '0x' }] }]],
    ['names another block', (receipts) => [{ ...receipts[0], blockHash: `0x${'99'.repeat(32)}` }]],
    ['says that it failed', (receipts) => [{ ...receipts[0], status: '0x0' }]],
    ['lacks the log', (receipts) => [{ ...receipts[0], logs: [] }]],
  ])('is read by itself once where the answer for the block %s', async (_, ofBlock) => {
    provider.ofBlock = ofBlock;
    expect(await read()).toMatchObject({ txHash, tokenUnits: 7n });
    expect(singly()).toBe(1);
  });

  it.each([[null], ['0x'], [{ address: TOKEN }]])(
    'treats a list of logs with %j as a fault of the provider and asks others',
    async (log) => {
      provider.ofLogs = (logs) => [log, ...logs];
      await expect(chain.scan(0, 2, (address) => address.toLowerCase() === OURS.toLowerCase())).rejects.toThrow(
        /holds something that is no log/,
      );
    },
  );
});
