import { afterEach, describe, expect, test } from 'vitest';
import { FaultProxy, lying, refusing, type Fault } from '../support/fault-proxy.ts';
import { WatchWorld, type WorldOptions } from './evm-watch-world.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const part of open.splice(0).reverse()) await part.close();
});

interface Scene {
  readonly world: WatchWorld;
  readonly provider: FaultProxy;
}

/** A watcher that sees a real node through one provider. */
async function scene(options: WorldOptions & { readonly slotsInAnEpoch?: number } = {}): Promise<Scene> {
  const world = await WatchWorld.create(options);
  const provider = await FaultProxy.before(world.anvil.url);
  open.push(provider, world);
  await world.restart({ urls: [provider.url] });
  return { world, provider };
}

const finalWithin = { rule: { kind: 'finalized' }, slotsInAnEpoch: 1 } as const;
const nullReceipts: Fault = lying('eth_getTransactionReceipt', () => null);
/** Neither of the two calls that give receipts gives any. */
const nullEverywhere: Fault = ({ method }) => (/Receipt/.test(method) ? { result: null } : undefined);

const statuses = ({ book }: WatchWorld): string[] => [...book.deposits.values()].map(({ status }) => status);
const withheld = ({ anomalies }: WatchWorld): number => anomalies.filter(({ kind }) => kind === 'withheld').length;

async function eightFinal(): Promise<Scene> {
  const made = await scene(finalWithin);
  const { anvil, token, ours } = made.world;
  for (let units = 1n; units <= 8n; units += 1n) await anvil.pay(token, ours, units * 1_000_000n);
  await anvil.mine(4);
  const { world } = made;
  await world.until(
    () => statuses(world).filter((status) => status === 'final').length === 8 && (world.lastCovered()?.block ?? 0) >= 9,
  );
  return made;
}

describe('a provider that answers null receipts', () => {
  test.each([
    ['for single transactions', nullReceipts],
    ['for whole blocks, too', nullEverywhere],
  ])('reverts no final money across a restart: %s', async (_, fault) => {
    const { world, provider } = await eightFinal();
    provider.play(fault);
    await world.restart();
    await world.until(() => withheld(world) >= 8);
    await world.anvil.mine(5);
    await world.caughtUp();
    await world.ticks(5);
    expect(world.book.reverts).toEqual([]);
    provider.heal();
    await world.until(() => world.watcher.status().trackedDeposits === 0);
    expect(statuses(world)).toEqual(Array.from({ length: 8 }, () => 'final'));
  });

  test('around the moment of finality delays it, and no more', async () => {
    const { world, provider } = await scene(finalWithin);
    const { anvil, book, token, ours } = world;
    await anvil.pay(token, ours, 1_000_000n);
    await world.until(() => book.log.length === 1);
    provider.play(nullReceipts);
    await anvil.mine(4);
    await world.until(() => withheld(world) > 0);
    expect(book.log).toEqual(['detected 1.00 in 2']);
    expect(world.lastCovered()!.block).toBeLessThan(2);
    provider.heal();
    await world.until(() => book.log.length === 2);
    expect(book.log[1]).toBe('confirmed 1.00 in 2');
  });

  test('does not hide a reorganisation: another block at the height is shown', async () => {
    const { world, provider } = await scene();
    const { anvil, book, token, ours } = world;
    await anvil.pay(token, ours, 1_000_000n);
    await world.until(() => book.log.length === 1);
    provider.play(nullReceipts);
    await anvil.reorg(1);
    await world.until(() => book.reverts.length === 1);
    expect(book.reverts[0]).toMatchObject({ reason: 'reorg', afterFinal: false });
  });

  test('does not turn a transaction that only moved into a loss', async () => {
    const { world, provider } = await scene();
    const { anvil, book, token, ours } = world;
    const txHash = await anvil.pay(token, ours, 1_000_000n);
    await world.until(() => book.log.length === 1);
    await anvil.mine();
    await world.caughtUp();
    provider.play(nullReceipts);
    await anvil.reorg(2, [[await anvil.rawTransaction(txHash), 1]]);
    await anvil.mine(3);
    await world.until(() => withheld(world) > 0);
    await world.caughtUp();
    expect(book.reverts).toEqual([]);
    provider.heal();
    await world.until(() => book.log.length === 2);
    expect(book.log[1]).toBe('confirmed 1.00 in 3');
  });

  test('proves nothing against a transfer that its own block contains, as the header shows', async () => {
    const { world, provider } = await scene();
    const { anvil, book, token, ours } = world;
    provider.play(
      lying('eth_getLogs', (logs: { topics: string[] }[]) =>
        logs.map((log) => ({
          ...log,
          topics: [log.topics[0], log.topics[1], `0x${ours.slice(2).toLowerCase().padStart(64, '0')}`],
        })),
      ),
    );
    provider.play(nullReceipts);
    await anvil.pay(token, anvil.account(8), 2_000_000n);
    await anvil.mine(3);
    await world.until(() => book.reverts.length === 1);
    expect(book.reverts[0]).toMatchObject({ reason: 'not_in_block', afterFinal: false });
  });
});

describe('money that was reverted although the chain contains it', () => {
  const wronglyReverted = async (): Promise<Scene> => {
    const made = await eightFinal();
    for (const [depositKey, { sessionId }] of made.world.book.deposits)
      await made.world.book.revert(sessionId, { depositKey, reason: 'reorg', headNumber: 12 });
    return made;
  };
  const backAgain = (world: WatchWorld): boolean => statuses(world).every((status) => status === 'final');

  test('returns automatically after a start', async () => {
    const { world } = await wronglyReverted();
    await world.restart();
    await world.until(() => backAgain(world));
    expect(world.anomalies.filter(({ kind }) => kind === 'returned')).toHaveLength(8);
  });

  test('returns once the provider shows it again', async () => {
    const { world, provider } = await wronglyReverted();
    provider.play(nullReceipts);
    await world.restart();
    await world.caughtUp();
    expect(statuses(world)).not.toContain('final');
    provider.heal();
    await world.until(() => backAgain(world), 30_000);
  });

  test('returns when an operator rescans its blocks', async () => {
    const { world } = await eightFinal();
    await world.watcher.stop();
    for (const [depositKey, { sessionId }] of world.book.deposits)
      await world.book.revert(sessionId, { depositKey, reason: 'reorg', headNumber: 12 });
    // As if it had been reverted longer ago than anything is looked at.
    world.forgetsReverted = true;
    await world.restart();
    await world.caughtUp();
    expect(backAgain(world)).toBe(false);
    await world.watcher.rescan(2, 9);
    await world.until(() => backAgain(world));
  });
});

/**
 * Every `eth_getLogs` answer lacks our transfers but keeps others of the same block, so that no header gives it away.
 */
const withoutOurs = (ours: string): Fault =>
  lying('eth_getLogs', (logs: { topics: string[] }[]) =>
    logs.filter(({ topics }) => !topics[2]!.endsWith(ours.slice(2).toLowerCase())),
  );

describe('the only provider leaves a payment out of every log answer', () => {
  const detectedBy = async (...faults: ((ours: string) => Fault)[]): Promise<Scene> => {
    const made = await scene(finalWithin);
    const { anvil, token, ours } = made.world;
    for (const fault of faults) made.provider.play(fault(ours));
    await anvil.transfer(token, anvil.account(8), 1n);
    await anvil.pay(token, ours, 1_000_000n);
    await anvil.mine(4);
    return made;
  };

  test('and the second reading finds it in the receipts of its block', async () => {
    const { world } = await detectedBy(withoutOurs);
    await world.until(() => world.book.log.length === 2 && world.lastCovered()!.block >= 2);
    expect(world.book.log).toEqual(['detected 1.00 in 2', 'confirmed 1.00 in 2']);
    expect(world.anomalies).toMatchObject([{ kind: 'found-late' }]);
  });

  test('in its receipts too: they do not match the header, and nothing counts as read until they do', async () => {
    const lyingReceipts = (ours: string): Fault =>
      lying('eth_getBlockReceipts', (receipts: { logs: { topics: string[] }[] }[]) =>
        receipts.map((receipt) => ({
          ...receipt,
          logs: receipt.logs.filter(({ topics }) => !topics[2]?.endsWith(ours.slice(2).toLowerCase())),
        })),
      );
    const { world, provider } = await detectedBy(withoutOurs, lyingReceipts);
    await world.until(() => world.anomalies.some(({ kind }) => kind === 'unproven'));
    await world.anvil.mine(5);
    await world.caughtUp();
    expect(world.lastCovered()!.block).toBeLessThan(2);
    provider.heal();
    await world.until(() => world.book.log.length === 2 && world.lastCovered()!.block >= 2);
  });

  test('in a range, and serves no block receipts: it is asked by block hash', async () => {
    const ofRanges =
      (ours: string): Fault =>
      async (call, forward) => {
        const [filter] = call.params as [{ blockHash?: string }];
        return call.method === 'eth_getLogs' && filter.blockHash === undefined
          ? withoutOurs(ours)(call, forward)
          : undefined;
      };
    const { world } = await detectedBy(ofRanges, () =>
      refusing('eth_getBlockReceipts', { code: -32601, message: 'no such method' }),
    );
    await world.until(() => world.book.log.length === 2);
    expect(world.book.log).toEqual(['detected 1.00 in 2', 'confirmed 1.00 in 2']);
  });

  test('while a gap is being read', async () => {
    const { world, provider } = await scene(finalWithin);
    const { anvil, token, ours, book } = world;
    await world.watcher.stop();
    await anvil.mine(100);
    await anvil.transfer(token, anvil.account(8), 1n);
    await anvil.pay(token, ours, 1_000_000n);
    await anvil.mine(100);
    provider.play(withoutOurs(ours));
    await world.restart();
    await world.until(() => book.log.length === 2 && world.lastCovered()!.block >= 200);
    expect(book.log).toEqual(['detected 1.00 in 102', 'confirmed 1.00 in 102']);
  });

  test('and blocks whose headers exclude a transfer cost no receipts', async () => {
    const { world, provider } = await scene(finalWithin);
    await world.anvil.mine(20);
    await world.until(() => world.lastCovered()!.block >= 18);
    // The block with the token's deployment has its first transfer.
    expect(provider.count('eth_getBlockReceipts')).toBeLessThanOrEqual(1);
    expect(
      provider.calls.filter(({ method, params }) => method === 'eth_getBlockByNumber' && params[0] === '0x5').length,
    ).toBeLessThanOrEqual(3);
  });
});
