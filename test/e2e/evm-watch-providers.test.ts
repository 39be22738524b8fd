import { afterEach, describe, expect, test } from 'vitest';
import { FaultProxy, down, hanging, laggingBy, limitedTo, lying, rateLimitedTimes } from '../support/fault-proxy.ts';
import type { Fault } from '../support/fault-proxy.ts';
import { sessionId, WatchWorld, type WorldOptions } from './evm-watch-world.ts';

const worlds: WatchWorld[] = [];
const proxies: FaultProxy[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
  for (const proxy of proxies.splice(0)) await proxy.close();
});

interface Scene {
  readonly world: WatchWorld;
  readonly first: FaultProxy;
  readonly second: FaultProxy;
}

/** A world whose watcher sees its node through two providers that can be made to misbehave. */
async function scene(
  options: WorldOptions & {
    readonly slotsInAnEpoch?: number;
    readonly pruned?: boolean;
    readonly single?: boolean;
  } = {},
): Promise<Scene> {
  const world = await WatchWorld.create(options);
  worlds.push(world);
  const [first, second] = [await FaultProxy.before(world.anvil.url), await FaultProxy.before(world.anvil.url)];
  proxies.push(first, second);
  await world.restart({ urls: options.single ? [first.url] : [first.url, second.url] });
  return { world, first, second };
}

/** Leaves our transfers out but keeps others of the same block, so that no header gives it away. */
const withoutOurs = (ours: string): Fault =>
  lying('eth_getLogs', (logs: { topics: string[] }[]) =>
    logs.filter(({ topics }) => !topics[2]!.endsWith(ours.slice(2).toLowerCase())),
  );

describe('a payment is found although the first provider', () => {
  test('lags behind', async () => {
    const { world, first } = await scene({ chain: { lagProbeMs: 100 } });
    first.play(laggingBy(20));
    await world.anvil.mine(30);
    await world.anvil.pay(world.token, world.ours, 1_000_000n);
    await world.anvil.mine(2);
    await world.until(() => world.book.log.length === 2);
    expect(world.book.log).toEqual(['detected 1.00 in 32', 'confirmed 1.00 in 32']);
  });

  test('falls behind after it had been ahead: that is noticed at once', async () => {
    const { world, first } = await scene();
    await world.anvil.mine(30);
    await world.caughtUp();
    first.play(laggingBy(20));
    await world.anvil.pay(world.token, world.ours, 1_000_000n);
    await world.until(() => world.book.log.length === 1);
  });

  test('hides it: the second reading, once the block is final, asks the other one', async () => {
    const { world, first } = await scene({ slotsInAnEpoch: 1 });
    const { anvil, book, token, ours } = world;
    first.play(withoutOurs(ours));
    await anvil.transfer(token, anvil.account(8), 1n);
    await anvil.pay(token, ours, 1_000_000n);
    await world.caughtUp();
    expect(book.log).toEqual([]);
    await anvil.mine(4);
    await world.until(() => book.log.length === 2);
    expect(book.log).toEqual(['detected 1.00 in 2', 'confirmed 1.00 in 2']);
    expect(world.anomalies).toMatchObject([{ kind: 'found-late' }]);
  });

  test('stops responding in between', async () => {
    const { world, first } = await scene({ pool: { timeoutMs: 300 } });
    first.play(hanging());
    await world.anvil.pay(world.token, world.ours, 1_000_000n);
    await world.until(() => world.book.log.length === 1);
  });

  test('sends Retry-After again and again, and is the only one', async () => {
    const { world, first } = await scene({ single: true });
    first.play(rateLimitedTimes(3));
    await world.anvil.pay(world.token, world.ours, 1_000_000n);
    await world.until(() => world.book.log.length === 1);
  });

  test('is gone for a while, and is the only one', async () => {
    const { world, first } = await scene({ single: true });
    first.play(down());
    await world.anvil.pay(world.token, world.ours, 1_000_000n);
    await world.until(() => world.watcher.status().consecutiveFailures > 1);
    expect(world.watcher.status().scannedBlock).toBe(1);
    first.heal();
    await world.until(() => world.book.log.length === 1);
  });
});

describe('what must not count does not, although a provider', () => {
  test('invents a transfer: it is never confirmed, and reverted in the end', async () => {
    const { world, first } = await scene({ single: true });
    const { anvil, book, token, ours } = world;
    const real = await anvil.pay(token, anvil.account(8), 1_000_000n);
    await world.caughtUp();
    first.play(
      lying('eth_getLogs', (logs: { transactionHash: string; topics: string[] }[]) =>
        logs.map((log) => ({
          ...log,
          topics: [log.topics[0], log.topics[1], `0x${ours.slice(2).toLowerCase().padStart(64, '0')}`],
        })),
      ),
    );
    const txHash = await anvil.pay(token, anvil.account(8), 2_000_000n);
    expect(txHash).not.toBe(real);
    await anvil.mine(3);
    await world.until(() => book.log.length === 2);
    expect(book.log).toEqual(['detected 2.00 in 3', 'reverted 2.00']);
  });

  test('invents a receipt too: above the amount that needs it, a second source is asked', async () => {
    const { world, first } = await scene({ chain: { confirmWithSecond: (units) => units >= 10n ** 18n } });
    const { anvil, book, token, ours } = world;
    const lie = (log: { data: string }): unknown => ({
      ...log,
      data: `0x${(10n ** 12n).toString(16).padStart(64, '0')}`,
    });
    first.play(lying('eth_getLogs', (logs: { data: string }[]) => logs.map(lie)));
    first.play(
      lying(
        'eth_getTransactionReceipt',
        (receipt: { logs: { data: string }[] } | null) => receipt && { ...receipt, logs: receipt.logs.map(lie) },
      ),
    );
    await anvil.pay(token, ours, 1n);
    await anvil.mine(6);
    await world.until(() => book.log.length === 2);
    expect(book.log).toEqual(['detected 1000000.00 in 2', 'reverted 1000000.00']);
  });

  test('is the only one where a second is needed: the payment shows, and waits', async () => {
    const { world, first, second } = await scene({
      single: true,
      chain: { confirmWithSecond: (units) => units >= 10n ** 18n },
    });
    const { anvil, book, token, ours } = world;
    await anvil.pay(token, ours, 1_000_000n);
    await anvil.pay(token, ours, 10_000n);
    await anvil.mine(4);
    await world.until(() => book.log.length === 3 && world.anomalies.some(({ kind }) => kind === 'disputed'));
    expect(book.log).toEqual(['detected 1.00 in 2', 'detected 0.01 in 3', 'confirmed 0.01 in 3']);
    await world.restart({ urls: [first.url, second.url] });
    await world.until(() => book.log.length === 4);
    expect(book.log[3]).toBe('confirmed 1.00 in 2');
  });

  test('denies a payment: the word of one provider reverts nothing', async () => {
    const { world, first } = await scene();
    const { anvil, book, token, ours } = world;
    await anvil.pay(token, ours, 1_000_000n);
    await world.until(() => book.log.length === 1);
    first.play(lying('eth_getTransactionReceipt', () => null));
    await anvil.mine(3);
    await world.until(() => book.log.length === 2);
    expect(book.log[1]).toBe('confirmed 1.00 in 2');
  });
});

describe('the durable cursor', () => {
  test('waits while the second read lacks a known payment', async () => {
    const { world, second } = await scene({ slotsInAnEpoch: 1 });
    const { anvil, token, ours } = world;
    await world.until(() => world.lastCovered() !== null);
    second.play(withoutOurs(ours));
    await anvil.transfer(token, anvil.account(8), 1n);
    await anvil.pay(token, ours, 1_000_000n);
    await anvil.mine(8);
    await world.until(() => world.anomalies.some(({ kind }) => kind === 'incomplete-range'));
    expect(world.lastCovered()!.block).toBeLessThan(2);
    second.heal();
    await world.until(() => world.lastCovered()!.block >= 7);
  });
});

describe('a long outage', () => {
  test('of thousands of blocks is caught up, oldest first, in ranges as wide as the provider serves', async () => {
    const { world, first } = await scene({
      slotsInAnEpoch: 1,
      pruned: true,
      single: true,
      watch: { coverageIntervalMs: 60_000 },
    });
    const { anvil, book, token, ours } = world;
    await world.caughtUp();
    await world.watcher.stop();
    const from = await anvil.head();
    for (let part = 1n; part <= 3n; part += 1n) {
      await anvil.mine(1_000);
      await anvil.pay(token, ours, part * 1_000_000n);
    }
    await anvil.mine(10);
    first.calls.length = 0;
    await world.restart();
    await world.until(() => book.log.filter((line) => line.startsWith('confirmed')).length === 3);
    const detected = book.log.filter((line) => line.startsWith('detected'));
    expect(detected.map((line) => Number(line.split(' ').at(-1)))).toEqual(
      [1, 2, 3].map((part) => from + part * 1_001),
    );
    expect(first.count('eth_getLogs')).toBeLessThan(30);
    await world.until(async () => world.watcher.status().coveredBlock === (await anvil.head()) - 2, 120_000);
    await world.watcher.stop();
    expect(world.ranges.at(-1)!.toBlock).toBe((await anvil.head()) - 2);
    expect(world.ranges.reduce((sum, { fromBlock, toBlock }) => sum + toBlock - fromBlock + 1, 0)).toBe(
      (await anvil.head()) - 2 - world.ranges[0]!.fromBlock + 1,
    );
  });

  test('at a provider of ten blocks a request skips nothing either', async () => {
    const { world, first } = await scene({ slotsInAnEpoch: 1, single: true });
    const { anvil, book, token, ours } = world;
    await world.watcher.stop();
    for (let part = 1n; part <= 4n; part += 1n) {
      await anvil.mine(49);
      await anvil.pay(token, ours, part * 1_000_000n);
    }
    first.play(limitedTo(10, 'alchemyFree'));
    await world.restart();
    await world.until(() => book.log.filter((line) => line.startsWith('detected')).length === 4);
  });
});

describe('two networks', () => {
  test('do not wait for each other', async () => {
    const stuck = await scene({ pool: { timeoutMs: 60_000 } });
    stuck.first.play(hanging());
    stuck.second.play(hanging());
    const fine = await scene();
    await stuck.world.anvil.mine();
    fine.world.addresses.add(fine.world.anvil.account(7), sessionId('e'));
    await fine.world.anvil.pay(fine.world.token, fine.world.anvil.account(7), 1_000_000n);
    await fine.world.anvil.mine(2);
    await fine.world.until(() => fine.world.book.log.length === 2);
    expect(stuck.world.watcher.status().scannedBlock).toBeLessThanOrEqual(1);
    stuck.first.heal();
    stuck.second.heal();
    await Promise.all([stuck.first.close(), stuck.second.close()]);
  });
});
