import { afterEach, describe, expect, it } from 'vitest';
import { createRpcPool } from '../../src/adapters/rpc/pool.ts';
import { createTronChain } from '../../src/adapters/tron/chain.ts';
import type { RangeScanned } from '../../src/domain/events/operations-events.ts';
import { systemClock } from '../../src/ports/clock.ts';
import { ChainWatcher } from '../../src/features/deposits/chain/watch.process.ts';
import type { Anomaly, Reorg } from '../../src/features/deposits/chain/types.ts';
import { AddressIndex } from '../../src/features/addresses/address-index.ts';
import { startTronFacade, type TronSandbox } from '../../src/sandbox/tron-facade/start-tron-facade.ts';
import { tronProxyBefore, withoutInfos } from '../support/tron-proxy.ts';
import { until } from '../support/watching.ts';
import { DepositBook, sessionId } from './evm-watch-world.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { keepingAll } from '../support/watching.ts';

const OURS = 'TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6';
const running: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of running.splice(0).reverse()) await close();
});

/** A sandbox that makes a block every 50 ms, so that a payment is final within a second. */
async function start(directory: string): Promise<TronSandbox> {
  const sandbox = await startTronFacade({ directory, pace: { busyMs: 50, idleMs: 50, busyBlocks: 1 } });
  if ('reason' in sandbox) throw new Error(sandbox.reason);
  running.push(() => sandbox.close());
  return sandbox;
}

function folder(): string {
  const path = temporaryFolder('tron');
  return path;
}

interface Recorded {
  readonly book: DepositBook;
  readonly ranges: RangeScanned['data'][];
}

const nothingRecorded = (): Recorded => ({ book: new DepositBook(), ranges: [] });

async function watch(sandbox: TronSandbox, { book, ranges }: Recorded, url = sandbox.rpcUrl) {
  const chain = createTronChain({ settings: sandbox.settings, pool: createRpcPool({ network: 'tron', urls: [url] }) });
  const addresses = new AddressIndex('tron');
  addresses.add(OURS, sessionId('a'));
  const reorgs: Reorg[] = [];
  const anomalies: Anomaly[] = [];
  const watcher = new ChainWatcher(
    {
      chain,
      addresses,
      deposits: keepingAll(book),
      clock: systemClock,
      coverage: {
        lastCovered: async () => {
          const last = ranges.at(-1);
          return last ? { block: last.toBlock, hash: last.toBlockHash, timeSec: last.toBlockTimeSec } : null;
        },
        recordAgain: async () => undefined,
        coveredBelow: async () => null,
        record: async (range) => void ranges.push(range),
      },
      finalityRuleOf: () => ({ kind: 'finalized' }),
      pendingDeposits: async () =>
        [...book.deposits.values()].flatMap(({ status, facts, ...deposit }) =>
          status === 'reverted'
            ? []
            : [{ sessionId: deposit.sessionId, facts, status, rule: { kind: 'finalized' as const } }],
        ),
      observer: { onReorg: (reorg) => reorgs.push(reorg), onAnomaly: (anomaly) => anomalies.push(anomaly) },
    },
    { pollIntervalMs: 20, secondReadingMs: 200, coverageIntervalMs: 0, sandbox: true },
  );
  await watcher.start();
  const stop = async (): Promise<void> => {
    await watcher.stop();
    await chain.close();
  };
  running.push(stop);
  return { watcher, reorgs, anomalies, stop };
}

const isFinal = ({ book }: Recorded, count: number): boolean =>
  [...book.deposits.values()].filter(({ status }) => status === 'final').length === count;

describe('TRON, watched', () => {
  it('a payment is seen in its block, its payer found, and it becomes final when the chain says so', async () => {
    const sandbox = await start(folder());
    const recorded = nothingRecorded();
    const { watcher, anomalies } = await watch(sandbox, recorded);
    const paid = await sandbox.pay({ coin: 'USDT', to: OURS, amount: '12.345678' });
    await until('seen', () => recorded.book.deposits.size === 1);
    await until('final', () => isFinal(recorded, 1));
    const [deposit] = recorded.book.deposits.values();
    expect(deposit!.facts).toMatchObject({
      network: 'tron',
      coin: 'USDT',
      amount: '12.345678',
      txHash: paid.txHash,
      fromAddress: sandbox.addressOf('first'),
      toAddress: OURS,
    });
    expect(deposit!.confirmed).toMatchObject({ blockNumber: deposit!.facts.blockNumber, rule: { kind: 'finalized' } });
    expect(deposit!.confirmed!.headNumber - deposit!.facts.blockNumber).toBeGreaterThanOrEqual(19);
    expect(watcher.scannedToSec()).toBeGreaterThanOrEqual(deposit!.facts.blockTimeSec);
    expect(anomalies).toEqual([]);
  });

  it('a failed transaction counts for nothing, and one in another coin is recognised as such', async () => {
    const sandbox = await start(folder());
    const recorded = nothingRecorded();
    await watch(sandbox, recorded);
    await sandbox.faults!.payAndFail({ coin: 'USDT', to: OURS, amount: '5' });
    await sandbox.pay({ coin: 'USDC', to: OURS, amount: '7', payer: 'second' });
    await until('final', () => isFinal(recorded, 1));
    expect(
      [...recorded.book.deposits.values()].map(({ facts }) => [facts.coin, facts.amount, facts.fromAddress]),
    ).toEqual([['USDC', '7.00', sandbox.addressOf('second')]]);
  });

  it('a payment moved by a reorganisation counts once, one that was lost is reverted', async () => {
    const sandbox = await start(folder());
    const recorded = nothingRecorded();
    const { reorgs } = await watch(sandbox, recorded);
    await sandbox.faults!.payThenReorg({ coin: 'USDT', to: OURS, amount: '3' });
    await until('final', () => isFinal(recorded, 1));
    expect(recorded.book.reverts).toEqual([]);
    await sandbox.faults!.payThenLose({ coin: 'USDT', to: OURS, amount: '4' });
    await until('reverted', () => recorded.book.reverts.length === 1);
    expect(recorded.book.log.filter((line) => line.startsWith('reverted'))).toEqual(['reverted 4.00']);
    expect(reorgs.length).toBeGreaterThanOrEqual(2);
    expect(reorgs.some(({ beyondFinality }) => beyondFinality)).toBe(false);
  });

  it('a provider without receipts, around finality and across a restart, reverts nothing and confirms nothing', async () => {
    const sandbox = await start(folder());
    const recorded = nothingRecorded();
    const proxy = await tronProxyBefore(sandbox.rpcUrl);
    running.push(() => proxy.close());
    const first = await watch(sandbox, recorded, proxy.url);
    await sandbox.pay({ coin: 'USDT', to: OURS, amount: '1' });
    await until('final', () => isFinal(recorded, 1));
    proxy.change = withoutInfos;
    await sandbox.pay({ coin: 'USDT', to: OURS, amount: '2' });
    await until('withheld', () => first.anomalies.some(({ kind }) => kind === 'withheld'));
    await first.stop();
    const second = await watch(sandbox, recorded, proxy.url);
    await until('withheld', () => second.anomalies.filter(({ kind }) => kind === 'withheld').length >= 2);
    expect([...recorded.book.deposits.values()].map(({ status }) => status)).toEqual(['final', 'detected']);
    proxy.change = () => undefined;
    await until('both final', () => isFinal(recorded, 2));
    expect(recorded.book.reverts).toEqual([]);
  });

  it('a block whose receipts lack what its transactions moved does not count as read', async () => {
    const sandbox = await start(folder());
    const recorded = nothingRecorded();
    const proxy = await tronProxyBefore(sandbox.rpcUrl);
    running.push(() => proxy.close());
    const { anomalies } = await watch(sandbox, recorded, proxy.url);
    proxy.change = (call, answer) =>
      call.endsWith('/gettransactioninfobyblocknum')
        ? (answer as object[]).map((info) => ({ ...info, log: [] }))
        : undefined;
    await sandbox.pay({ coin: 'USDT', to: OURS, amount: '1' });
    await until('noticed', () => anomalies.some(({ kind }) => kind === 'unproven'));
    const coveredTo = recorded.ranges.at(-1)!.toBlock;
    expect(recorded.book.deposits.size).toBe(0);
    proxy.change = () => undefined;
    await until('found and final', () => isFinal(recorded, 1) && recorded.ranges.at(-1)!.toBlock > coveredTo);
  });

  it('what was paid before a restart becomes final after it, and blocks follow without a gap', async () => {
    const directory = folder();
    const recorded = nothingRecorded();
    const before = await start(directory);
    const first = await watch(before, recorded);
    await before.pay({ coin: 'USDT', to: OURS, amount: '1' });
    await until('seen', () => recorded.book.deposits.size === 1);
    await first.stop();
    await before.pay({ coin: 'USDT', to: OURS, amount: '2' });
    await before.close();

    const after = await start(directory);
    const second = await watch(after, recorded);
    await until('both final', () => isFinal(recorded, 2));
    expect(recorded.book.reverts).toEqual([]);
    expect(second.reorgs).toEqual([]);
    for (const [index, range] of recorded.ranges.entries())
      if (index > 0) expect(range.fromBlock).toBe(recorded.ranges[index - 1]!.toBlock + 1);
  });
});
