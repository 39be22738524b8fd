import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TronTransactionInfo } from '../../src/adapters/tron/receipt.ts';

type Body = Record<string, unknown>;
type Override = (
  path: string,
  body: Body,
) => { status?: number; headers?: Record<string, string>; body: unknown } | undefined;

/** A TRON HTTP API that plays recorded receipts back, block by block. */
export interface PlayedTronNode {
  readonly url: string;
  readonly requests: { readonly path: string; readonly body: Body; readonly apiKey: string | undefined }[];
  headNumber: number;
  solidNumber: number;
  receipts: TronTransactionInfo[];
  /** Answers instead of the node where it gives something. */
  override: Override;
  /** Given to the ids of all blocks: another value is another fork. */
  fork: string;
  close(): Promise<void>;
}

const GENESIS_TAIL = '2b6653dc';
export const MAINNET_CHAIN_ID = String(0x2b6653dc);
export const EPOCH_MS = 1_530_000_000_000;

export async function playTronNode(options: {
  receipts: TronTransactionInfo[];
  headNumber: number;
  solidNumber?: number;
}): Promise<PlayedTronNode> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8');
      const body = (text === '' ? {} : JSON.parse(text)) as Body;
      const path = request.url!;
      node.requests.push({ path, body, apiKey: request.headers['tron-pro-api-key'] as string | undefined });
      const answer = node.override(path, body) ?? { body: answerOf(node, path, body) };
      response
        .writeHead(answer.status ?? 200, { 'content-type': 'application/json', ...answer.headers })
        .end(JSON.stringify(answer.body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const node: PlayedTronNode = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    headNumber: options.headNumber,
    solidNumber: options.solidNumber ?? options.headNumber,
    receipts: options.receipts,
    override: () => undefined,
    fork: '0',
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return node;
}

export const blockIdOf = (number: number, fork: string): string => {
  const id = number.toString(16).padStart(16, '0') + fork.padStart(48, 'a');
  return number === 0 ? id.slice(0, 56) + GENESIS_TAIL : id;
};

/** What a node answers to a call of a contract that returned a number. */
export const computed = (value: number | bigint): object => ({
  ...{ result: { result: true }, energy_used: 935 },
  constant_result: [value.toString(16).padStart(64, '0')],
  transaction: { ret: [{}] },
});

function answerOf(node: PlayedTronNode, path: string, body: Body): unknown {
  const solid = path.startsWith('/walletsolidity/');
  const limit = solid ? node.solidNumber : node.headNumber;
  switch (path.split('/')[2]) {
    case 'getblock':
      return blockOf(node, body['id_or_num'] === undefined ? limit : Number(body['id_or_num']), limit, false);
    case 'getnowblock':
      return blockOf(node, limit, limit, true);
    case 'getblockbynum':
      return blockOf(node, Number(body['num']), limit, true);
    case 'gettransactioninfobyblocknum':
      return node.receipts.filter((receipt) => receipt.blockNumber === body['num'] && receipt.blockNumber <= limit);
    case 'gettransactioninfobyid':
      return node.receipts.find((receipt) => receipt.id === body['value'] && receipt.blockNumber <= limit) ?? {};
    case 'triggerconstantcontract':
      return computed(6);
    default:
      return { Error: `no such call: ${path}` };
  }
}

function blockOf(node: PlayedTronNode, number: number, limit: number, full: boolean): unknown {
  if (number > limit) return {};
  const inBlock = node.receipts.filter((receipt) => receipt.blockNumber === number);
  const timestamp = inBlock[0]?.blockTimeStamp ?? EPOCH_MS + number * 3000;
  return {
    blockID: blockIdOf(number, node.fork),
    block_header: {
      raw_data: { ...(number === 0 ? {} : { number, parentHash: blockIdOf(number - 1, node.fork) }), timestamp },
    },
    ...(full && inBlock.length > 0 ? { transactions: inBlock.map((receipt) => ({ txID: receipt.id })) } : {}),
  };
}
