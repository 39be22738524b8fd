/*
 * What every candidate does: on `{ appends, callers }` it appends that many events, each to a new stream, from that
 * many callers at once, each waiting for its answer, and reports how long each took. Shared by all, so that all do the
 * same.
 */
import { randomUUID } from 'node:crypto';

const text = (length) =>
  randomUUID()
    .repeat(Math.ceil(length / 36))
    .slice(0, length);

/** The shape and size of a `SessionCreated`: about 0.6 KB of JSON. */
export const sessionFacts = () => ({
  sessionId: `cs_${text(32)}`,
  mode: 'test',
  merchantId: `mer_${text(20)}`,
  orderId: `order-${text(8)}`,
  requestHash: text(64),
  amount: '10.50',
  currency: 'USD',
  dueCoin: 'USDT',
  dueAmount: '10.51',
  paymentOptions: [
    {
      network: 'ethereum',
      coin: 'USDT',
      tokenAddress: text(42),
      decimals: 6,
      chainId: '31337',
      address: text(42),
      derivationIndex: 7,
    },
  ],
  policy: { tolerance: '0', dustLimit: '0.01' },
  personal: text(160),
});

/** `append(stream, facts)` resolves once the event is durable. */
export function serve(append, close) {
  process.on('message', async ({ appends, callers }) => {
    if (appends === 0) {
      await close();
      process.disconnect();
      return;
    }
    const latenciesMs = [];
    let left = appends;
    const call = async () => {
      while (left-- > 0) {
        const facts = sessionFacts();
        const startedMs = performance.now();
        await append(`session-${facts.sessionId}-${randomUUID()}`, facts);
        latenciesMs.push(performance.now() - startedMs);
      }
    };
    const startedMs = performance.now();
    try {
      await Promise.all(Array.from({ length: callers }, call));
      process.send({ tookMs: performance.now() - startedMs, latenciesMs });
    } catch (error) {
      process.send({ fault: String(error) });
    }
  });
  process.send({ ready: true });
}
