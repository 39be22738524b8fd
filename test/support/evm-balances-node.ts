import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a node says about accounts; a test changes it as a chain would. */
export interface EvmBalances {
  /** Units of the token by address, as the contract counts them. */
  readonly tokens: Map<string, bigint>;
  /** Wei by address. */
  readonly native: Map<string, bigint>;
  /** How many transactions of an address are in the chain. */
  readonly sent: Map<string, bigint>;
  baseFeeWei: bigint;
}

export interface EvmBalancesNode extends EvmBalances {
  readonly url: string;
  close(): Promise<void>;
}

export const SWEEP_GAS = 60_000n;
export const TIP_WEI = 1_000_000_000n;
const BLOCK_HASH = `0x${'cd'.repeat(32)}`;

/** A node that knows balances, fees and counts of transactions: all that the signer asks before it gives gas. */
export async function startEvmBalancesNode(): Promise<EvmBalancesNode> {
  const state: EvmBalances = { tokens: new Map(), native: new Map(), sent: new Map(), baseFeeWei: 10_000_000_000n };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString()) as {
        id: number;
        method: string;
        params: unknown[];
      };
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result: answerOf(state, method, params) }));
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return Object.assign(state, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise<void>((done) => {
        server.closeAllConnections();
        server.close(() => done());
      }),
  });
}

function answerOf(
  { tokens, native, sent, baseFeeWei }: EvmBalances,
  method: string,
  params: readonly unknown[],
): unknown {
  const ofAddress = (balances: ReadonlyMap<string, bigint>, suffix: string): bigint =>
    [...balances].find(([address]) => address.toLowerCase().endsWith(suffix.toLowerCase()))?.[1] ?? 0n;
  switch (method) {
    case 'eth_call':
      return `0x${ofAddress(tokens, (params[0] as { data: string }).data.slice(-40))
        .toString(16)
        .padStart(64, '0')}`;
    case 'eth_getBalance':
      return hex(ofAddress(native, (params[0] as string).slice(2)));
    case 'eth_estimateGas':
      return hex(SWEEP_GAS);
    case 'eth_maxPriorityFeePerGas':
      return hex(TIP_WEI);
    case 'eth_getBlockByNumber':
      return { number: '0x1', hash: BLOCK_HASH, baseFeePerGas: hex(baseFeeWei) };
    case 'eth_getTransactionCount':
      return hex(ofAddress(sent, (params[0] as string).slice(2)));
    default:
      return null;
  }
}

const hex = (value: bigint): string => `0x${value.toString(16)}`;
