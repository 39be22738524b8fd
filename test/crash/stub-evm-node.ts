import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { id } from 'ethers';

export interface StubNode {
  readonly url: string;
  readonly token: string;
  readonly payer: string;
  readonly txHash: string;
  close(): Promise<void>;
}

const TOKEN = '0x5FbDB2315678afecb367f032d93F642f64180aa3';
const PAYER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const TX_HASH = `0x${'ab'.repeat(32)}`;
const BLOCK_HASH = `0x${'cd'.repeat(32)}`;

/**
 * A node that shows one final deposit, and `more` in the same transaction, and nothing else: for rules that need no
 * chain.
 */
export async function evmNodeWithDeposit({
  toAddress,
  units,
  onAsked = () => undefined,
  more = [],
}: {
  toAddress: string;
  units: bigint;
  /** Hears how many questions are open with each that comes. */
  onAsked?: (inFlight: number) => void;
  more?: readonly { readonly from: string; readonly units: bigint }[];
}): Promise<StubNode> {
  const topic = (address: string): string => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`;
  const logs = [{ from: PAYER, units }, ...more].map((deposit, index) => ({
    address: TOKEN,
    topics: [id('Transfer(address,address,uint256)'), topic(deposit.from), topic(toAddress)],
    data: `0x${deposit.units.toString(16).padStart(64, '0')}`,
    logIndex: `0x${index.toString(16)}`,
  }));
  const answers: Readonly<Record<string, (asked: string) => unknown>> = {
    // Hashes are understood in any writing, as some nodes do.
    eth_getTransactionReceipt: (asked) => ({
      transactionHash: `0x${asked.toLowerCase().replace(/^0x/, '')}`,
      status: '0x1',
      blockNumber: '0x1',
      blockHash: BLOCK_HASH,
      logs,
    }),
    eth_getBlockByNumber: () => ({ number: '0x1', hash: BLOCK_HASH }),
  };
  let inFlight = 0;
  const server = createServer((request, response) => {
    inFlight += 1;
    onAsked(inFlight);
    response.on('close', () => (inFlight -= 1));
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const {
        id: callId,
        method,
        params,
      } = JSON.parse(Buffer.concat(chunks).toString()) as { id: number; method: string; params: string[] };
      const result = answers[method]?.(params[0]!) ?? null;
      // A moment later, so that what is asked at the same time is seen together.
      setTimeout(() => response.end(JSON.stringify({ jsonrpc: '2.0', id: callId, result })), 1);
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token: TOKEN,
    payer: PAYER,
    txHash: TX_HASH,
    close: () =>
      new Promise((done) => {
        server.closeAllConnections();
        server.close(() => done());
      }),
  };
}
