import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { RangeScanned } from '../../../../src/domain/events/operations-events.ts';
import type { DepositFacts } from '../../../../src/domain/events/session-events.ts';
import type { SessionId } from '../../../../src/domain/values/ids.ts';
import type { HistoryOptions } from '../../../../src/ports/chain/account-chain.ts';
import { ChainUnavailable } from '../../../../src/ports/chain/chain.ts';
import { AccountHistories } from '../../../../src/features/deposits/solana/accounts.ts';
import { SolanaWatcher } from '../../../../src/features/deposits/solana/watch.process.ts';
import { WatchedOwners } from '../../../../src/features/deposits/solana/owners.ts';
import type { WatchSolanaOptions } from '../../../../src/features/deposits/solana/types.ts';
import type { Anomaly, CoveredBlock, PendingDeposit } from '../../../../src/features/deposits/chain/types.ts';
import { ScriptedAccountChain } from '../../../support/account-chain.ts';
import { keepingAll } from '../../../support/watching.ts';

const NOW_SEC = 1_800_001_000;
const running: SolanaWatcher[] = [];
afterEach(async () => {
  for (const watcher of running.splice(0)) await watcher.stop();
});

/** A watcher over a scripted chain, with what it told the sessions in the order it did. */
function watching(
  options: Partial<WatchSolanaOptions> = {},
  before: { pending?: PendingDeposit[]; covered?: CoveredBlock } = {},
) {
  const chain = new ScriptedAccountChain();
  const owners = new WatchedOwners('test');
  const told: string[] = [];
  const facts: DepositFacts[] = [];
  const ranges: RangeScanned['data'][] = [];
  const anomalies: Anomaly[] = [];
  const troubles: unknown[] = [];
  let nowSec = NOW_SEC;
  let refusing = false;
  const watcher = new SolanaWatcher(
    {
      chain,
      owners,
      addresses: { sessionOf: (owner) => (owners.find(owner) ? (`cs_${owner}` as SessionId) : null) },
      deposits: keepingAll(
        {
          record: async (id, data) => {
            if (refusing) throw new Error('the session does not take it now');
            facts.push(data);
            told.push(`record ${id} ${data.amount}`);
          },
          confirm: async (id, data) => void told.push(`confirm ${id} ${data.depositKey}`),
          revert: async (id, data) => void told.push(`revert ${id} ${data.depositKey} ${data.reason}`),
          move: async () => false,
        },
        {
          is: ({ amount }) => amount === '0.001' || amount === '0.002',
          counted: (id, transfers) =>
            void told.push(`together ${id} ${transfers.map(({ amount }) => amount).join(' ')}`),
        },
      ),
      coverage: { lastCovered: async () => before.covered ?? null, record: async (range) => void ranges.push(range) },
      clock: { nowMs: () => nowSec * 1000 },
      finalityRuleOf: () => ({ kind: 'finalized' }),
      pendingDeposits: async () => before.pending ?? [],
      observer: {
        onAnomaly: (anomaly) => anomalies.push(anomaly),
        onTrouble: ({ error }) => troubles.push(error),
      },
    },
    { pollIntervalMs: 2, coverageIntervalMs: 0, countIntervalMs: 0, ...options },
  );
  running.push(watcher);
  const open = (owner: string, changes: object = {}): void =>
    owners.add({
      owner,
      sessionId: `cs_${owner}` as SessionId,
      createdAtSec: NOW_SEC,
      expiresAtSec: NOW_SEC + 1_800,
      endedAtSec: null,
      ...changes,
    });
  const until = async (what: string, holds: () => boolean): Promise<void> => {
    for (let waited = 0; !holds(); waited += 1) {
      if (waited > 2_000)
        throw new Error(
          `never: ${what}; told: ${told.join(', ')}; troubles: ${troubles.slice(-2).map(String).join(', ')}`,
        );
      await sleep(2);
    }
  };
  const polls = async (count: number): Promise<void> => {
    for (let poll = 0; poll < count; poll += 1) {
      const seen = chain.calls.filter((call) => call === 'balances').length;
      await until('a poll', () => chain.calls.filter((call) => call === 'balances').length > seen);
    }
  };
  return {
    chain,
    owners,
    watcher,
    told,
    facts,
    ranges,
    anomalies,
    troubles,
    open,
    until,
    polls,
    setNow: (sec: number) => (nowSec = sec),
    refuse: (value: boolean) => (refusing = value),
  };
}

describe('the Solana watcher', () => {
  it('records a payment when it is confirmed and confirms it when it is final', async () => {
    const { chain, watcher, told, facts, open, until } = watching();
    open('a');
    await watcher.start();
    const { slot } = chain.pay('a', 12_500_000n);
    await until('recorded', () => told.length === 1);
    expect(facts[0]).toMatchObject({
      depositKey: 'solana:tx-1:1',
      coin: 'USDT',
      amount: '12.50',
      fromAddress: 'payer',
      toAddress: 'a',
      blockNumber: slot,
    });
    chain.finalize();
    await until('confirmed', () => told.length === 2);
    expect(told).toEqual(['record cs_a 12.50', 'confirm cs_a solana:tx-1:1']);
  });

  it('counts small transfers together once they are final, and a large one among them at once', async () => {
    const { chain, watcher, told, open, until } = watching();
    open('a');
    await watcher.start();
    chain.pay('a', 1_000n);
    chain.pay('a', 12_500_000n);
    chain.pay('a', 2_000n);
    await until('recorded', () => told.length === 1);
    expect(told).toEqual(['record cs_a 12.50']);
    chain.finalize();
    await until('counted', () => told.length === 3);
    expect(told.sort()).toEqual([
      'confirm cs_a solana:tx-2:1',
      'record cs_a 12.50',
      expect.stringMatching(/^together cs_a (0.001 0.002|0.002 0.001)$/),
    ]);
  });

  it('finds every transfer between two looks, those in and out included, and never a failed one', async () => {
    const { chain, watcher, told, open, until } = watching();
    open('a');
    chain.pay('a', 5_000_000n);
    chain.pay('a', 9_000_000n, { failed: true });
    chain.pay('a', -4_000_000n);
    chain.pay('a', 1_000_000n);
    await watcher.start();
    await until('both', () => told.length === 2);
    expect(told.sort()).toEqual(['record cs_a 1.00', 'record cs_a 5.00']);
  });

  it('reads only what is new once a part is final', async () => {
    const { chain, watcher, told, open, until, polls } = watching();
    open('a');
    await watcher.start();
    chain.pay('a', 1_000_000n);
    await until('recorded', () => told.length === 1);
    chain.finalize();
    await until('confirmed', () => told.length === 2);
    chain.pay('a', 2_000_000n);
    await until('second', () => told.length === 3);
    chain.finalize();
    await until('second confirmed', () => told.length === 4);
    chain.calls.length = 0;
    chain.pay('a', 3_000_000n);
    await until('third', () => told.length === 5);
    await polls(3);
    expect(chain.calls.filter((call) => call.startsWith('effect'))).toEqual(['effect tx-3']);
  });

  it('waits for a history that lags behind the balance, and keeps its confirmed time until then', async () => {
    const { chain, watcher, told, open, until, polls } = watching();
    open('a');
    await watcher.start();
    await until('scanned', () => watcher.scannedToSec() === chain.timeSec(chain.slot));
    const before = watcher.scannedToSec()!;
    const { txHash } = chain.pay('a', 7_000_000n);
    chain.hiddenFromHistory.add(txHash);
    await polls(5);
    expect(told).toEqual([]);
    expect(watcher.scannedToSec()).toBe(before);
    chain.hiddenFromHistory.delete(txHash);
    await until('recorded', () => told.length === 1);
    await until('scanned again', () => watcher.scannedToSec()! > before);
  });

  it('never drops a listed transaction that cannot be read yet', async () => {
    const { chain, watcher, told, open, until, polls } = watching();
    open('a');
    await watcher.start();
    chain.notShownYet.add('tx-1');
    chain.pay('a', 7_000_000n);
    await polls(4);
    expect(told).toEqual([]);
    chain.notShownYet.clear();
    await until('recorded', () => told.length === 1);
  });

  it('reverts a payment that vanished, and finds the one that replaced it', async () => {
    const { chain, watcher, told, open, until } = watching();
    open('a');
    await watcher.start();
    chain.pay('a', 7_000_000n);
    await until('recorded', () => told.length === 1);
    chain.transactions = [];
    chain.pay('a', 7_000_000n, { txHash: 'tx-other' });
    chain.finalize();
    await until('reverted', () => told.includes('revert cs_a solana:tx-1:1 reorg'));
    await until('the other', () => told.includes('confirm cs_a solana:tx-other:1'));
  });

  it('keeps a payment that no provider shows any more until the chain proves that it is gone', async () => {
    const { chain, watcher, told, anomalies, open, until, polls } = watching();
    open('a');
    await watcher.start();
    const { txHash } = chain.pay('a', 7_000_000n);
    await until('recorded', () => told.length === 1);
    chain.denied.add(txHash);
    chain.finalize();
    await until('doubted', () => anomalies.some(({ kind }) => kind === 'withheld'));
    await polls(5);
    expect(told).toEqual(['record cs_a 7.00']);
  });

  it.each(['detected', 'final'] as const)(
    'keeps a %s payment that no provider shows after a restart',
    async (status) => {
      const { chain, watcher, told, anomalies, open, until, polls } = watching(
        {},
        { pending: [pendingOf('a', status)] },
      );
      chain.pay('a', 7_000_000n);
      chain.finalize();
      chain.denied.add('tx-1');
      open('a');
      await watcher.start();
      await until('doubted', () => anomalies.some(({ kind }) => kind === 'withheld'));
      await polls(5);
      expect(told.filter((line) => line.startsWith('revert'))).toEqual([]);
    },
  );

  it('never reverts a final payment, whatever the chain says', async () => {
    const { watcher, chain, told, anomalies, open, until, polls } = watching(
      {},
      { pending: [pendingOf('a', 'final')] },
    );
    chain.slot = 1_001;
    chain.finalize();
    open('a');
    await watcher.start();
    await until('doubted', () => anomalies.some(({ kind }) => kind === 'withheld'));
    await polls(5);
    expect(told).toEqual([]);
  });

  it('reverts nothing for a transaction that is listed with another amount than before', async () => {
    const { chain, watcher, told, open, until, polls } = watching();
    open('a');
    await watcher.start();
    chain.pay('a', 7_000_000n);
    await until('recorded', () => told.length === 1);
    const { slot } = chain.transactions[0]!;
    chain.transactions = [{ ...chain.transactions[0]!, units: 1_000_000n }];
    await watcher.recheck('a');
    await polls(3);
    expect(told).toEqual(['record cs_a 7.00']);
    chain.transactions = [{ ...chain.transactions[0]!, slot: slot + 1 }];
    chain.slot += 1;
    chain.finalize();
    await until('replaced', () => told.includes('record cs_a 1.00'));
    expect(told.slice(0, 3)).toEqual(['record cs_a 7.00', 'revert cs_a solana:tx-1:1 reorg', 'record cs_a 1.00']);
  });

  it('finds wrongly reverted payments again automatically, also of an ended session', async () => {
    const { chain, owners, watcher, told, open, until } = watching({ recentIntervalMs: 1e9 });
    open('a');
    await watcher.start();
    chain.pay('a', 7_000_000n);
    await until('recorded', () => told.length === 1);
    owners.end('cs_a' as SessionId, NOW_SEC);
    const [truth] = chain.transactions;
    chain.transactions = [];
    chain.finalize();
    await until('reverted', () => told.includes('revert cs_a solana:tx-1:1 reorg'));
    chain.transactions = [truth!];
    await until('back', () => told.filter((line) => line === 'record cs_a 7.00').length === 2);
  });

  it('resumes a deposit after a restart and completes it', async () => {
    const pending = pendingOf('a', 'detected');
    const { chain, watcher, told, open, until } = watching({}, { pending: [pending] });
    chain.pay('a', 7_000_000n);
    chain.finalize();
    open('a');
    await watcher.start();
    await until('confirmed', () => told.includes('confirm cs_a solana:tx-1:1'));
    expect(told.filter((line) => line.startsWith('revert'))).toEqual([]);
  });

  it('on a new chain drops what was not final, keeps what was, and raises no alarm', async () => {
    const facts = {
      depositKey: 'solana:old-1:1',
      network: 'solana',
      coin: 'USDT',
      tokenAddress: 'mint-usdt',
      amount: '7.00',
      fromAddress: 'payer',
      toAddress: 'a',
      txHash: 'old-1',
      logIndex: 1,
      blockNumber: 9_001,
      blockHash: 'old',
      blockTimeSec: 1_800_000_001,
    } as const;
    const detected: PendingDeposit = {
      sessionId: 'cs_a' as SessionId,
      facts,
      rule: { kind: 'finalized' },
      status: 'detected',
    };
    const final: PendingDeposit = {
      ...detected,
      facts: { ...facts, depositKey: 'solana:old-2:1', txHash: 'old-2' },
      status: 'final',
    };
    const { chain, watcher, told, anomalies, ranges, open, until, polls } = watching(
      { isNewChain: true },
      { pending: [detected, final], covered: { block: 9_500, hash: 'old', timeSec: 1 } },
    );
    open('a');
    await watcher.start();
    await until('covered', () => ranges.length > 0);
    await polls(3);
    expect(told).toEqual(['revert cs_a solana:old-1:1 reorg']);
    expect(anomalies).toEqual([]);
    expect(ranges[0]!.fromBlock).toBeLessThanOrEqual(chain.finalizedSlot);
  });

  it('polls ended sessions too, and records late money', async () => {
    const { chain, watcher, told, open, until } = watching({ recentIntervalMs: 5, oldIntervalMs: 5 });
    open('ended', { endedAtSec: NOW_SEC - 60 });
    open('long-ago', {
      createdAtSec: NOW_SEC - 900_000,
      expiresAtSec: NOW_SEC - 890_000,
      endedAtSec: NOW_SEC - 890_000,
    });
    await watcher.start();
    chain.pay('ended', 1_000_000n);
    chain.pay('long-ago', 2_000_000n);
    await until('both', () => told.length === 2);
    expect(told.sort()).toEqual(['record cs_ended 1.00', 'record cs_long-ago 2.00']);
  });

  it('polls an ended session again at once if its turn failed', async () => {
    const { chain, watcher, told, open, until } = watching({ recentIntervalMs: 500 });
    open('a', { endedAtSec: NOW_SEC });
    chain.pay('a', 5_000_000n);
    const balances = chain.balances.bind(chain);
    let failedAtMs = 0;
    chain.balances = async (accounts) => {
      if (accounts.length === 0 || failedAtMs > 0) return balances(accounts);
      failedAtMs = performance.now();
      throw new ChainUnavailable('nobody answers');
    };
    await watcher.start();
    await until('recorded', () => told.length > 0);
    expect(performance.now() - failedAtMs).toBeLessThan(400);
  });

  it('reads the finalized history of each session once after its deadline', async () => {
    const { chain, watcher, open, until, polls, setNow } = watching();
    open('a', { expiresAtSec: NOW_SEC + 20 });
    await watcher.start();
    await polls(3);
    expect(chain.calls).not.toContain('history ata-a finalized');
    setNow(NOW_SEC + 30);
    chain.slot += 200;
    chain.finalizedSlot = chain.slot - 32;
    await until('final check', () => chain.calls.includes('history ata-a finalized'));
    expect(chain.timeSec(chain.finalizedSlot)).toBeGreaterThan(NOW_SEC + 20);
  });

  it('records what was read, without a gap and only up to finalized blocks', async () => {
    const { chain, watcher, ranges, open, until } = watching(
      {},
      { covered: { block: 900, hash: 'hash-900', timeSec: chainTime(900) } },
    );
    open('a');
    await watcher.start();
    await until('covered', () => ranges.length === 1);
    chain.slot += 10;
    chain.finalizedSlot += 10;
    await until('more', () => ranges.length === 2);
    expect(ranges.map(({ fromBlock, toBlock, toBlockHash }) => [fromBlock, toBlock, toBlockHash])).toEqual([
      [901, 968, 'hash-968'],
      [969, 978, 'hash-978'],
    ]);
    expect(ranges[0]).toMatchObject({ mode: 'test', network: 'solana', providers: ['scripted'] });
  });

  it('continues where it was after an outage, with nothing lost', async () => {
    const { chain, watcher, told, troubles, open, until } = watching();
    open('a');
    await watcher.start();
    chain.down = true;
    chain.pay('a', 3_000_000n);
    await until('trouble', () => troubles.length > 1);
    expect(watcher.status().consecutiveFailures).toBeGreaterThan(0);
    chain.down = false;
    await until('recorded', () => told.length === 1);
    await until('well again', () => watcher.status().consecutiveFailures === 0);
  });

  it('reads what was paid during a long outage before it confirms the time of the deadline', async () => {
    const { chain, watcher, told, open, setNow } = watching();
    open('a');
    chain.pay('a', 5_000_000n);
    chain.slot += 20_000;
    setNow(NOW_SEC + 20_000);
    await watcher.start();
    expect(watcher.scannedToSec()).toBeGreaterThan(NOW_SEC + 1_800);
    expect(told).toEqual(['record cs_a 5.00']);
  });

  it('offers a payment again if its session could not record it, and confirms no later time meanwhile', async () => {
    const { chain, watcher, told, anomalies, open, until, polls, refuse } = watching();
    open('a');
    await watcher.start();
    refuse(true);
    const { slot } = chain.pay('a', 3_000_000n);
    await until('parked', () => anomalies.some(({ kind }) => kind === 'parked'));
    chain.slot += 50;
    await polls(3);
    expect(watcher.scannedToSec()).toBeLessThan(chain.timeSec(slot));
    refuse(false);
    await until('taken', () => told.length === 1);
    expect(told).toEqual(['record cs_a 3.00']);
    await polls(2);
    expect(watcher.scannedToSec()).toBe(chain.timeSec(chain.slot));
    chain.pay('a', 1_000_000n);
    await until('both', () => told.length === 2);
    expect(told).toEqual(['record cs_a 3.00', 'record cs_a 1.00']);
  });

  it('raises an alarm about a balance that no history explains, and continues', async () => {
    const { chain, watcher, told, anomalies, open, until } = watching({ unexplainedAfterMs: 20 });
    open('a');
    chain.unexplained.set('a', 500n);
    await watcher.start();
    await until('alarm', () => anomalies.length === 1);
    expect(anomalies[0]).toMatchObject({
      kind: 'unexplained',
      sessionId: 'cs_a',
      balanceUnits: '500',
      explainedUnits: '0',
    });
    await until('scanned', () => watcher.scannedToSec() !== null);
    chain.pay('a', 2_000_000n);
    await until('recorded', () => told.length === 1);
    expect(anomalies).toHaveLength(1);
  });

  it('goes on with all others while the history of one account is refused, tells it, and records it later', async () => {
    const { chain, watcher, told, anomalies, ranges, open, until } = watching({ unexplainedAfterMs: 20 });
    for (const owner of ['a', 'b']) open(owner);
    await watcher.start();
    chain.refused.add('a');
    chain.pay('a', 5_000_000n);
    chain.pay('b', 2_000_000n);
    chain.finalize();
    await until('the other one', () => told.includes('record cs_b 2.00'));
    await until('alarm', () => anomalies.length === 1);
    expect(anomalies[0]).toMatchObject({ kind: 'unexplained', sessionId: 'cs_a', balanceUnits: '5000000' });
    const before = chain.slot;
    chain.finalize();
    await until('time goes on', () => watcher.scannedToSec() === chain.timeSec(chain.slot));
    await until('coverage goes on', () => (ranges.at(-1)?.toBlock ?? 0) >= before);
    chain.refused.clear();
    await until('recorded', () => told.includes('record cs_a 5.00'));
    expect(anomalies).toHaveLength(1);
  });

  it('counts money in another account of an address, once, and tells of what no transaction explains', async () => {
    const { chain, watcher, anomalies, told, open, until } = watching();
    open('a');
    await watcher.start();
    const second = { ...chain.tokenAccountsOf('a')[0]!, account: 'ata-second', units: 7n };
    chain.pay('second', 7n, { txHash: 'to the second' });
    chain.finalizedSlot = chain.slot;
    chain.others.set('a', [second]);
    expect(await watcher.recheck('a')).toEqual({ transfers: 1 });
    expect(await watcher.recheck('a')).toMatchObject({ transfers: 0 });
    expect(told.filter((text) => text.startsWith('record cs_a'))).toHaveLength(1);
    expect(anomalies).toEqual([]);
    chain.others.set('a', [{ ...second, units: 9n }]);
    await watcher.recheck('a');
    await watcher.recheck('a');
    await until('alarm', () => anomalies.length > 0);
    expect(anomalies).toEqual([
      {
        ...{ kind: 'unexplained', sessionId: 'cs_a', account: 'ata-second' },
        ...{ balanceUnits: '9', explainedUnits: '7' },
      },
    ]);
  });

  it('reads everything of an owner again on request', async () => {
    const { chain, watcher, told, open, until } = watching();
    open('a');
    chain.pay('a', 2_000_000n);
    chain.finalize();
    await watcher.start();
    await until('recorded', () => told.length >= 1);
    expect(await watcher.recheck('a')).toEqual({ transfers: 1 });
  });

  it('counts nothing twice if a provider that does not know the cursor yet lists older transactions again', async () => {
    const chain = new ScriptedAccountChain();
    const account = chain.tokenAccountsOf('a')[0]!;
    const histories = new AccountHistories(chain);
    chain.pay('a', 1_000_000n);
    const behind = chain.slot;
    chain.pay('a', 2_000_000n);
    chain.finalize();
    (await histories.read(account, { commitment: 'confirmed' }, chain.finalizedSlot)).accept();
    const list = chain.history.bind(chain);
    chain.history = async (name, { commitment, minSlot }: HistoryOptions) => {
      if (minSlot !== undefined && minSlot > behind) throw new ChainUnavailable('not there yet');
      return (await list(name, { commitment })).filter(({ slot }) => slot <= behind);
    };
    const later = histories
      .read(account, { commitment: 'finalized' }, chain.finalizedSlot)
      .then((reading) => reading.accept());
    await expect(later).rejects.toThrow(ChainUnavailable);
    expect(histories.explainedUnits(account.account)).toBe(3_000_000n);
  });

  it('stops while a provider does not respond', { timeout: 10_000 }, async () => {
    const { chain, watcher, polls } = watching();
    await watcher.start();
    await polls(1);
    let isAsked = false;
    chain.balances = () => ((isAsked = true), new Promise<never>(() => undefined));
    await expect.poll(() => isAsked).toBe(true);
    const startedMs = performance.now();
    await watcher.stop();
    expect(performance.now() - startedMs).toBeLessThan(7_000);
    running.splice(0);
  });

  it('notifies listeners up to which time it has read', async () => {
    const { chain, watcher, open, until } = watching();
    open('a');
    const times: number[] = [];
    const stop = watcher.onScanned((scannedToSec) => times.push(scannedToSec));
    await watcher.start();
    chain.slot += 5;
    await until('two', () => times.length === 2);
    expect(times).toEqual([chainTime(1_000), chainTime(1_005)]);
    stop();
    chain.slot += 5;
    await until('scanned', () => watcher.scannedToSec() === chainTime(1_010));
    expect(times).toHaveLength(2);
  });
});

const pendingOf = (owner: string, status: PendingDeposit['status']): PendingDeposit => ({
  sessionId: `cs_${owner}` as SessionId,
  facts: {
    depositKey: 'solana:tx-1:1',
    network: 'solana',
    coin: 'USDT',
    tokenAddress: 'mint-usdt',
    amount: '7.00',
    fromAddress: 'payer',
    toAddress: owner,
    txHash: 'tx-1',
    logIndex: 1,
    blockNumber: 1_001,
    blockHash: 'hash-1001',
    blockTimeSec: 1_800_001_001,
  },
  rule: { kind: 'finalized' },
  status,
});

const chainTime = (slot: number): number => 1_800_000_000 + slot;
