import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { dnsResolver } from '../../src/adapters/webhook-http/host-resolver.ts';
import { HttpWebhookSender, type HttpWebhookSenderOptions } from '../../src/adapters/webhook-http/sender.ts';
import type { WebhookAnswer } from '../../src/ports/webhooks/sender.ts';
import { CertificateAuthority, selfSigned } from '../support/certificates.ts';
import { DnsServer, type DnsZone } from '../support/dns-server.ts';
import { answer, HostileReceiver, reset, silent, write } from '../support/hostile-receiver.ts';
import { merchantId, until } from '../support/webhook-world.ts';

/* W1 to W20 of the fault catalogue, against real sockets, a real name server and real TLS. */

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Short enough for a test; the real default is tested at the end. */
const SHORT_MS = 700;

function sender(options: Partial<HttpWebhookSenderOptions> = {}): HttpWebhookSender {
  const made = new HttpWebhookSender({ allowInsecure: true, ownHosts: [], timeoutMs: SHORT_MS, ...options });
  cleanups.push(() => made.close());
  return made;
}

async function receiver(...args: Parameters<typeof HostileReceiver.start>): Promise<HostileReceiver> {
  const started = await HostileReceiver.start(...args);
  cleanups.push(() => started.close());
  return started;
}

async function nameServer(zone: DnsZone): Promise<DnsServer> {
  const server = await DnsServer.start(zone);
  cleanups.push(() => server.close());
  return server;
}

const post = (through: HttpWebhookSender, url: string, merchant = 1): Promise<WebhookAnswer> =>
  through.send({
    merchantId: merchantId(merchant),
    url,
    headers: ['Content-Type', 'application/json'],
    body: '{"a":1}',
    attempt: 1,
  });

const text = (got: WebhookAnswer): string => Buffer.from(got.body).toString('latin1');

describe('a slow receiver', () => {
  it('W1: that accepts and never responds is cut off at the deadline, and its connection is closed', async () => {
    const hook = await receiver(silent);
    expect(await post(sender(), hook.url)).toMatchObject({ status: null, fault: 'timeout', incomplete: false });
    await until('the connection to close', () => hook.openSockets === 0);
  });

  it('W2: that sends its head a byte at a time is cut off at the deadline', async () => {
    const head = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Long: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa';
    const hook = await receiver((_, socket) => {
      let sent = 0;
      hook.every(50, () => void (sent < head.length && socket.writable && socket.write(head[sent++]!)));
    });
    expect(await post(sender(), hook.url)).toMatchObject({ status: null, fault: 'timeout' });
    await until('the connection to close', () => hook.openSockets === 0);
  });

  it('W3: that returns 200 and drips its body counts as delivered, flagged as incomplete', async () => {
    const hook = await receiver((_, socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n');
      hook.every(50, () => void (socket.writable && socket.write('x')));
    });
    const got = await post(sender(), hook.url);
    expect(got).toMatchObject({ status: 200, fault: null, incomplete: true });
    expect(text(got)).toMatch(/^x+$/);
    await until('the connection to close', () => hook.openSockets === 0);
  });

  it('that accepts TCP and never speaks TLS is cut off at the deadline', async () => {
    const hook = await receiver(silent);
    expect(await post(sender(), `https://127.0.0.1:${hook.port}/`)).toMatchObject({ status: null, fault: 'timeout' });
    await until('the connection to close', () => hook.openSockets === 0);
  });
});

describe('a receiver that sends too much', () => {
  it('W4: an endless body is cut off after 64 KB, of which 4 KB are kept', async () => {
    const chunk = Buffer.alloc(16 * 1024, 'y');
    let written = 0;
    const hook = await receiver((_, socket) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      const more = (): void => {
        while (socket.writable && !socket.writableNeedDrain) {
          written += chunk.length;
          socket.write(`${chunk.length.toString(16)}\r\n${chunk.toString()}\r\n`);
        }
        socket.once('drain', more);
      };
      more();
    });
    const got = await post(sender({ timeoutMs: 20_000 }), hook.url);
    expect(got).toMatchObject({ status: 200, fault: null, incomplete: true });
    expect(got.body).toHaveLength(4 * 1024);
    await until('the connection to close', () => hook.openSockets === 0);
    // What was written beyond is what the kernel's buffers take.
    expect(written).toBeLessThan(32 * 1024 * 1024);
  });

  it('W5: a compressed bomb is never unpacked', async () => {
    const bomb = gzipSync(Buffer.alloc(30 * 1024 * 1024));
    const hook = await receiver((_, socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`);
      socket.write(bomb);
    });
    const got = await post(sender({ timeoutMs: 20_000 }), hook.url);
    expect(got.status).toBe(200);
    expect(Buffer.from(got.body)).toEqual(bomb.subarray(0, 4 * 1024));
  });

  it.each([
    ['a Content-Length that is too long', 'HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\nshort'],
    ['a chunk that never ends', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFF\r\nshort'],
  ])('W6: %s costs no more than the deadline, and the status counts', async (_, bytes) => {
    const hook = await receiver(write(bytes));
    const got = await post(sender(), hook.url);
    expect(got).toMatchObject({ status: 200, fault: null, incomplete: true });
    expect(text(got)).toBe('short');
  });

  it('W6: a Content-Length that is too short does not poison the next delivery', async () => {
    const hook = await receiver(
      write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 500 Smuggled\r\nContent-Length: 0\r\n\r\n'),
    );
    const through = sender();
    expect((await post(through, hook.url)).status).toBe(200);
    expect((await post(through, hook.url)).status).toBe(200);
  });

  it('W7: a header of 1 MB is an invalid response', async () => {
    const hook = await receiver(
      write(`HTTP/1.1 200 OK\r\nX-Big: ${'a'.repeat(1024 * 1024)}\r\nContent-Length: 0\r\n\r\n`),
    );
    expect(await post(sender(), hook.url)).toMatchObject({ status: null, fault: 'invalid_response' });
  });

  it.each([
    ['NUL in a header', 'HTTP/1.1 200 OK\r\nX-Bad: a\0b\r\nContent-Length: 0\r\n\r\n'],
    ['a bare CR in a header', 'HTTP/1.1 200 OK\r\nX-Bad: a\rb\r\nContent-Length: 0\r\n\r\n'],
    ['a header without a colon', 'HTTP/1.1 200 OK\r\nnonsense\r\n\r\n'],
  ])('W7: %s is an invalid response', async (_, bytes) => {
    const hook = await receiver(write(bytes));
    expect(await post(sender(), hook.url)).toMatchObject({ status: null, fault: 'invalid_response' });
  });

  it('W7: a body that is not UTF-8 is kept as received', async () => {
    const bytes = Buffer.from([0xff, 0x00, 0xc3, 0x28, 0x0d, 0x0a, 0x1b]);
    const hook = await receiver((_, socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${bytes.length}\r\n\r\n`);
      socket.write(bytes);
    });
    expect(Buffer.from((await post(sender(), hook.url)).body)).toEqual(bytes);
  });
});

describe('W8: a redirect', () => {
  it.each([301, 302, 303, 307, 308])('%i is not followed, wherever it leads', async (status) => {
    const hook = await receiver();
    for (const location of [
      `${hook.url}/elsewhere`,
      'http://169.254.169.254/latest/meta-data/',
      'https://pay.example.com/',
    ]) {
      hook.behave = answer(status, '', { Location: location });
      expect((await post(sender(), hook.url)).status).toBe(status);
    }
    expect(hook.received.map((got) => got.path)).toEqual(['/hook', '/hook', '/hook']);
  });
});

describe('W9: an unusual status', () => {
  it.each([204, 206, 226, 299])('%i comes back as it is', async (status) => {
    const hook = await receiver(status === 204 ? write('HTTP/1.1 204 No Content\r\n\r\n') : answer(status));
    expect(await post(sender(), hook.url)).toMatchObject({ status, fault: null, incomplete: false });
  });

  it.each([
    ['100 without end', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(200)],
    ['103 without end', 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(200)],
    ['101', 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n'],
    ['HTTP/9.9', 'HTTP/9.9 200 OK\r\nContent-Length: 0\r\n\r\n'],
    ['a status of four digits', 'HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n'],
    ['no HTTP at all', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n'],
  ])('%s is a fault, not a response', async (_, bytes) => {
    const hook = await receiver(write(bytes));
    const got = await post(sender(), hook.url);
    expect(got.status).toBeNull();
    expect(['network', 'invalid_response']).toContain(got.fault);
  });

  it('200 after a few informational responses is 200', async () => {
    const hook = await receiver(
      write('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'),
    );
    expect(await post(sender(), hook.url)).toMatchObject({ status: 200, fault: null, incomplete: false });
  });

  it('600 comes back as it is, for the response table to refuse', async () => {
    const hook = await receiver(answer(600));
    expect((await post(sender(), hook.url)).status).toBe(600);
  });
});

describe('W10: a reset', () => {
  it('after the request is a network fault', async () => {
    const hook = await receiver(reset);
    expect(await post(sender(), hook.url)).toMatchObject({ status: null, fault: 'network' });
  });

  it('after the status line is a network fault: the head is not complete', async () => {
    const hook = await receiver((_, socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Le', () => hook.later(20, () => socket.resetAndDestroy()));
    });
    expect(await post(sender(), hook.url)).toMatchObject({ status: null, fault: 'network' });
  });

  it('in the middle of the body leaves the status to decide, flagged as incomplete', async () => {
    const hook = await receiver((_, socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf', () =>
        hook.later(20, () => socket.resetAndDestroy()),
      );
    });
    expect(await post(sender(), hook.url)).toMatchObject({ status: 200, fault: null, incomplete: true });
  });

  it('and a refused connection name what happened', async () => {
    const hook = await receiver();
    const { url } = hook;
    await hook.close();
    expect(await post(sender(), url)).toMatchObject({
      status: null,
      fault: 'network',
      detail: 'ECONNREFUSED',
      address: '127.0.0.1',
    });
    cleanups.pop();
  });
});

describe('W13: TLS', () => {
  const authority = new CertificateAuthority();
  const good = authority.issue({ name: 'hook', hosts: ['127.0.0.1'] });
  const secure = (hook: HostileReceiver): string => `https://127.0.0.1:${hook.port}/hook`;
  const past = new Date(Date.now() - 1_000);

  it('is accepted with a certificate of a known authority for the host', async () => {
    const hook = await receiver(answer(200), { tls: good });
    expect(await post(sender({ ca: authority.cert, timeoutMs: 5_000 }), secure(hook))).toMatchObject({
      status: 200,
      fault: null,
    });
  });

  it.each([
    [
      'an expired certificate',
      authority.issue({ name: 'hook', hosts: ['127.0.0.1'], notAfter: past }),
      'CERT_HAS_EXPIRED',
    ],
    [
      'a certificate that is not valid yet',
      authority.issue({ name: 'hook', hosts: ['127.0.0.1'], notBefore: new Date(Date.now() + 3_600_000) }),
      'CERT_NOT_YET_VALID',
    ],
    ['a self-signed certificate', selfSigned({ name: 'hook', hosts: ['127.0.0.1'] }), 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    [
      'a certificate for another host',
      authority.issue({ name: 'hook', hosts: ['other.example.com'] }),
      'ERR_TLS_CERT_ALTNAME_INVALID',
    ],
    [
      'a certificate of an unknown authority',
      new CertificateAuthority('Stranger').issue({ name: 'hook', hosts: ['127.0.0.1'] }),
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    ],
  ])('fails with %s, before a byte of the notification is sent', async (_, tls, detail) => {
    const hook = await receiver(answer(200), { tls });
    expect(await post(sender({ ca: authority.cert, timeoutMs: 5_000 }), secure(hook))).toMatchObject({
      status: null,
      fault: 'tls',
      detail,
    });
    expect(hook.received).toHaveLength(0);
  });

  it('is verified whatever the environment variables say', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    cleanups.push(async () => void vi.unstubAllEnvs());
    const hook = await receiver(answer(200), { tls: selfSigned({ name: 'hook', hosts: ['127.0.0.1'] }) });
    const got = await post(sender({ timeoutMs: 5_000 }), secure(hook));
    expect(got).toMatchObject({ status: null, fault: 'tls', detail: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
    expect(hook.received).toHaveLength(0);
  });

  it('fails below version 1.2', async () => {
    const hook = await receiver(answer(200), {
      tls: { ...good, minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT:@SECLEVEL=0' },
    });
    expect(await post(sender({ ca: authority.cert, timeoutMs: 5_000 }), secure(hook))).toMatchObject({
      status: null,
      fault: 'tls',
    });
    expect(hook.received).toHaveLength(0);
  });

  it('fails where plain HTTP is spoken', async () => {
    const hook = await receiver();
    hook.onConnection = (socket) => void socket.write('HTTP/1.1 400 Bad Request\r\n\r\n');
    expect(await post(sender({ timeoutMs: 5_000 }), secure(hook))).toMatchObject({ status: null, fault: 'tls' });
    expect(hook.received).toHaveLength(0);
  });

  it('is verified again on every connection', async () => {
    const hook = await receiver(
      (_, socket) => void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'),
      { tls: good },
    );
    const through = sender({ ca: authority.cert, timeoutMs: 5_000 });
    for (let round = 0; round < 3; round++) expect((await post(through, secure(hook))).status).toBe(200);
    expect(hook.connections).toBe(3);
  });
});

describe('W14: a name', () => {
  it.each<[string, DnsZone, string]>([
    ['that does not exist', () => ({ rcode: 'NXDOMAIN' }), 'ENOTFOUND'],
    ['whose server fails', () => ({ rcode: 'SERVFAIL' }), 'ESERVFAIL'],
    ['without addresses', () => ({ addresses: [] }), 'ENODATA'],
    ['that only points to itself', (name) => ({ cname: name }), 'ENODATA'],
    ['whose server is silent', () => null, 'ETIMEOUT'],
  ])('%s is a DNS fault within seconds', async (_, zone, code) => {
    const dns = await nameServer(zone);
    const got = await post(
      sender({ timeoutMs: 30_000, resolve: dnsResolver({ servers: [dns.address] }) }),
      'http://hook.attacker.net:4000/',
    );
    expect(got.fault).toBe('dns');
    expect(got.detail).toBe(code);
    expect(got.durationMs).toBeLessThan(10_000);
  });

  it('with 500 addresses is resolved, and the first one is used', async () => {
    const hook = await receiver(answer(200), { host: '127.0.0.1' });
    const addresses = ['127.0.0.1', ...Array.from({ length: 499 }, (_, index) => `10.0.${index >> 8}.${index & 255}`)];
    const dns = await nameServer((_, type) => ({ addresses: type === 'A' ? addresses : [] }));
    const resolve = dnsResolver({ servers: [dns.address] });
    expect(await resolve('many.attacker.net')).toHaveLength(500);
    const pinned = sender({
      resolve: async (host) => (await resolve(host)).sort((one) => (one === '127.0.0.1' ? -1 : 1)),
      timeoutMs: 5_000,
    });
    expect(await post(pinned, `http://many.attacker.net:${hook.port}/`)).toMatchObject({
      status: 200,
      address: '127.0.0.1',
    });
  });

  it('is tried at another of its addresses on the next attempt', async () => {
    const hook = await receiver();
    const through = sender({ resolve: async () => ['127.0.0.2', '127.0.0.1'] });
    const attempts = [1, 2].map((attempt) =>
      through.send({
        merchantId: merchantId(attempt),
        url: `http://two.attacker.net:${hook.port}/`,
        headers: [],
        body: '{}',
        attempt,
      }),
    );
    const [first, second] = await Promise.all(attempts);
    expect(first!.address).toBe('127.0.0.2');
    expect(second!).toMatchObject({ address: '127.0.0.1', status: 200 });
  });
});

describe('a forbidden address', () => {
  const production = (resolve: HttpWebhookSenderOptions['resolve'], port: number): HttpWebhookSender =>
    sender({ allowInsecure: false, ports: [port], ...(resolve && { resolve }) });

  it.each<[string, DnsZone]>([
    ['an IPv4 loopback', (_, type) => ({ addresses: type === 'A' ? ['127.0.0.1'] : [] })],
    ['an IPv6 loopback', (_, type) => ({ addresses: type === 'AAAA' ? ['::1'] : [] })],
    ['a mapped loopback', (_, type) => ({ addresses: type === 'AAAA' ? ['::ffff:7f00:1'] : [] })],
    ['NAT64', (_, type) => ({ addresses: type === 'AAAA' ? ['64:ff9b::7f00:1'] : [] })],
    ['6to4', (_, type) => ({ addresses: type === 'AAAA' ? ['2002:7f00:1::1'] : [] })],
    ['cloud metadata', (_, type) => ({ addresses: type === 'A' ? ['169.254.169.254'] : [] })],
  ])('W15: %s behind a harmless name is blocked without a packet', async (_, zone) => {
    const hook = await receiver(answer(200), { host: '127.0.0.1' });
    const dns = await nameServer(zone);
    const got = await post(
      production(dnsResolver({ servers: [dns.address] }), hook.port),
      `https://rebind.attacker.net:${hook.port}/`,
    );
    expect(got).toMatchObject({ status: null, fault: 'blocked' });
    expect(hook.connections).toBe(0);
  });

  it('W15: a name whose address turns bad between two look-ups is resolved once per connection', async () => {
    const hook = await receiver();
    let asked = 0;
    // The first answer is public but leads nowhere; whoever asked again would be led inside.
    const resolve = async (): Promise<string[]> => (++asked % 2 === 1 ? ['2000::1'] : ['127.0.0.1']);
    const through = production(resolve, hook.port);
    const got = await post(through, `https://rebind.attacker.net:${hook.port}/`);
    expect(got.status).toBeNull();
    expect(got.address).toBe('2000::1');
    expect(asked).toBe(1);
    expect(await post(through, `https://rebind.attacker.net:${hook.port}/`)).toMatchObject({ fault: 'blocked' });
    expect(hook.connections).toBe(0);
  });

  it('W16: one private address among public ones blocks the whole name', async () => {
    const hook = await receiver();
    const addresses = [
      ...Array.from({ length: 400 }, (_, index) => `93.184.${index >> 8}.${index & 255}`),
      '127.0.0.1',
    ];
    const dns = await nameServer((_, type) => ({ addresses: type === 'A' ? addresses : [] }));
    const got = await post(
      production(dnsResolver({ servers: [dns.address] }), hook.port),
      `https://mixed.attacker.net:${hook.port}/`,
    );
    expect(got).toMatchObject({ status: null, fault: 'blocked' });
    expect(hook.connections).toBe(0);
  });

  it('W16: a private IPv6 address next to a public IPv4 address blocks the whole name', async () => {
    const dns = await nameServer((_, type) => ({ addresses: type === 'A' ? ['93.184.215.14'] : ['fd00::1'] }));
    const got = await post(production(dnsResolver({ servers: [dns.address] }), 443), 'https://mixed.attacker.net/');
    expect(got).toMatchObject({ status: null, fault: 'blocked' });
  });

  it.each([
    'https://127.0.0.1/',
    'https://[::1]/',
    'http://93.184.215.14/',
    'http://93.184.215.14:443/',
    'https://localhost/',
    'https://a@b.com/',
    'https://10.0.0.1/',
  ])('W17, W18, W19: %s is blocked again at delivery, whatever was registered', async (url) => {
    const through = sender({ allowInsecure: false });
    expect(await post(through, url)).toMatchObject({ status: null, fault: 'blocked', address: null });
  });
});

describe('a connection', () => {
  it('is kept for the next delivery to the same endpoint', async () => {
    const hook = await receiver();
    const through = sender();
    for (let round = 0; round < 5; round++) expect((await post(through, hook.url)).address).toBe('127.0.0.1');
    expect(hook.connections).toBe(1);
  });

  it('is never shared between merchants', async () => {
    const hook = await receiver();
    const through = sender();
    for (let round = 0; round < 3; round++) {
      await post(through, hook.url, 1);
      await post(through, hook.url, 2);
    }
    expect(hook.connections).toBe(2);
  });

  it('that the receiver closed while idle costs no attempt', async () => {
    const hook = await receiver((_, socket) =>
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok'),
    );
    const through = sender();
    for (let round = 0; round < 5; round++) {
      expect((await post(through, hook.url)).status).toBe(200);
      await until('the close to arrive', () => hook.openSockets === 0);
    }
  });

  it('that the receiver closes after every response without announcing it fails one delivery, not every other one', async () => {
    const ending = new WeakSet<object>();
    const hook = await receiver((_, socket) => {
      if (ending.has(socket)) return;
      ending.add(socket);
      // Late enough for the next request to be on its way.
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok', () => hook.later(20, () => socket.end()));
    });
    const through = sender();
    let failures = 0;
    for (let round = 0; round < 20; round++) if ((await post(through, hook.url)).status === null) failures += 1;
    expect(failures).toBeLessThanOrEqual(1);
  });

  it('that sends unsolicited data is closed, and the data counts as no response', async () => {
    const hook = await receiver((_, socket) => {
      socket.write('HTTP/1.1 200 OK\r\nKeep-Alive: timeout=60\r\nContent-Length: 0\r\n\r\n', () =>
        hook.later(20, () => socket.write('HTTP/1.1 500 Smuggled\r\nContent-Length: 0\r\n\r\n')),
      );
    });
    const through = sender();
    for (let round = 0; round < 2; round++) {
      expect((await post(through, hook.url)).status).toBe(200);
      await until('the connection to close', () => hook.openSockets === 0);
    }
  });

  it('is closed before the receiver would close it', async () => {
    const hook = await receiver(answer(200, '', { 'Keep-Alive': 'timeout=3' }));
    const through = sender();
    for (let round = 0; round < 2; round++) {
      await post(through, hook.url);
      await post(through, hook.url);
      await until('the connection to close', () => hook.openSockets === 0);
    }
    expect(hook.connections).toBe(2);
  });

  it("to the endpoint's former address is not used any more", async () => {
    const [before, after] = [await receiver(), await receiver()];
    const through = sender();
    await post(through, before.url);
    await post(through, after.url);
    expect([before.received.length, after.received.length]).toEqual([1, 1]);
    await until('the connection to close', () => before.openSockets === 0);
    expect(after.openSockets).toBe(1);
  });

  it('waits with at most 511 others', async () => {
    const hook = await receiver();
    const through = sender({ timeoutMs: 30_000 });
    await Promise.all(Array.from({ length: 520 }, (_, index) => post(through, hook.url, index)));
    await until('eight connections to close', () => hook.openSockets === 512);
    expect((await post(through, hook.url, 519)).status).toBe(200);
    expect(hook.connections).toBe(520);
  });

  it('goes straight to the endpoint, whatever proxy the environment names', async () => {
    const hook = await receiver();
    const before = { ...process.env };
    cleanups.push(async () => void Object.assign(process.env, before));
    for (const name of ['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'])
      process.env[name] = 'http://127.0.0.1:9/';
    expect((await post(sender(), hook.url)).status).toBe(200);
    for (const name of ['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'])
      delete process.env[name];
  });

  it('carries exactly the headers that were given, and the length', async () => {
    const hook = await receiver();
    await sender().send({
      merchantId: merchantId(1),
      url: `${hook.url}?q=1`,
      headers: ['Content-Type', 'application/json', 'X-One', '1'],
      body: '{"ä":1}',
      attempt: 1,
    });
    const [got] = hook.received;
    expect(got!.path).toBe('/hook?q=1');
    expect(got!.raw.toString('utf8')).toBe('{"ä":1}');
    expect(Object.keys(got!.headers).sort()).toEqual(['connection', 'content-length', 'content-type', 'host', 'x-one']);
  });

  it('is cut when the sender closes', async () => {
    const hook = await receiver(silent);
    const through = sender({ timeoutMs: 60_000 });
    const pending = post(through, hook.url);
    await until('the request', () => hook.received.length === 1);
    await through.close();
    expect(await pending).toMatchObject({ status: null, fault: 'network' });
  });
});

describe('the delivery timeout', () => {
  it('W1, W2, W3, W20: is 30 s for the whole exchange', async () => {
    const slow = (ms: number) =>
      receiver().then((hook) => {
        hook.behave = (_, socket) =>
          hook.later(ms, () => void (socket.writable && socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')));
        return hook;
      });
    const [inTime, late, mute, dripping] = await Promise.all([
      slow(28_500),
      slow(31_500),
      receiver(silent),
      receiver(),
    ]);
    dripping.behave = (_, socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n');
      dripping.every(1_000, () => void (socket.writable && socket.write('z')));
    };
    const through = new HttpWebhookSender({ allowInsecure: true, ownHosts: [] });
    cleanups.push(() => through.close());
    const [first, second, third, fourth] = await Promise.all(
      [inTime, late, mute, dripping].map((hook) => post(through, hook.url)),
    );
    expect(first).toMatchObject({ status: 200, fault: null });
    expect(second).toMatchObject({ status: null, fault: 'timeout' });
    expect(third).toMatchObject({ status: null, fault: 'timeout' });
    expect(fourth).toMatchObject({ status: 200, incomplete: true });
    for (const cut of [second, third, fourth]) expect(cut!.durationMs).toBeGreaterThanOrEqual(29_900);
  });
});
