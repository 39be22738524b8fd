import { createServer } from 'node:http';
import { StandInChain, type ChainRules, type Payment } from './stand-in-chain.ts';
import { announce } from '../create-session/announce.ts';

/*
 * A stand-in chain behind real JSON-RPC in a process of its own. It makes a block every second by itself; told to hold,
 * it gathers what is paid until it shall go on, so that thousands of transfers come in one block.
 */

const BLOCK_MS = 1_000;
const rules = JSON.parse(process.argv[2]!) as ChainRules & { readonly creditedDepth: number };
const chain = new StandInChain(rules);
/** When the block came by which the payment counts, in milliseconds of the system's clock. */
const creditableMs: Record<string, number> = {};
const calls: Record<string, number> = {};
let holds = false;
let lastLookMs = performance.now();
let longestLookGapMs = 0;

function mine(): void {
  if (holds) return;
  chain.mine();
  const nowMs = Date.now();
  for (const reference of chain.referencesIn(chain.height - rules.creditedDepth)) creditableMs[reference] = nowMs;
}
setInterval(mine, BLOCK_MS);

/** What was held is in a block at once: to make a large one takes a moment, in which nobody is answered. */
function hold(shall: boolean): void {
  holds = shall;
  mine();
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as {
      id: number;
      method: string;
      params: unknown[];
    };
    calls[method] = (calls[method] ?? 0) + 1;
    if (params[0] === 'latest') {
      longestLookGapMs = Math.max(longestLookGapMs, performance.now() - lastLookMs);
      lastLookMs = performance.now();
    }
    response.setHeader('content-type', 'application/json');
    try {
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result: chain.answer(method, params) }));
    } catch (error) {
      response.end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32_601, message: (error as Error).message } }));
    }
  });
});
server.keepAliveTimeout = 60_000;

type Message =
  | { readonly pay: readonly Payment[] }
  | { readonly hold: boolean }
  | { readonly resetGap: true }
  | { readonly id: number; readonly question: 'report' };

export interface ChainReport {
  readonly creditableMs: Readonly<Record<string, number>>;
  readonly calls: Readonly<Record<string, number>>;
  /** The longest time in which nobody asked for the newest block, since it was reset. */
  readonly longestLookGapMs: number;
}

process.on('message', (message: Message) => {
  if ('pay' in message) chain.pay(message.pay);
  else if ('hold' in message) hold(message.hold);
  else if ('resetGap' in message) [lastLookMs, longestLookGapMs] = [performance.now(), 0];
  else {
    const answer: ChainReport = {
      creditableMs,
      calls,
      longestLookGapMs: Math.max(longestLookGapMs, performance.now() - lastLookMs),
    };
    process.send?.({ id: message.id, answer });
  }
});
announce(server.listen(0, '127.0.0.1'));
