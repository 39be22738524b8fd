import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below the range from which systems take the ports of outgoing connections, which would take a free one before its
 * server does.
 */
const RANGE = { first: 12_000, count: 20_000 };

/** A port of this machine that nobody listens on. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = RANGE.first + Math.floor(Math.random() * RANGE.count);
    const probe = createServer();
    const listening = Promise.race([once(probe, 'listening').then(() => true), once(probe, 'error').then(() => false)]);
    probe.listen(port, '127.0.0.1');
    const isFree = await listening;
    if (!isFree) continue;
    probe.close();
    await once(probe, 'close');
    return port;
  }
}
