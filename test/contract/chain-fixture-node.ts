import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface FixtureLog {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
  readonly blockNumber: string;
  readonly blockHash: string;
  readonly transactionHash: string;
  readonly logIndex: string;
  readonly removed: boolean;
}

/** One block as a provider would serve it. */
export interface FixtureBlock {
  readonly chainId: number;
  readonly decimals: number;
  readonly header: {
    readonly number: string;
    readonly hash: string;
    readonly parentHash: string;
    readonly timestamp: string;
    readonly logsBloom?: string;
  };
  readonly logs: readonly FixtureLog[];
  readonly receipts: readonly { readonly transactionHash: string }[];
}

/** Answers JSON-RPC with a recorded block, which is also its head and final. */
export async function serveFixture(block: FixtureBlock): Promise<{ readonly url: string; close(): Promise<void> }> {
  const answer = (method: string, params: readonly unknown[]): unknown => {
    switch (method) {
      case 'eth_chainId':
        return `0x${block.chainId.toString(16)}`;
      case 'eth_call':
        return `0x${block.decimals.toString(16).padStart(64, '0')}`;
      case 'eth_getBlockByNumber':
        return ['latest', 'finalized', block.header.number].includes(String(params[0])) ? block.header : null;
      case 'eth_getLogs':
        return block.logs.filter((log) => matches(log, params[0] as Record<string, unknown>));
      case 'eth_getTransactionReceipt':
        return block.receipts.find((receipt) => receipt.transactionHash === params[0]) ?? null;
      default:
        return undefined;
    }
  };
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
    request.on('end', () => {
      const { id, method, params } = JSON.parse(text) as { id: number; method: string; params: unknown[] };
      const result = answer(method, params);
      response.end(
        JSON.stringify({
          jsonrpc: '2.0',
          id,
          ...(result === undefined ? { error: { code: -32601, message: `${method} is not available` } } : { result }),
        }),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function matches(log: FixtureLog, filter: Record<string, unknown>): boolean {
  const addresses = [filter.address].flat().map((address) => String(address).toLowerCase());
  const inRange =
    filter.blockHash === undefined
      ? Number(log.blockNumber) >= Number(filter.fromBlock) && Number(log.blockNumber) <= Number(filter.toBlock)
      : log.blockHash === filter.blockHash;
  return inRange && addresses.includes(log.address.toLowerCase()) && log.topics[0] === (filter.topics as string[])[0];
}
