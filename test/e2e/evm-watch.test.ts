import { afterEach, describe, expect, test } from 'vitest';
import { StoreUnavailable } from '../../src/ports/event-log/event-store.ts';
import type { Anvil } from '../support/anvil.ts';
import { sessionId, WatchWorld, type WorldOptions } from './evm-watch-world.ts';

let world: WatchWorld;
const started = async (options: WorldOptions & { slotsInAnEpoch?: number } = {}): Promise<WatchWorld> => {
  world = await WatchWorld.create(options);
  await world.watcher.start();
  return world;
};
afterEach(() => world.close());

describe('a payment', () => {
  test('is recorded when its block appears and confirmed at exactly the confirmation that the rule requires', async () => {
    const { anvil, book, token, ours } = await started();
    await anvil.pay(token, ours, 10_500_000n);
    await world.until(() => book.log.length > 0);
    expect(book.log).toEqual(['detected 10.50 in 2']);
    await anvil.mine();
    await world.caughtUp();
    expect(book.log).toHaveLength(1);
    await anvil.mine();
    await world.until(() => book.log.length > 1);
    expect(book.log).toEqual(['detected 10.50 in 2', 'confirmed 10.50 in 2']);
    expect(book.deposits.values().next().value?.confirmed).toMatchObject({
      rule: { kind: 'confirmations', confirmations: 3 },
      blockNumber: 2,
      headNumber: 4,
    });
  });

  test("waits for the chain's own finality if the rule says so", async () => {
    const { anvil, book, token, ours } = await started({ rule: { kind: 'finalized' }, slotsInAnEpoch: 2 });
    await anvil.pay(token, ours, 1_000_000n);
    await anvil.mine(3);
    await world.caughtUp();
    expect(book.log).toEqual(['detected 1.00 in 2']);
    await anvil.mine();
    await world.until(() => book.log.length > 1);
    expect(book.log[1]).toBe('confirmed 1.00 in 2');
  });

  test('counts several times when one transaction pays several times, each under its own log index', async () => {
    await started();
    const { anvil, book, token, ours } = world;
    const other = anvil.account(6);
    world.addresses.add(other, sessionId('b'));
    const tricks = await anvil.deployTricks();
    await anvil.pay(token, tricks, 100_000_000n);
    const txHash = await anvil.payMany(tricks, token, [
      { to: ours, units: 1_000_000n },
      { to: anvil.account(7), units: 2_000_000n },
      { to: other, units: 3_000_000n },
      { to: ours, units: 4_000_000n },
    ]);
    await anvil.mine(3);
    await world.until(() => book.log.filter((line) => line.startsWith('confirmed')).length === 3);
    expect([...book.deposits].map(([key, { facts, sessionId: id }]) => [key, facts.amount, id]).sort()).toEqual([
      [`ethereum:${txHash}:0`, '1.00', sessionId('a')],
      [`ethereum:${txHash}:2`, '3.00', sessionId('b')],
      [`ethereum:${txHash}:3`, '4.00', sessionId('a')],
    ]);
    expect(book.deposits.get(`ethereum:${txHash}:0`)?.facts.fromAddress).toBe(tricks);
  });

  test('that failed, moved nothing, or is of a look-alike token does not count', async () => {
    await started();
    const { anvil, book, token, ours } = world;
    const tricks = await anvil.deployTricks();
    await anvil.pretend(tricks, anvil.account(0), ours, 10n ** 12n);
    await anvil.transfer(token, ours, 0n);
    await anvil.mine();
    await anvil.pause(token);
    const failed = await anvil.transfer(token, ours, 5_000_000n);
    await anvil.mine(5);
    expect((await anvil.receipt(failed)).status).toBe('0x0');
    await world.caughtUp();
    expect(book.log).toEqual([]);
  });

  test('to an address assigned long ago is still seen', async () => {
    await started();
    const { anvil, book, token } = world;
    await anvil.mine(40);
    await world.caughtUp();
    world.addresses.add(anvil.account(8), sessionId('c'));
    await anvil.pay(token, anvil.account(8), 7_000_000n);
    await world.until(() => book.log.length === 1);
    expect(book.deposits.values().next().value?.sessionId).toBe(sessionId('c'));
  });
});

describe('a reorganisation', () => {
  test('of depth one that drops the transaction reverts the deposit, without an alarm', async () => {
    const { anvil, book, token, ours } = await started();
    await anvil.pay(token, ours, 1_000_000n);
    await world.until(() => book.log.length === 1);
    await anvil.reorg(1);
    await world.until(() => book.log.length === 2);
    expect(book.log).toEqual(['detected 1.00 in 2', 'reverted 1.00']);
    expect(book.reverts[0]).toMatchObject({ reason: 'reorg', afterFinal: false });
    expect(world.reorgs).toEqual([{ commonBlock: 1, depthBlocks: 1, beyondFinality: false }]);
  });

  test('at one confirmation short of the rule never lets the payment count', async () => {
    const { anvil, book, token, ours } = await started();
    await anvil.pay(token, ours, 1_000_000n);
    await anvil.mine();
    await world.caughtUp();
    await anvil.reorg(2);
    await anvil.mine(5);
    await world.until(() => book.log.length === 2);
    await world.caughtUp();
    expect(book.log).toEqual(['detected 1.00 in 2', 'reverted 1.00']);
  });

  test.each([3, 8])('after the deposit was confirmed, %i blocks deep, reverts it with an alarm', async (depth) => {
    const { anvil, book, token, ours } = await started();
    await anvil.pay(token, ours, 1_000_000n);
    await anvil.mine(depth - 1);
    await world.until(() => book.log.length === 2);
    await world.caughtUp();
    await anvil.reorg(depth);
    await world.until(() => book.log.length === 3);
    expect(book.log).toEqual(['detected 1.00 in 2', 'confirmed 1.00 in 2', 'reverted 1.00 after final']);
  });

  test('beyond what the chain had called final is an alarm and reverts what it took', async () => {
    const { anvil, book, token, ours } = await started({ rule: { kind: 'finalized' }, slotsInAnEpoch: 1 });
    await anvil.pay(token, ours, 1_000_000n);
    await anvil.mine(6);
    await world.until(() => book.log.length === 2 && (world.lastCovered()?.block ?? 0) >= 4);
    await anvil.reorg(7);
    await world.until(() => book.log.length === 3);
    expect(book.log.at(-1)).toBe('reverted 1.00 after final');
    expect(world.reorgs).toMatchObject([{ beyondFinality: true }]);
  });

  test.each(['while it was watched', 'while nobody looked'])(
    'deeper than anything remembered, %s, is traced back by the evidence and reverts what was settled long ago',
    async (when) => {
      const { anvil, book, token, ours } = await started({
        rule: { kind: 'finalized' },
        slotsInAnEpoch: 1,
        watch: { deepBlocks: 4 },
      });
      const payer = anvil.account(1);
      await anvil.pay(token, payer, 9_000_000n);
      const kept = await anvil.pay(token, ours, 1_000_000n);
      await world.until(() => book.deposits.size === 1);
      await anvil.mine(10);
      await world.until(() => (world.lastCovered()?.block ?? 0) >= 8);
      const depth = 40;
      await anvil.pay(token, ours, 2_000_000n);
      const moved = await anvil.transfer(token, ours, 3_000_000n, payer);
      await anvil.mine();
      const raw = await anvil.rawTransaction(moved);
      for (let part = 0; part < 4; part += 1) {
        await anvil.mine(9);
        await world.caughtUp();
      }
      await world.until(() => book.log.length === 6 && world.watcher.status().trackedDeposits === 0);
      if (when === 'while nobody looked') await world.watcher.stop();
      // Both later payments leave; the second one comes back, far below everything that is remembered.
      await anvil.reorg(depth, [[raw, 5]]);
      await anvil.mine(3);
      if (when === 'while nobody looked') await world.restart();
      await world.until(() => book.reverts.length === 1);
      await world.caughtUp();
      expect(book.log.slice(6)).toEqual(['reverted 2.00 after final']);
      expect(book.deposits.get(`ethereum:${kept}:0`)?.status).toBe('final');
      expect(book.deposits.get(`ethereum:${moved}:0`)?.status).toBe('final');
      expect(world.reorgs.at(-1)).toMatchObject({ beyondFinality: true });
      expect(world.reorgs.at(-1)!.commonBlock).toBeLessThan((await anvil.head()) - depth);
    },
  );

  test('that only moves the transaction keeps the deposit and confirms it where it is', async () => {
    const { anvil, book, token, ours } = await started();
    const txHash = await anvil.pay(token, ours, 1_000_000n);
    await world.until(() => book.log.length === 1);
    await anvil.mine();
    await world.caughtUp();
    await anvil.reorg(2, [[await anvil.rawTransaction(txHash), 1]]);
    expect(Number((await anvil.receipt(txHash)).blockNumber)).toBe(3);
    await anvil.mine();
    await world.caughtUp();
    expect(book.log).toEqual(['detected 1.00 in 2']);
    await anvil.mine();
    await world.until(() => book.log.length === 2);
    expect(book.log).toEqual(['detected 1.00 in 2', 'confirmed 1.00 in 3']);
    expect(book.deposits.get(`ethereum:${txHash}:0`)?.confirmed?.blockHash).toBe(
      (await anvil.receipt(txHash)).blockHash,
    );
  });

  test('that moves a confirmed transaction does not revert it', async () => {
    const { anvil, book, token, ours } = await started();
    const txHash = await anvil.pay(token, ours, 1_000_000n);
    await anvil.mine(3);
    await world.until(() => book.log.length === 2);
    await anvil.reorg(4, [[await anvil.rawTransaction(txHash), 2]]);
    await anvil.mine(6);
    await world.caughtUp();
    expect(book.log).toEqual(['detected 1.00 in 2', 'confirmed 1.00 in 2']);
  });

  test('that brings the transaction back as failed is recorded as such', async () => {
    const { anvil, book, token, ours } = await started();
    const payer = anvil.account(1);
    await anvil.pay(token, payer, 5_000_000n);
    const paid = await anvil.transfer(token, ours, 1_000_000n, payer);
    await anvil.mine();
    await world.until(() => book.log.length === 1);
    const pause = await anvil.pause(token);
    await anvil.mine();
    await anvil.reorg(2, [
      [await anvil.rawTransaction(pause), 0],
      [await anvil.rawTransaction(paid), 1],
    ]);
    expect((await anvil.receipt(paid)).status).toBe('0x0');
    await anvil.mine(3);
    await world.until(() => book.log.length === 2);
    expect(book.reverts[0]).toMatchObject({ reason: 'failed', afterFinal: false });
  });

  test('whose transaction comes back later records it again', async () => {
    const { anvil, book, token, ours } = await started();
    const txHash = await anvil.pay(token, ours, 1_000_000n);
    await world.until(() => book.log.length === 1);
    const raw = await anvil.rawTransaction(txHash);
    await anvil.reorg(1);
    await world.until(() => book.log.length === 2);
    await anvil.rpc('eth_sendRawTransaction', [raw]);
    await anvil.mine(3);
    await world.until(() => book.log.length === 4);
    expect(book.log).toEqual(['detected 1.00 in 2', 'reverted 1.00', 'detected 1.00 in 3', 'confirmed 1.00 in 3']);
  });

  test('that gives a log index to another transfer books each with its own session', async () => {
    const { anvil, book, token, ours } = await started();
    const other = anvil.account(6);
    world.addresses.add(other, sessionId('b'));
    const tricks = await anvil.deployTricks();
    await anvil.pay(token, tricks, 100_000_000n);
    await anvil.send(tricks, anvil.pretendData(tricks, anvil.account(9), 1n), anvil.account(1));
    const pair = await anvil.payMany(tricks, token, [
      { to: ours, units: 1_000_000n },
      { to: other, units: 2_000_000n },
    ]);
    await anvil.mine();
    await world.until(() => book.log.length === 2);
    expect([...book.deposits.keys()]).toEqual([`ethereum:${pair}:1`, `ethereum:${pair}:2`]);
    // The same transaction in a block without the other one: its logs are 0 and 1 now.
    await anvil.reorg(1, [[await anvil.rawTransaction(pair), 0]]);
    await anvil.mine(3);
    await world.until(
      () => book.log.filter((line) => line.startsWith('confirmed')).length === 2 && book.reverts.length === 2,
    );
    expect([...book.deposits].map(([key, { status }]) => [key, status])).toEqual([
      [`ethereum:${pair}:1`, 'final'],
      [`ethereum:${pair}:2`, 'reverted'],
      [`ethereum:${pair}:0`, 'final'],
    ]);
    const kept = [...book.deposits.values()].filter(({ status }) => status === 'final');
    expect(kept.map(({ sessionId: id, facts }) => [id, facts.amount]).sort()).toEqual([
      [sessionId('a'), '1.00'],
      [sessionId('b'), '2.00'],
    ]);
  });
});

describe('a restart', () => {
  test('continues from the durable cursor, oldest first, without duplicates', async () => {
    const { anvil, book, token, ours } = await started({ slotsInAnEpoch: 1 });
    await anvil.pay(token, ours, 1_000_000n);
    await anvil.mine(2);
    await world.until(() => book.log.length === 2);
    await world.watcher.stop();
    await anvil.pay(token, ours, 2_000_000n);
    await anvil.mine(150);
    await anvil.pay(token, ours, 3_000_000n);
    await anvil.mine(150);
    await world.restart();
    await world.until(() => book.log.length === 6);
    expect(book.log.filter((line) => line.startsWith('detected'))).toEqual([
      'detected 1.00 in 2',
      'detected 2.00 in 5',
      'detected 3.00 in 156',
    ]);
    expect(new Set(book.log).size).toBe(6);
  });

  test('leaves no gap in the coverage, whatever it had read before it ended', async () => {
    const { anvil } = await started({ slotsInAnEpoch: 1 });
    for (let run = 0; run < 3; run += 1) {
      await anvil.mine(30);
      await world.until(async () => (world.lastCovered()?.block ?? 0) >= (await anvil.head()) - 2);
      await world.restart();
    }
    for (const [index, range] of world.ranges.entries())
      if (index > 0) expect(range.fromBlock).toBe(world.ranges[index - 1]!.toBlock + 1);
    expect(world.ranges[0]!.fromBlock).toBe(world.ranges[0]!.toBlock);
  });

  test('confirms what was waiting and reverts what a reorganisation took meanwhile', async () => {
    const { anvil, book, token, ours } = await started();
    await anvil.pay(token, ours, 1_000_000n);
    await anvil.pay(token, ours, 2_000_000n);
    await world.until(() => book.log.length === 2);
    await world.watcher.stop();
    await anvil.reorg(1);
    await anvil.mine(5);
    await world.restart();
    await world.until(() => book.log.length === 4);
    expect(book.log.slice(2).sort()).toEqual(['confirmed 1.00 in 2', 'reverted 2.00']);
  });

  test('reverts with an alarm what was confirmed before and lost while the service was down', async () => {
    const { anvil, book, token, ours } = await started();
    await anvil.pay(token, ours, 1_000_000n);
    await anvil.mine(3);
    await world.until(() => book.log.length === 2);
    await world.watcher.stop();
    await anvil.reorg(4);
    await anvil.mine(105);
    await world.restart();
    await world.until(() => book.log.length === 3);
    expect(book.log.at(-1)).toBe('reverted 1.00 after final');
  });

  test('of a new installation begins before its oldest session', async () => {
    world = await WatchWorld.create();
    const { anvil, book, token, ours } = world;
    await anvil.pay(token, ours, 1_000_000n);
    await anvil.mine(10);
    await world.watcher.start();
    await world.until(() => book.log.length === 2);
    expect(book.log[0]).toBe('detected 1.00 in 2');
  });
});

describe('the sandbox', () => {
  const lossOf = async (anvil: Anvil, blocks: number): Promise<void> =>
    void (await anvil.rpc('anvil_rollback', [blocks]));

  test('whose node came back a little behind is repaired without an alarm, and final deposits stay final', async () => {
    const { anvil, book, token, ours } = await started({
      rule: { kind: 'finalized' },
      slotsInAnEpoch: 1,
      watch: { sandbox: true },
    });
    await anvil.pay(token, ours, 1_000_000n);
    await anvil.mine(3);
    await world.until(() => book.log.length === 2);
    await anvil.pay(token, ours, 2_000_000n);
    await world.until(() => book.log.length === 3);
    await world.watcher.stop();
    await lossOf(anvil, 5);
    await world.restart();
    await anvil.mine(8);
    await world.until(() => book.log.length === 4);
    await world.caughtUp();
    expect(book.log).toEqual(['detected 1.00 in 2', 'confirmed 1.00 in 2', 'detected 2.00 in 6', 'reverted 2.00']);
    expect(world.reorgs).toEqual([]);
    await anvil.pay(token, ours, 3_000_000n);
    await anvil.mine(3);
    await world.until(() => book.log.length === 6);
    expect(book.log.slice(4).map((line) => line.split(' ')[0])).toEqual(['detected', 'confirmed']);
  });

  test('whose node was rewound while it was watched is repaired without an alarm too', async () => {
    const { anvil, book, token, ours } = await started({
      rule: { kind: 'finalized' },
      slotsInAnEpoch: 1,
      watch: { sandbox: true },
    });
    await anvil.pay(token, ours, 1_000_000n);
    await anvil.mine(3);
    await world.until(() => book.log.length === 2);
    await world.caughtUp();
    await lossOf(anvil, 4);
    await anvil.mine(2);
    await world.until(() => world.watcher.status().scannedBlock === 3);
    await anvil.mine(6);
    await world.until(() => world.anomalies.some(({ kind }) => kind === 'kept-final'));
    expect(book.log).toHaveLength(2);
    expect(world.reorgs).toEqual([]);
  });

  test('with another chain altogether reads it from its beginning', async () => {
    const { anvil, book, token, ours } = await started({ slotsInAnEpoch: 1, watch: { sandbox: true } });
    await anvil.mine(400);
    await world.until(() => (world.lastCovered()?.block ?? 0) >= 300);
    await world.watcher.stop();
    await lossOf(anvil, 399);
    await anvil.rpc('evm_setNextBlockTimestamp', [Math.floor(Date.now() / 1000) + 5_000]);
    await anvil.pay(token, ours, 1_000_000n);
    await world.restart();
    await world.until(() => book.log.length === 1);
    expect(world.reorgs).toEqual([]);
  });
});

describe('the cursor', () => {
  test('does not move past a payment whose command the store could not record', async () => {
    const { anvil, book, token, ours } = await started();
    book.failures = [new StoreUnavailable('gone'), new StoreUnavailable('gone')];
    await anvil.pay(token, ours, 1_000_000n);
    await world.until(() => book.log.length === 1);
    expect(book.commands).toBeGreaterThanOrEqual(3);
    expect(world.troubles.length).toBeGreaterThanOrEqual(2);
  });

  test('continues past a payment that its session cannot record, but the durable one waits for it', async () => {
    const { anvil, book, token, ours } = await started({ slotsInAnEpoch: 1 });
    await world.until(() => world.lastCovered() !== null);
    book.failures = Array.from({ length: 40 }, () => new Error('a bug'));
    await anvil.pay(token, ours, 1_000_000n);
    await world.until(() => world.anomalies.length > 0);
    await anvil.mine(20);
    await world.until(() => world.watcher.status().scannedBlock === 22);
    expect(world.lastCovered()!.block).toBeLessThan(2);
    expect(world.watcher.scannedToSec()).toBeLessThan(
      Number(((await anvil.rpc('eth_getBlockByNumber', ['0x2', false])) as { timestamp: string }).timestamp),
    );
    book.failures = [];
    await anvil.mine();
    await world.until(() => book.log.length === 2 && world.lastCovered()!.block > 10);
  });

  test('knows up to which chain time it has read, and notifies listeners', async () => {
    const { anvil } = await started();
    const heard: number[] = [];
    world.watcher.onScanned((sec) => heard.push(sec));
    await anvil.mine(3);
    await world.caughtUp();
    const { timestamp } = (await anvil.rpc('eth_getBlockByNumber', ['latest', false])) as { timestamp: string };
    expect(world.watcher.scannedToSec()).toBe(Number(timestamp));
    expect(heard.at(-1)).toBe(Number(timestamp));
  });

  test('can be left alone while any range is read again', async () => {
    const { anvil, book, token, ours } = await started({ slotsInAnEpoch: 1 });
    await anvil.pay(token, ours, 1_000_000n);
    const stranger = anvil.account(8);
    await anvil.pay(token, stranger, 2_000_000n);
    await anvil.mine(100);
    await world.caughtUp();
    // A rescan writes down no block above the durable cursor.
    await world.until(() => (world.ranges.at(-1)?.toBlock ?? 0) >= 50);
    world.addresses.add(stranger, sessionId('d'));
    const inTurn = (): number => world.ranges.filter(({ fromBlock }) => fromBlock <= 50).length;
    const before = inTurn();
    expect(await world.watcher.rescan(0, 50)).toMatchObject({
      fromBlock: 0,
      toBlock: 50,
      transfers: 2,
      recordedTo: 50,
    });
    expect(inTurn()).toBe(before);
    expect([world.rescans[0]!.fromBlock, world.rescans.at(-1)!.toBlock]).toEqual([0, 50]);
    await world.until(() => book.log.length === 4);
    expect(book.log.slice(2)).toEqual(['detected 2.00 in 3', 'confirmed 2.00 in 3']);
  });
});
