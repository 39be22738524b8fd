import { createHmac, randomUUID } from 'node:crypto';
import { Pool } from 'undici';

/**
 * The baseline: the same number of POSTs, signed the same way, over one undici pool for each endpoint, and nothing
 * else: no log, no order, no bounds, no retries. Events are serialised as they are sent.
 */
export async function sendBare(
  urls: readonly string[],
  events: readonly object[],
  secret: string,
  inFlightPerEndpoint: number,
): Promise<void> {
  const pools = urls.map((url) => new Pool(new URL(url).origin, { connections: inFlightPerEndpoint }));
  let next = 0;
  const drive = async (pool: Pool): Promise<void> => {
    while (next < events.length) {
      const body = JSON.stringify(events[next++]);
      const timestamp = String(Math.floor(Date.now() / 1000));
      const nonce = randomUUID();
      const signature = createHmac('sha256', secret).update(`${timestamp}.${nonce}.${body}`).digest('hex');
      const headers = {
        'Content-Type': 'application/json',
        'X-Service-Signature': signature,
        'X-Service-Timestamp': timestamp,
        'X-Service-Nonce': nonce,
        'X-Service-Event-Type': 'payment.cancelled',
        'X-Service-Event-ID': `evt_${1_800_000_000_000_000_000n + BigInt(next)}`,
        'User-Agent': 'Service-Webhook/1.0',
      };
      const answer = await pool.request({ path: '/hook', method: 'POST', headers, body });
      await answer.body.text();
      if (answer.statusCode !== 200) throw new Error(`the receiver answered ${answer.statusCode}`);
    }
  };
  await Promise.all(pools.flatMap((pool) => Array.from({ length: inFlightPerEndpoint }, () => drive(pool))));
  await Promise.all(pools.map((pool) => pool.close()));
}
