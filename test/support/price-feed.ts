import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A price provider on a free local port whose every answer a test decides. */
export interface PriceFeed {
  readonly url: string;
  /** Paths asked for so far. */
  readonly requests: string[];
  answer(handler: (request: IncomingMessage, response: ServerResponse) => void): void;
  answerJson(json: (path: string) => unknown): void;
  /** How far the provider's own clock, which every answer shows, is ahead. */
  setClock(aheadMs: number): void;
  close(): Promise<void>;
}

export async function startPriceFeed(): Promise<PriceFeed> {
  const requests: string[] = [];
  let aheadMs = 0;
  let handler = (_request: IncomingMessage, response: ServerResponse): void => {
    response.writeHead(503).end();
  };
  const server = createServer((request, response) => {
    requests.push(request.url ?? '');
    response.setHeader('date', new Date(Date.now() + aheadMs).toUTCString());
    handler(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    setClock: (ms) => (aheadMs = ms),
    answer: (next) => {
      handler = next;
    },
    answerJson: (json) => {
      handler = (request, response) => {
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(json(request.url ?? '')));
      };
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/* The providers' answers at a given market: units of each currency for one coin. */

export type Prices = Readonly<Record<string, string>>;

export const coinbaseJson =
  (usdt: Prices, usdc: Prices) =>
  (path: string): unknown => {
    const coin = /currency=(\w+)/.exec(path)?.[1];
    return { data: { currency: coin, rates: coin === 'USDT' ? usdt : usdc } };
  };

export const krakenJson = (pairs: Prices) => (): unknown => ({
  error: [],
  result: Object.fromEntries(
    Object.entries(pairs).map(([pair, price]) => [
      pair,
      { a: [price, '1', '1.000'], b: [price, '1', '1.000'], c: [price, '1'] },
    ]),
  ),
});

/** Daily candles that close at this price, as far back as asked for; the last one is of today. */
export const krakenCandlesJson = (close: string, path: string, nowMs = Date.now()): unknown => {
  const [, pair = '', since = ''] = /pair=(\w+)&interval=1440&since=(\d+)/.exec(path) ?? [];
  const candles: unknown[] = [];
  for (let atSec = Math.ceil((Number(since) + 1) / 86_400) * 86_400; atSec * 1000 <= nowMs; atSec += 86_400)
    candles.push([atSec, close, close, close, close, close, '1.5', 7]);
  return { error: [], result: { [pair]: candles, last: 0 } };
};

export const coingeckoJson = (usdt: Prices, usdc: Prices, updatedAtSec: number) => (): unknown => {
  const lower = (prices: Prices) =>
    Object.fromEntries(Object.entries(prices).map(([code, price]) => [code.toLowerCase(), Number(price)]));
  return {
    tether: { ...lower(usdt), last_updated_at: updatedAtSec },
    'usd-coin': { ...lower(usdc), last_updated_at: updatedAtSec },
  };
};

/** A clock that moves only when a test moves it. */
export class ManualClock {
  #nowMs: number;

  constructor(startMs = 1_763_600_000_000) {
    this.#nowMs = startMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  advance(ms: number): void {
    this.#nowMs += ms;
  }
}
