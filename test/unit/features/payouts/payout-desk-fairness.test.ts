import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { MerchantId, SessionId } from '../../../../src/domain/values/ids.ts';
import { ChainUnavailable } from '../../../../src/ports/chain/chain.ts';
import { StoreUnavailable } from '../../../../src/ports/event-log/event-store.ts';
import { type OutgoingTransaction, TransferImpossible } from '../../../../src/ports/outgoing/transaction.ts';
import type { SignerRefusal } from '../../../../src/ports/outgoing/signer.ts';
import { PayoutStage } from '../../../support/payout-stage.ts';

const POLL_MS = 1_000;
const BAD = 'mer_bad' as MerchantId;
const GOOD = 'mer_good' as MerchantId;
const idOf = (name: string): SessionId => `cs_${name}` as SessionId;
const isPoisoned = ({ id }: { readonly id: string }): boolean => id.startsWith('re_bad');

let stage: PayoutStage;
let nowMs = 0;
beforeEach(() => {
  nowMs = 1_000_000;
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  stage = new PayoutStage({ pollMs: POLL_MS });
});
afterEach(() => vi.restoreAllMocks());

async function rounds(count: number): Promise<void> {
  for (let round = 0; round < count; round += 1) {
    await stage.executor.round();
    nowMs += POLL_MS;
  }
}

async function refunds(merchantId: MerchantId, name: string, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const sessionId = idOf(`${name}${index}`);
    await stage.paidSession(sessionId, { merchantId });
    expect(await stage.requestRefund(`re_${name}${index}`, 4, sessionId)).toBe(true);
  }
}

const statusOf = async (name: string): Promise<string> => (await stage.leg(`re_${name}-1`, idOf(name))).status;

const later: SignerRefusal = { ok: false, kind: 'later', code: 'approval', message: '0 of 2 approvals' };
/** What can keep a leg alone from being paid. */
const POISONS: Readonly<Record<string, (stage: PayoutStage) => void>> = {
  'insufficient funds': (on) =>
    (on.check = (order) =>
      isPoisoned(order) ? { kind: 'wait', reason: 'insufficient_funds', detail: 'too little' } : { kind: 'ready' }),
  'an approval that is missing': (on) => (on.checkBySigner = (order) => (isPoisoned(order) ? later : { ok: true })),
  'an exception': (on) =>
    (on.check = (order) => (isPoisoned(order) ? new TypeError('nobody foresaw this') : { kind: 'ready' })),
  'a question that no provider answers for it': (on) =>
    (on.check = (order) =>
      isPoisoned(order) ? new ChainUnavailable('no provider could answer (execution timeout)') : { kind: 'ready' }),
};

describe('a hundred refunds of one merchant that cannot continue', () => {
  it.each(Object.keys(POISONS))('cost a healthy one of another merchant nothing: %s', async (poison) => {
    POISONS[poison]!(stage);
    await refunds(BAD, 'bad', 100);
    await rounds(1);
    await refunds(GOOD, 'good', 1);
    await rounds(2);
    expect(await statusOf('good0')).toBe('PROCESSING');
    const before = [...stage.checks].reduce((sum, [, count]) => sum + count, 0);
    await rounds(256);
    // Four of the longest pauses, and the shorter ones before them.
    const asked = [...stage.checks.values()];
    expect([...stage.checks].reduce((sum, [, count]) => sum + count, 0) - before).toBeLessThanOrEqual(100 * 9);
    expect(Math.max(...asked)).toBeLessThanOrEqual(9);
    expect(Math.min(...asked.slice(0, 100))).toBeGreaterThanOrEqual(1);
  });

  it('do not keep a healthy one of the same merchant waiting either', async () => {
    POISONS['insufficient funds']!(stage);
    await refunds(BAD, 'bad', 100);
    await rounds(40);
    await refunds(BAD, 'good', 1);
    await rounds(2);
    expect(await statusOf('good0')).toBe('PROCESSING');
  });

  it('are all paid once what they lack is there', async () => {
    POISONS['insufficient funds']!(stage);
    await refunds(BAD, 'bad', 30);
    await rounds(100);
    stage.check = () => ({ kind: 'ready' });
    const landed = new Set<string>();
    stage.fateOf = (_order, sent) => {
      landed.add(sent[0]!.txHash);
      return {
        kind: 'landed',
        final: true,
        landed: { txHash: sent[0]!.txHash, blockNumber: 9, blockHash: '0xb', blockTimeSec: 9, networkFee: '0' },
      };
    };
    await rounds(70);
    expect(landed.size).toBe(30);
  });
});

describe('a replacement that the signer does not allow now', () => {
  it('is requested less and less often, since each request is recorded', async () => {
    await refunds(GOOD, 'good', 1);
    await rounds(1);
    stage.fateOf = () => ({ kind: 'pending', inBlock: false });
    let asked = 0;
    stage.sign = () => ((asked += 1), { ...later, code: 'native_daily_cap' });
    await rounds(256);
    expect(asked).toBeGreaterThan(3);
    expect(asked).toBeLessThan(12);
    expect(await statusOf('good0')).toBe('PROCESSING');
  });
});

describe('the reason shown for a refund that cannot continue', () => {
  beforeEach(() => refunds(GOOD, 'good', 1));

  it('is the outage while the chain is unavailable', async () => {
    stage.check = () => new ChainUnavailable('nobody answers');
    await refunds(BAD, 'bad', 2);
    // On this chain the account's own sequence is asked for first, and is away, too.
    vi.spyOn(stage.executor.chain, 'nextNonce').mockRejectedValueOnce(new ChainUnavailable('nobody answers'));
    await expect(stage.executor.round()).rejects.toThrow(ChainUnavailable);
    expect(stage.executor.waiting.map(({ reason }) => reason)).toEqual(Array(3).fill('chain_unavailable'));
    stage.check = () => ({ kind: 'ready' });
    nowMs += 4 * POLL_MS;
    await stage.executor.round();
    expect(stage.executor.waiting).toEqual([]);
  });

  it('is never an outage because of its own fault', async () => {
    stage.check = () => new TypeError('nobody foresaw this');
    await stage.executor.round();
    expect(stage.executor.waiting).toMatchObject([{ reason: 'unexpected_error', detail: 'nobody foresaw this' }]);
  });

  it('is absent if the store is unavailable: the round ends', async () => {
    stage.check = () => new StoreUnavailable('the disk is full');
    await expect(stage.executor.round()).rejects.toThrow(StoreUnavailable);
    expect(stage.executor.waiting).toEqual([]);
  });
});

describe('a refund that can never be drafted', () => {
  const impossible = (order: OutgoingTransaction) =>
    new TransferImpossible('amount_not_payable', `${order.amount} is too fine`);

  it.each(['check', 'drawUp'] as const)('ends with its reason and gives back what it reserved (%s)', async (at) => {
    stage[at] = impossible;
    await refunds(GOOD, 'good', 1);
    await stage.executor.round();
    const { refunds: known } = await stage.context(idOf('good0'));
    expect(known['re_good0']).toMatchObject({ status: 'FAILED', failureReason: 'amount_not_payable' });
    expect(stage.legs).toEqual([]);
    expect(stage.executor.waiting).toEqual([]);
    expect(await stage.requestRefund('re_again', 10, idOf('good0'))).toBe(true);
  });
});
