import { createServer, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { openEsdbEventStore } from '../../src/adapters/esdb/event-store.ts';
import { openEsdbPersonalKeys } from '../../src/adapters/esdb/personal-keys.ts';
import { nodeRandom } from '../../src/adapters/node/random.ts';
import { connectRedis } from '../../src/adapters/redis/connection.ts';
import { createHttpProvider } from '../../src/adapters/rpc/http-provider.ts';
import { HttpWebhookSender } from '../../src/adapters/webhook-http/sender.ts';
import { EsdbDouble } from '../support/esdb-double/esdb-double.ts';
import { startClusterOfDoubles } from '../support/esdb-double/cluster-of-doubles.ts';
import { appendOf, FIRST, until } from './event-store-samples.ts';

/* Meets the worst answers of one kind of server without any net under it, and says so if it is still there after that. */

const closedAfter = 300;

/** Answers each connection with these parts, one after the other, and breaks it. */
async function startBroken(...parts: readonly string[]): Promise<number> {
  let connections = 0;
  const server = createServer((socket: Socket) => {
    const part = parts[(connections += 1) % parts.length]!;
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.write(part);
      setTimeout(() => socket.resetAndDestroy(), 20);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

const TIMES = { attemptMs: 250, totalMs: 1_500 };

const PROVOKED: Readonly<Record<string, () => Promise<void>>> = {
  'every node of an event store away for seconds': async () => {
    const cluster = await startClusterOfDoubles(3);
    const store = await openEsdbEventStore({
      ...{ connectionString: cluster.connectionString, attemptMs: 4_000, totalMs: 5_000 },
    });
    store.subscribe({ name: 'test', after: null, onEvents: () => {} });
    const { faults } = cluster.leader;
    faults.plan('append', { kind: 'silent' }, { kind: 'unavailable' });
    const underWay = [store.append(appendOf('s-1', FIRST))];
    await until('the first is under way', () => faults.left === 1);
    cluster.loseLeader();
    underWay.push(store.append(appendOf('s-2', FIRST)));
    // The second makes the client look for the leader; the first loses its node while it looks.
    await until('the second is refused', () => faults.left === 0);
    await sleep(150);
    await cluster.stop();
    // The client gives up after ten attempts, 100 ms apart.
    await sleep(2_500);
    await cluster.restart();
    await Promise.allSettled(underWay);
    await store.append(appendOf('s-3', FIRST));
  },
  'an event store that breaks its answers': async () => {
    const port = await startBroken(
      'HTTP/1.1 400 Bad Request\r\n\r\n',
      '\0'.repeat(64),
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    );
    for (const hosts of [`127.0.0.1:${port}`, `127.0.0.1:${port},localhost:${port}`]) {
      const connectionString = `esdb://${hosts}?tls=false&discoveryInterval=20`;
      await openEsdbEventStore({ connectionString, ...TIMES }).catch(() => null);
      const keys = openEsdbPersonalKeys({ connectionString, random: nodeRandom, ...TIMES });
      await Promise.allSettled([keys.create('a'), keys.get('a'), keys.erase('a')]);
      await keys.close();
    }
  },
  'a read of an event store that breaks after its first event': async () => {
    const double = await EsdbDouble.start();
    const keys = openEsdbPersonalKeys({ connectionString: double.connectionString, random: nodeRandom });
    await keys.create('a');
    double.faults.plan(
      'read',
      { kind: 'slow', everyMs: 1, breaksAfter: 1 },
      { kind: 'slow', everyMs: 1, breaksAfter: 1 },
    );
    await keys.get('a').catch(() => null);
    await keys.get('a');
    await sleep(closedAfter);
  },
  'Redis that breaks its answers': async () => {
    const port = await startBroken(
      '+OK\r\n?what\r\n',
      '-ERR no\r\n$-7\r\n',
      '*3\r\n$9999999999\r\nx',
      ':1\r\n:2\r\n:3\r\n:4\r\n:5\r\n',
    );
    for (const url of [
      `redis://127.0.0.1:${port}`,
      `redis+cluster://127.0.0.1:${port}`,
      `redis+sentinel://127.0.0.1:${port}/m`,
    ])
      for (let times = 0; times < 3; times += 1) {
        const redis = await connectRedis({ url, commandMs: 300 }).catch(() => null);
        await Promise.allSettled([redis?.get('a'), redis?.set('b', '1')]);
        redis?.disconnect();
      }
  },
  'a provider of a chain that breaks its answers': async () => {
    const port = await startBroken(
      'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"resu',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n',
      'HTTP/9.9 what\r\n\r\n',
      'HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
    );
    const provider = createHttpProvider({
      url: `http://127.0.0.1:${port}`,
      ...{ headers: {}, timeoutMs: 500, maxAnswerBytes: 1_000, maxConcurrency: 4 },
      ...{ family: 'evm', onRefusal: () => {}, onRequest: () => {} },
    });
    await Promise.allSettled(Array.from({ length: 12 }, () => provider.call('eth_blockNumber', [])));
    await provider.close();
  },
  'a receiver of webhooks that breaks its answers': async () => {
    const port = await startBroken(
      'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n',
      'HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
      'HTTP/1.1 103 Early\r\n\r\n'.repeat(20),
    );
    const sender = new HttpWebhookSender({ allowInsecure: true, ownHosts: [], timeoutMs: 500 });
    const body = new Uint8Array(10);
    const send = (merchantId: string, attempt: number) =>
      sender.send({ merchantId, url: `http://127.0.0.1:${port}/`, headers: [], body, attempt } as never);
    await Promise.allSettled(Array.from({ length: 12 }, (_, index) => send(`m-${index % 3}`, 1 + (index % 2))));
  },
};

await PROVOKED[process.argv[2]!]!();
await sleep(closedAfter);
process.stdout.write('survived\n');
process.exit(0);
