import { expect, it } from 'vitest';
import { solanaOutflows } from '../../../../src/adapters/solana/outflows.ts';
import type { NetworkSettings } from '../../../../src/domain/networks/networks.ts';
import type { RpcProvider } from '../../../../src/ports/chain/rpc-pool.ts';
import {
  answerCorrected,
  type JsonRpcAnswer,
  type JsonRpcRequest,
} from '../../../../src/sandbox/surfpool/rpc-corrections.ts';

const OWNER = '2KgEFFVhmjzbshgPTphbrnYPXGtXprC9VyFYanwWG3fU';
const settings = { network: 'solana', tokens: [] } as unknown as NetworkSettings;

/** Everything that it lists was signed by the owner and moved nothing. */
const listing = (...signatures: string[]): RpcProvider =>
  ({
    call: async (method: string) =>
      method === 'getSignaturesForAddress'
        ? signatures.map((signature) => ({ signature, slot: 9 }))
        : {
            slot: 9,
            meta: {
              err: 'BlockhashNotFound',
              preTokenBalances: [],
              postTokenBalances: [],
              preBalances: [5],
              postBalances: [5],
            },
            transaction: { message: { accountKeys: [OWNER], header: { numRequiredSignatures: 1 } } },
          },
  }) as unknown as RpcProvider;

const found = (provider: RpcProvider) =>
  solanaOutflows(provider, settings, OWNER, 1, async (hashes) => new Set(hashes));

it('a transaction of the owner that nobody ordered is named, also one without effect', async () => {
  expect(await found(listing('5XUs2jsfD3'))).toEqual([
    expect.objectContaining({ txHash: '5XUs2jsfD3', part: 'nothing', blockNumber: 9 }),
  ]);
});

it('what Surfpool lists without a signature is not a transaction', async () => {
  const surfpool = listing('1'.repeat(64));
  const ask = async ({ id, method, params }: JsonRpcRequest): Promise<JsonRpcAnswer> => {
    const result = method === 'getSlot' ? 40 : await surfpool.call(method!, params ?? []);
    return { jsonrpc: '2.0', id, result };
  };
  const upstream = Object.assign(ask, { genesis: 'genesis' });
  const corrected = {
    call: async (method: string, params: readonly unknown[]) => {
      const answer = await answerCorrected({ method, params }, upstream);
      return 'result' in answer ? answer.result : expect.unreachable();
    },
  } as unknown as RpcProvider;
  expect(await found(corrected)).toEqual([]);
});
