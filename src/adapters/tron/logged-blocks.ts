import { z } from 'zod';
import { ProviderFault, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { toBase58Address } from './address.ts';
import { TRANSFER_TOPIC, type TokenAccounts } from './receipt.ts';

/** Where a node of one's own has no JSON-RPC, or its index is behind, it is asked again after this time. */
const WITHOUT_LOGS_MS = 3_600_000;

const quantity = z
  .string()
  .regex(/^0x[0-9a-f]{1,13}$/i)
  .transform(Number);
const log = z.object({ blockNumber: quantity, address: z.string(), topics: z.array(z.string()) });
const answer = z.object({ result: z.array(log) });

/** Where the transfers of a range are, by java-tron's JSON-RPC. */
export interface LoggedTransfers {
  /** Blocks with a transfer to us. */
  readonly blocks: ReadonlySet<number>;
  /** Transfers of the tokens in the last block, whoever received them. */
  readonly inLastBlock: number;
}

interface Range {
  readonly fromBlock: number;
  readonly toBlock: number;
  readonly isOurs: (address: string) => boolean;
}

/**
 * Finds the blocks of a range that hold transfers to us in one call, where otherwise each block takes one. Only the
 * receipts of a block say what was transferred.
 */
export class LoggedBlocks {
  readonly #tokens: TokenAccounts;
  readonly #until = new WeakMap<RpcProvider, number>();

  constructor(tokens: TokenAccounts) {
    this.#tokens = tokens;
  }

  /** Null where the provider does not serve them; then each block is read. */
  async find(provider: RpcProvider, range: Range): Promise<LoggedTransfers | null> {
    if (performance.now() < (this.#until.get(provider) ?? 0)) return null;
    try {
      return await this.#read(provider, range);
    } catch (error) {
      if (error instanceof ProviderFault && error.kind === 'rate-limited') throw error;
      this.distrust(provider);
      return null;
    }
  }

  /** Reads each block instead, for a while. */
  distrust(provider: RpcProvider): void {
    this.#until.set(provider, performance.now() + WITHOUT_LOGS_MS);
  }

  async #read(provider: RpcProvider, { fromBlock, toBlock, isOurs }: Range): Promise<LoggedTransfers> {
    const filter = {
      fromBlock: `0x${fromBlock.toString(16)}`,
      toBlock: `0x${toBlock.toString(16)}`,
      address: this.#tokens.accounts.map((account) => `0x${account}`),
      topics: [`0x${TRANSFER_TOPIC}`],
    };
    const body = { jsonrpc: '2.0', id: 1, method: 'eth_getLogs', params: [filter] };
    const { result } = answer.parse(await provider.post('/jsonrpc', body, 'jsonrpc/eth_getLogs'));
    const transfers = result.map(({ blockNumber, topics }) => {
      const to = topics.length === 3 ? /^(?:0x)?0{24}([0-9a-f]{40})$/i.exec(topics[2] ?? '')?.[1] : undefined;
      if (to === undefined || blockNumber < fromBlock || blockNumber > toBlock)
        throw new ProviderFault('inconsistent', 'answered logs that were not asked for');
      return { blockNumber, toAddress: toBase58Address(to.toLowerCase()) };
    });
    return {
      blocks: new Set(transfers.flatMap(({ blockNumber, toAddress }) => (isOurs(toAddress) ? [blockNumber] : []))),
      inLastBlock: transfers.filter(({ blockNumber }) => blockNumber === toBlock).length,
    };
  }
}
