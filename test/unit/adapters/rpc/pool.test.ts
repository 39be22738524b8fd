import { afterEach, describe, expect, test } from 'vitest';
import { createConcurrencyLimit } from '../../../../src/adapters/rpc/concurrency-limit.ts';
import { retryAfterMs } from '../../../../src/adapters/rpc/http-provider.ts';
import { createProviderHealth, referenceHead } from '../../../../src/adapters/rpc/provider-health.ts';
import { AdmittedProviders } from '../../../../src/adapters/rpc/admitted-providers.ts';
import { createRpcPool, type RpcPoolOptions } from '../../../../src/adapters/rpc/pool.ts';
import { ChainUnavailable } from '../../../../src/ports/chain/chain.ts';
import { ProviderFault, RpcError } from '../../../../src/ports/chain/rpc-pool.ts';
import type { RpcObserver, RpcPool, RpcProvider } from '../../../../src/ports/chain/rpc-pool.ts';
import { down, FaultProxy, hanging, type Fault } from '../../../support/fault-proxy.ts';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** A provider that answers every method with its own name. */
async function provider(name: string): Promise<FaultProxy> {
  const proxy = await FaultProxy.before('http://127.0.0.1:1');
  ends.push(() => proxy.close());
  return proxy.play(() => ({ result: name }));
}

function poolOver(urls: string[], options: Partial<RpcPoolOptions> = {}): RpcPool {
  const pool = createRpcPool({ network: 'ethereum', urls, timeoutMs: 500, maxWaitMs: 0, ...options });
  ends.push(() => pool.close());
  return pool;
}

const nameOf = (pool: RpcPool, preferOtherThan: string[] = []) =>
  pool.run((each) => each.call('who', []), { preferOtherThan }).then(({ value }) => value);

describe('the pool', () => {
  test('uses the first provider as long as it responds', async () => {
    const [one, two] = [await provider('one'), await provider('two')];
    const pool = poolOver([one.url, two.url]);
    expect([await nameOf(pool), await nameOf(pool)]).toEqual(['one', 'one']);
    expect(two.calls).toEqual([]);
  });

  test('repeats the whole task at the next provider, so that one source serves all of it', async () => {
    const [one, two] = [await provider('one'), await provider('two')];
    one.play(({ method }) => (method === 'second' ? { status: 500 } : undefined));
    const { value, provider: name } = await poolOver([one.url, two.url]).run(async (each) => [
      await each.call('first', []),
      await each.call('second', []),
    ]);
    expect(value).toEqual(['two', 'two']);
    expect(name).toBe(new URL(two.url).host);
  });

  test("reports the time of the provider's clock, by its host", async () => {
    const one = await provider('one');
    const said: [string, number][] = [];
    const pool = poolOver([`${one.url}/key`, `${one.url}/other`], {
      observer: { onServerTime: (name, timeMs) => said.push([name, timeMs]) },
    });
    await pool.survey((each) => each.call('who', []));
    expect(said.map(([name]) => name)).toEqual([new URL(one.url).host, new URL(one.url).host]);
    for (const [, timeMs] of said) expect(Math.abs(timeMs - Date.now())).toBeLessThan(5_000);
  });

  test('comes back to the first one once its pause is over', async () => {
    const [one, two] = [await provider('one'), await provider('two')];
    const pool = poolOver([one.url, two.url]);
    one.play(down());
    expect(await nameOf(pool)).toBe('two');
    one.heal();
    one.play(() => ({ result: 'one' }));
    expect(await nameOf(pool)).toBe('two');
    await expect.poll(() => nameOf(pool), { timeout: 3_000 }).toBe('one');
  });

  test("treats a server error as the provider's problem and asks the next one", async () => {
    const [one, two] = [await provider('one'), await provider('two')];
    one.play(() => ({ error: { code: -32000, message: 'header not found' } }));
    expect(await nameOf(poolOver([one.url, two.url]))).toBe('two');
  });

  test('asks a second provider if there is one, and the same one again otherwise', async () => {
    const [one, two] = [await provider('one'), await provider('two')];
    const pool = poolOver([one.url, two.url]);
    expect(await nameOf(pool, [new URL(one.url).host])).toBe('two');
    expect(
      await nameOf(
        pool,
        [two, one].map(({ url }) => new URL(url).host),
      ),
    ).toBe('two');
    two.play(down());
    expect(await nameOf(pool, [new URL(one.url).host])).toBe('one');
  });

  test('prefers providers that keep up', async () => {
    const [one, two] = [await provider('one'), await provider('two')];
    const pool = poolOver([one.url, two.url]);
    await pool.survey(async (each) => each.report('head', each.name === new URL(one.url).host ? 90 : 100));
    expect(await nameOf(pool)).toBe('two');
    expect(pool.status()).toMatchObject([
      { healthy: false, lagBlocks: 10 },
      { healthy: true, lagBlocks: 0 },
    ]);
    await pool.run(async (each) => each.report('head', 99), { preferOtherThan: [new URL(two.url).host] });
    expect(await nameOf(pool)).toBe('one');
  });

  test('follows its list: a started call ends at its provider, new calls go to the new one', async () => {
    const [one, two] = [await provider('one'), await provider('two')];
    const gone: string[] = [];
    let urls: readonly string[] = [one.url];
    const pool = createRpcPool({
      network: 'ethereum',
      urls: () => urls,
      observer: { onGone: ({ provider: name }) => void gone.push(name) },
    });
    ends.push(() => pool.close());
    const swapped = Promise.withResolvers<void>();
    const begun = pool.run(async (each) => [
      await each.call('who', []),
      await swapped.promise,
      await each.call('who', []),
    ]);
    urls = [two.url];
    expect(await nameOf(pool)).toBe('two');
    swapped.resolve();
    expect((await begun).value).toEqual(['one', undefined, 'one']);
    expect(gone).toEqual([new URL(one.url).host]);
    expect(pool.status().map(({ provider: name }) => name)).toEqual([new URL(two.url).host]);
  });

  test('keeps the state of a provider that stays on the list, and treats another URL of its host as another one', async () => {
    const one = await provider('one');
    let urls: readonly string[] = [one.url];
    const pool = createRpcPool({ network: 'ethereum', urls: () => urls, maxWaitMs: 0 });
    ends.push(() => pool.close());
    one.play(down());
    await expect(nameOf(pool)).rejects.toThrow(ChainUnavailable);
    const other = await provider('other');
    urls = [one.url, other.url];
    expect(pool.status()[0]).toMatchObject({ consecutiveFaults: 1 });
    const admitted: string[] = [];
    const providers = new AdmittedProviders('ethereum', pool, async (each) => void admitted.push(each.name));
    one.heal();
    one.play(() => ({ result: 'one' }));
    urls = [`${one.url}/first`];
    await providers.on((each) => each.call('who', []));
    urls = [`${one.url}/second`];
    await providers.on((each) => each.call('who', []));
    await providers.on((each) => each.call('who', []));
    expect(admitted).toEqual([new URL(one.url).host, new URL(one.url).host]);
  });

  test('asks who came onto the list meanwhile, and never who left it', async () => {
    const [one, two, three] = [await provider('one'), await provider('two'), await provider('three')];
    let urls: readonly string[] = [one.url, two.url];
    const pool = createRpcPool({ network: 'ethereum', urls: () => urls, maxWaitMs: 0 });
    ends.push(() => pool.close());
    const swapDuringTheFirst = async (each: RpcProvider): Promise<unknown> => {
      if (each.name !== new URL(one.url).host) return each.call('who', []);
      urls = [three.url];
      throw new RpcError(-32000, 'header not found');
    };
    expect(await pool.run(swapDuringTheFirst)).toEqual({ value: 'three', provider: new URL(three.url).host });
    urls = [one.url, two.url];
    const opinions = await pool.survey(swapDuringTheFirst);
    expect(opinions.map((opinion) => opinion.provider)).toEqual([new URL(one.url).host, new URL(three.url).host]);
    expect(two.calls).toEqual([]);
  });

  test('reports nothing more about a removed provider, and blames no other URL of its host', async () => {
    const [one, two] = [await provider('one'), await provider('two')];
    const host = new URL(one.url).host;
    const reports: unknown[] = [];
    let urls: readonly string[] = [one.url];
    const observer: RpcObserver = {
      onLag: ({ provider: name }) => void reports.push(['lag', name]),
      onExcluded: ({ provider: name, reason }) => void reports.push(['excluded', name, reason]),
      onGone: ({ provider: name }) => void reports.push(['gone', name]),
    };
    const pool = createRpcPool({ network: 'ethereum', urls: () => urls, observer, maxWaitMs: 0 });
    ends.push(() => pool.close());
    const wrongChain = () => Promise.reject(new ProviderFault('wrong-chain', 'serves chain 5'));
    await pool.survey(wrongChain);
    urls = [`${one.url}/other`];
    await pool.survey(async (each) => {
      urls = [two.url];
      each.report('head', 1);
      return wrongChain();
    });
    expect(reports).toEqual([
      ['excluded', host, 'serves chain 5'],
      ['excluded', host, null],
      ['gone', host],
      ['lag', new URL(two.url).host],
      ['excluded', new URL(two.url).host, 'serves chain 5'],
    ]);
  });

  test("passes on errors that are not the provider's problem", async () => {
    const one = await provider('one');
    await expect(poolOver([one.url]).run(async () => Promise.reject(new TypeError('a bug')))).rejects.toThrow(
      TypeError,
    );
  });

  test('gives up with a reason for each provider, and without their keys', async () => {
    const [one, two] = [await provider('one'), await provider('two')];
    one.play(down(500));
    two.play(hanging());
    const error = await poolOver([`${one.url}/secret-path`, `${two.url}/?key=secret`])
      .run((each) => each.call('who', []))
      .then(
        () => new Error('none'),
        (reason: Error) => reason,
      );
    expect(error).toBeInstanceOf(ChainUnavailable);
    expect(String(error)).toMatch(/status 500.*no answer within 500 ms/);
    expect(String(error)).not.toContain('secret');
  });

  test('does not repeat a key that a provider echoes, neither from its URL, in whole or in part, nor from its headers', async () => {
    const one = await provider('one');
    const said = 'no plan: /v2/path%2Fkey?key=key-in-query, path/key, path%2Fkey, key-in-query, header-key, user-key';
    const url = `${one.url.replace('//', '//user-key@')}/v2/path%2Fkey?key=key-in-query`;
    const refusals: string[] = [];
    const pool = () =>
      poolOver([url], {
        headers: { 'api-key': 'header-key' },
        observer: { onRefusal: ({ text }) => refusals.push(text) },
      });
    const refusal = (fault: Fault) => (
      one.play(fault),
      pool()
        .run((each) => each.call('who', []))
        .then(String, String)
    );
    const cut = 'x'.repeat(490);
    const texts = [
      await refusal(() => ({ error: { code: -32000, message: said } })),
      await refusal(() => ({ error: { code: -32000, message: `${cut} key-in-query` } })),
    ];
    one.play(() => ({ status: 200, text: JSON.stringify({ Error: said }) }));
    texts.push(
      await pool()
        .run((each) => each.post('', {}))
        .then(String, String),
    );
    expect(texts[0]).toContain('no plan: [redacted], [redacted]');
    expect(texts[2]).toContain('no plan: [redacted], [redacted]');
    expect(refusals).toHaveLength(3);
    for (const text of [...texts, ...refusals]) expect(text).not.toMatch(/key-|-key|path|%2F/);
  });

  test('waits for a provider that sent Retry-After, unless that is too long', async () => {
    const one = await provider('one');
    let left = 1;
    one.play(() => (left-- > 0 ? { status: 429, headers: { 'retry-after': '1' } } : undefined));
    expect(await nameOf(poolOver([one.url], { maxWaitMs: 2_000 }))).toBe('one');
  });

  test('reads no more of a response than the limit', async () => {
    const one = await provider('x'.repeat(10_000));
    await expect(poolOver([one.url], { maxAnswerBytes: 5_000 }).run((each) => each.call('who', []))).rejects.toThrow(
      /over 5000 bytes/,
    );
  });

  test('reports every request and every lag', async () => {
    const one = await provider('one');
    const seen: unknown[] = [];
    const pool = poolOver([one.url], {
      observer: { onRequest: (request) => seen.push(request), onLag: (lag) => seen.push(lag) },
    });
    await pool.run(async (each) => {
      await each.call('eth_blockNumber', []);
      each.report('head', 5);
    });
    const name = new URL(one.url).host;
    expect(seen).toEqual([
      {
        network: 'ethereum',
        provider: name,
        method: 'eth_blockNumber',
        ok: true,
        durationMs: expect.any(Number) as number,
      },
      { network: 'ethereum', provider: name, lagBlocks: 0 },
    ]);
  });

  test('distinguishes two providers on one host', async () => {
    const one = await provider('one');
    const pool = poolOver([`${one.url}/a`, `${one.url}/b`]);
    const host = new URL(one.url).host;
    expect(pool.status().map(({ provider: name }) => name)).toEqual([host, `${host}#2`]);
  });
});

describe('Retry-After', () => {
  test.each<[string | undefined, number | undefined]>([
    ['5', 5_000],
    ['0', 0],
    [undefined, undefined],
    ['-1', undefined],
    ['soon', undefined],
    ['Wed, 21 Oct 2026 07:28:00 GMT', 10_000],
    ['Wed, 21 Oct 2020 07:28:00 GMT', 0],
  ])('%j is %j ms', (header, expected) => {
    expect(retryAfterMs(header, Date.parse('Wed, 21 Oct 2026 07:27:50 GMT'))).toBe(expected);
  });
});

describe("a provider's health", () => {
  test('pauses longer and longer while it fails, and resets after a success', () => {
    const health = createProviderHealth();
    const pauses = Array.from({ length: 9 }, () => (health.failed('unreachable', 0), health.waitMs(0)));
    expect(pauses).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000]);
    health.succeeded();
    health.failed('unreachable', 20_000);
    expect(health.waitMs(20_000)).toBe(250);
  });

  test('honours the wait a provider wishes, within reason', () => {
    const health = createProviderHealth();
    health.failed('rate-limited', 0, 7_000);
    expect(health.waitMs(1_000)).toBe(6_000);
    health.failed('rate-limited', 0, 86_400_000);
    expect(health.waitMs(0)).toBe(120_000);
  });

  test('does not suffer from errors that concern a single request', () => {
    const health = createProviderHealth();
    for (const kind of ['behind', 'too-large', 'inconsistent', 'incapable'] as const) health.failed(kind, 0);
    expect(health.waitMs(0)).toBe(0);
  });

  test('pauses after an answer that nobody knows, and for minutes when its plan is used up, never for good', () => {
    const health = createProviderHealth();
    health.failed('unknown', 0);
    expect(health.waitMs(0)).toBe(250);
    health.failed('quota-used', 0);
    expect(health.waitMs(0)).toBe(600_000);
  });

  test('shows a refusal for an hour', () => {
    const health = createProviderHealth();
    health.refused({ kind: 'unknown', text: 'no such luck' }, 0);
    expect(health.refusal(90_000)).toEqual({ kind: 'unknown', text: 'no such luck', ageSec: 90 });
    expect(health.refusal(3_600_000)).toBeNull();
  });

  test('is measured against the second highest head, so that one liar cannot discredit all others', () => {
    expect(referenceHead([100, 1_000_000, 99])).toBe(100);
    expect(referenceHead([100, 97])).toBe(100);
    expect(referenceHead([null, null])).toBeNull();
  });
});

describe('the concurrency limit', () => {
  test('admits no more than its limit, in order', async () => {
    const limit = createConcurrencyLimit({ initial: 2, max: 2 });
    const order: number[] = [];
    const tasks = [1, 2, 3].map((number) => limit.enter().then(() => order.push(number)));
    await Promise.resolve();
    await Promise.resolve();
    expect(order).toEqual([1, 2]);
    limit.leave(false);
    await Promise.all(tasks);
    expect(order).toEqual([1, 2, 3]);
  });

  test('halves when the provider pushes back and grows again with successes', async () => {
    const limit = createConcurrencyLimit({ initial: 8, max: 16 });
    await limit.enter();
    limit.leave(true);
    expect(limit.limit).toBe(4);
    for (let times = 0; times < 10; times += 1) {
      await limit.enter();
      limit.leave(false);
    }
    expect(limit.limit).toBeGreaterThan(4);
  });
});

test('faults and errors carry what is needed to judge them', () => {
  expect(new RpcError(-32005, 'm', { to: '0x1' })).toMatchObject({ code: -32005, data: { to: '0x1' } });
  expect(new ProviderFault('rate-limited', 'm', 5)).toMatchObject({ kind: 'rate-limited', retryAfterMs: 5 });
});
