import { describe, expect, it, onTestFinished } from 'vitest';
import { SolanaWorld } from '../../../support/solana-world.ts';

const DAY_SEC = 86_400;

function worldWith(options: ConstructorParameters<typeof SolanaWorld>[0] = {}): SolanaWorld {
  const world = new SolanaWorld(options);
  onTestFinished(() => world.stop());
  return world;
}

const many = (world: SolanaWorld, count: number, agoSec: number, name: string): string[] =>
  Array.from({ length: count }, (_, index) => world.ended(`${name}-${index}`, agoSec));

describe('the time until a transfer to an ended session is shown', { timeout: 60_000 }, () => {
  it('is a minute for those of the last day, and an interval for older ones, while all is well', async () => {
    const world = worldWith({ oldIntervalMs: 600_000 });
    const recent = many(world, 1_500, 3_600, 'recent');
    const old = many(world, 2_000, 9 * DAY_SEC, 'old');
    world.covered = { block: 900, hash: 'hash-900', timeSec: SolanaWorld.START_SEC - 60 };
    await world.restart();
    await world.run(1_900);
    for (const owner of recent) expect(world.longestGapSec(owner)).toBeLessThanOrEqual(62);
    for (const owner of old) expect(world.longestGapSec(owner)).toBeLessThanOrEqual(602);
    for (const owner of old) expect(world.looks.get(owner)!.length).toBeLessThanOrEqual(4);
  });

  it.each([7, 45, 130])('holds although the service is killed every %i seconds', async (everySec) => {
    const world = worldWith({ oldIntervalMs: 600_000 });
    const recent = many(world, 800, 3_600, 'recent');
    const old = many(world, 1_200, 9 * DAY_SEC, 'old');
    world.covered = { block: 900, hash: 'hash-900', timeSec: SolanaWorld.START_SEC - 60 };
    for (let passedSec = 0; passedSec < 1_900; passedSec += everySec) {
      await world.restart();
      await world.run(everySec);
    }
    for (const owner of recent) expect(world.longestGapSec(owner)).toBeLessThanOrEqual(62);
    for (const owner of old) expect(world.longestGapSec(owner)).toBeLessThanOrEqual(602 + everySec + 40);
  });

  it('is seconds after an outage for those of the last day, whatever their number', async () => {
    const world = worldWith();
    const recent = many(world, 4_000, 3_600, 'recent');
    await world.restart();
    await world.run(120);
    world.chain.down = true;
    await world.run(3_600);
    const paid = recent
      .filter((_, index) => index % 400 === 0)
      .map((owner) => world.chain.pay(owner, 1_000_000n).txHash);
    await world.restart();
    world.chain.down = false;
    await world.restart();
    const startedSec = world.nowSec;
    await world.run(20);
    for (const txHash of paid) expect(world.shownAtSec.get(txHash)! - startedSec).toBeLessThanOrEqual(4_000 / 500 + 2);
  });

  it('is no longer for the others when one balance cannot be explained', async () => {
    const world = worldWith({ unexplainedAfterMs: 1e9 });
    const recent = many(world, 1_000, 3_600, 'recent');
    world.chain.unexplained.set('recent-5', 7n);
    await world.restart();
    await world.run(300);
    const looks = (owner: string): number => world.looks.get(owner)!.length;
    expect(looks('recent-5')).toBeGreaterThan(250);
    for (const owner of recent) if (owner !== 'recent-5') expect(looks(owner)).toBeLessThanOrEqual(7);
    expect(world.covered!.sweeps!.recent!.previousSec).toBeNull();
  });

  it('is not spent on the histories of those who were paid before and are not swept', async () => {
    const world = worldWith();
    const paid = many(world, 2_000, 3_600, 'paid');
    for (const owner of paid) world.chain.pay(owner, 5_000_000n);
    world.booked = paid.map((owner) => [`ata-${owner}`, 5_000_000n]);
    world.chain.finalizedSlot = world.chain.slot;
    const late = world.chain.pay('paid-1999', 1_000_000n);
    world.chain.calls.length = 0;
    await world.restart();
    await world.run(10);
    expect(world.shownAtSec.get(late.txHash)).toBeLessThanOrEqual(6);
    expect(world.chain.calls.filter((call) => call.startsWith('history')).length).toBeLessThan(60);
    await world.run(600);
    const read = new Set(
      world.chain.calls.filter((call) => call.startsWith('history')).map((call) => call.split(' ')[1]),
    );
    expect(read.size).toBe(2_000);
  });

  it('ends for a transfer that the history left out, once it lists it, however long that took', async () => {
    const world = worldWith({ unexplainedAfterMs: 60_000 });
    world.ended('a', 3_600);
    await world.restart();
    await world.run(5);
    const { txHash } = world.chain.pay('a', 3_000_000n);
    world.chain.hiddenFromHistory.add(txHash);
    await world.run(600);
    expect(world.shownAtSec.size).toBe(0);
    world.chain.hiddenFromHistory.clear();
    await world.run(1_200);
    expect(world.shownAtSec.has(txHash)).toBe(true);
  });
});

describe('open sessions', () => {
  it('older than ten minutes are read every five seconds, all of them in the fewest calls, and nothing between', async () => {
    const world = worldWith();
    const open = Array.from({ length: 100 }, (_, index) => world.open(`open-${index}`));
    await world.restart();
    await world.run(700);
    world.readings = 0;
    await world.run(600);
    expect(world.readings).toBeLessThanOrEqual(2 * 121);
    for (const owner of open) expect(world.longestGapSec(owner)).toBeLessThanOrEqual(6);
  });

  it('younger ones are read every second', async () => {
    const world = worldWith();
    const owner = world.open('open');
    await world.restart();
    await world.run(300);
    expect(world.longestGapSec(owner)).toBeLessThanOrEqual(2);
  });
});
