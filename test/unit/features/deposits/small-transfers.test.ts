import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionId } from '../../../../src/domain/values/ids.ts';
import { sessionStream } from '../../../../src/domain/values/streams.ts';
import { formatAmount } from '../../../../src/domain/money/money.ts';
import { AddressIndex } from '../../../../src/features/addresses/address-index.ts';
import { Deposits } from '../../../../src/features/deposits/deposits.ts';
import type { Anomaly, CoveredBlock, PendingDeposit } from '../../../../src/features/deposits/chain/types.ts';
import { ChainWatcher } from '../../../../src/features/deposits/chain/watch.process.ts';
import { createSessionHandler, type SessionHandler } from '../../../../src/features/shared/handlers/session-handler.ts';
import { ChainUnavailable, type Block, type Chain, type Transfer } from '../../../../src/ports/chain/chain.ts';
import { nodeRandom } from '../../../../src/adapters/node/random.ts';
import { DUST_KEPT } from '../../../../state-machines/checkout-session/deposits.decider.ts';
import { held } from '../../../../state-machines/checkout-session/session.state.ts';
import { localSettings } from '../../../support/anvil.ts';
import { handlerDeps } from '../../../support/handler-deps.ts';
import { MemoryEventStore } from '../../../support/memory-event-store.ts';
import { createdFacts, CREATED_AT, EXPIRES_AT } from '../../../support/session-facts.ts';
import { until } from '../../../support/watching.ts';

/* Many transfers below the dust limit to one address: the watcher of a chain, over real sessions in memory. */

const TOKEN = '0x5FbDB2315678afecb367f032d93F642f64180aa3';
const BUSY = '0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc';
const OTHER = '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65';
const BUSY_ID = `cs_${'a'.repeat(32)}` as SessionId;
const OTHER_ID = `cs_${'b'.repeat(32)}` as SessionId;
const BEGIN = 900;

class CountingStore extends MemoryEventStore {
  appends = 0;
  override append(...given: Parameters<MemoryEventStore['append']>) {
    this.appends += 1;
    return super.append(...given);
  }
}

let store: CountingStore;
let sessions: SessionHandler;
let watcher: ChainWatcher | null;
let transfers: Transfer[];
let anomalies: Anomaly[];
let covered: CoveredBlock;
let pending: PendingDeposit[];
let head: number;
let finality: number;
/** Blocks from here on have other hashes. */
let fork: number;
/** Transactions that no provider can be asked for now. */
let unavailable: Set<string>;
/** What another reading of the same blocks shows. */
let second: (transfers: Transfer[]) => Transfer[];

const blockOf = (number: number): Block => {
  const hashOf = (at: number): string => `0x${at >= fork ? 'f' : 'a'}${at}`;
  return { number, hash: hashOf(number), parentHash: hashOf(number - 1), timeSec: CREATED_AT + (number - BEGIN) };
};

const transfer = (block: number, index: number, tokenUnits = 5_000n, toAddress = BUSY): Transfer => ({
  ...{ tokenAddress: TOKEN, tokenUnits, fromAddress: `0xpayer${index % 7}`, toAddress },
  ...{ txHash: `0x${block}${index}`, logIndex: index, block: blockOf(block) },
});

beforeEach(async () => {
  [store, watcher, transfers, anomalies, pending] = [new CountingStore(), null, [], [], []];
  unavailable = new Set();
  [head, finality, fork, second] = [1_000, 10, Infinity, (all) => all];
  sessions = createSessionHandler(handlerDeps(store));
  covered = { block: BEGIN, hash: blockOf(BEGIN).hash, timeSec: blockOf(BEGIN).timeSec };
  for (const [sessionId, address] of [
    [BUSY_ID, BUSY],
    [OTHER_ID, OTHER],
  ] as const) {
    const data = createdFacts({ sessionId });
    const paymentOptions = data.paymentOptions.map((option) => ({ ...option, address }));
    await sessions.execute(
      sessionStream(sessionId),
      { type: 'CreateSession', data: { ...data, paymentOptions } },
      { correlationId: 'c', actor: 'test' },
    );
  }
  store.appends = 0;
});
afterEach(() => watcher?.stop());

function start(): ChainWatcher {
  const addresses = new AddressIndex('evm');
  addresses.add(BUSY, BUSY_ID);
  addresses.add(OTHER, OTHER_ID);
  const isOn = (one: Transfer): boolean => blockOf(one.block.number).hash === one.block.hash;
  const chain: Chain = {
    ...{ network: 'ethereum', mode: 'test', settings: localSettings(TOKEN) },
    verify: async () => undefined,
    head: async () => blockOf(head),
    finalized: async () => blockOf(head - finality),
    blockAt: async (number) => blockOf(number),
    scan: async (from, to, _isOurs, options) => {
      const found = transfers.filter((one) => isOn(one) && one.block.number >= from && one.block.number <= to);
      const isSecond = (options?.readBefore?.length ?? 0) > 0;
      return { transfers: isSecond ? second(found) : found, lastBlock: blockOf(to), providers: ['p'] };
    },
    transferAt: async (txHash, logIndex) => {
      if (unavailable.has(txHash)) throw new ChainUnavailable('no provider answers');
      return transfers.find((one) => isOn(one) && one.txHash === txHash && one.logIndex === logIndex) ?? null;
    },
    agreeOnFinality: async () => true,
    disprove: async (facts) => {
      if (blockOf(facts.blockNumber).hash !== facts.blockHash) return 'reorg';
      return transfers.some(({ txHash }) => txHash === facts.txHash) ? null : 'not_in_block';
    },
    close: async () => undefined,
  };
  const deposits = new Deposits({
    sessions,
    rates: { lock: async () => null, mayQuote: () => false, valuation: () => null, close: async () => undefined },
    senders: { of: async () => null },
    isOurs: () => false,
    clock: { nowMs: () => EXPIRES_AT * 1000 },
    random: nodeRandom,
  });
  watcher = new ChainWatcher(
    {
      ...{ chain, addresses, deposits, clock: { nowMs: () => CREATED_AT * 1000 } },
      coverage: {
        lastCovered: async () => covered,
        coveredBelow: async (block) => (covered.block < block ? covered : null),
        recordAgain: async () => undefined,
        record: async () => undefined,
      },
      finalityRuleOf: () => ({ kind: 'finalized' }),
      pendingDeposits: async () => pending,
      observer: { onAnomaly: (anomaly) => anomalies.push(anomaly) },
    },
    { pollIntervalMs: 5, secondReadingMs: 0 },
  );
  void watcher.start();
  return watcher;
}

const isCovered = (to: number) => (): boolean => (watcher?.status().coveredBlock ?? 0) >= to;

async function seen(id = BUSY_ID) {
  const { context, value } = (await sessions.read(sessionStream(id)))!;
  const deposits = [...context.deposits].filter(({ status }) => status === 'final');
  const money = formatAmount(deposits.reduce((sum, { units }) => sum + units, 0n));
  const together = deposits.flatMap(({ facts }) => (facts.together ? [facts.together.transfers] : []));
  return { value, money, held: formatAmount(held(context)), deposits: deposits.length, together };
}

describe('many small transfers to one address', () => {
  it('are a few appends and one deposit beyond the bound, and another order is paid with the same reading', async () => {
    for (let index = 0; index < 1_500; index++) transfers.push(transfer(901 + (index % 60), index));
    transfers.push(transfer(950, 5_000, 10_000_000n, OTHER), transfer(951, 5_001, 3_000_000n));
    start();
    await until('covered', isCovered(990));
    const { together, deposits, ...money } = await seen();
    expect(money).toEqual({ value: 'paid', money: '10.50', held: '10.25' });
    // A busy machine may look them up in several passes.
    expect(together.reduce((sum, each) => sum + each, 0)).toBe(1_500 - DUST_KEPT);
    expect(deposits).toBe(DUST_KEPT + 1 + together.length);
    expect(await seen(OTHER_ID)).toMatchObject({ value: 'paid', money: '10.00' });
    // In pieces of a hundred, not one by one.
    expect(store.appends).toBeLessThan(12 + together.length);
    expect(anomalies).toEqual([]);
  });

  it('are counted once when a restart reads their blocks again, and later ones by themselves', async () => {
    for (let index = 0; index < 300; index++) transfers.push(transfer(901 + (index % 60), index));
    start();
    await until('covered', isCovered(990));
    const before = await seen();
    await watcher!.stop();
    transfers.push(transfer(992, 9_000), transfer(993, 9_001));
    head = 1_010;
    start();
    await until('covered again', isCovered(1_000));
    expect(await seen()).toEqual({
      ...before,
      ...{ money: '1.51', held: '1.26', deposits: DUST_KEPT + 2, together: [250, 2] },
    });
  });

  it('that only one reading shows are dropped where the chain shows that it never had them', async () => {
    for (let index = 0; index < DUST_KEPT; index++) transfers.push(transfer(901, index));
    const [shown, made] = [transfer(910, 1), transfer(910, 2)];
    transfers.push(shown);
    second = (all) => (all.some(({ block }) => block.number === 910) ? [...all, made] : all);
    start();
    await until('covered', isCovered(990));
    expect(await seen()).toMatchObject({ money: '0.255', together: [1] });
    expect(anomalies).toEqual([]);
  });

  it('wait for one that cannot be looked up now, since they are counted by height', async () => {
    for (let index = 0; index < DUST_KEPT; index++) transfers.push(transfer(901, index));
    const doubtful = transfer(910, 1);
    transfers.push(transfer(905, 0), doubtful, transfer(910, 2), transfer(920, 3));
    unavailable.add(doubtful.txHash);
    start();
    await until('those before it', async () => (await seen()).money === '0.255');
    expect(anomalies).toContainEqual(expect.objectContaining({ kind: 'disputed', depositKey: 'ethereum:0x9101:1' }));
    expect(watcher!.status().coveredBlock).toBe(BEGIN);
    unavailable.clear();
    await until('covered', isCovered(990));
    expect(await seen()).toMatchObject({ money: '0.27', together: [1, 3] });
  });

  it('are taken back and counted anew by a reorganisation beyond finality', async () => {
    for (let index = 0; index < DUST_KEPT; index++) transfers.push(transfer(901, index));
    transfers.push(transfer(930, 1), transfer(940, 2), transfer(980, 3));
    start();
    await until('covered', isCovered(990));
    expect(await seen()).toMatchObject({ money: '0.265', together: [3] });
    fork = 970;
    head = 1_020;
    await until('reverted and counted anew', async () => (await seen()).together[0] === 2);
    expect(await seen()).toMatchObject({ money: '0.26', together: [2] });
  });
});
