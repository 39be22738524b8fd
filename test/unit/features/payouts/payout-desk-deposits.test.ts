import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { RefundId, SessionId } from '../../../../src/domain/values/ids.ts';
import { landedAs, PayoutStage, TRON_DRAFT } from '../../../support/payout-stage.ts';
import { depositFacts, MERCHANT_ID, SESSION_ID } from '../../../support/session-facts.ts';

const GRACE_MS = 60_000;
const POLL_MS = 1_000;
const LEG = 're_a-1';
const TX = `0x${LEG}-1`;

let stage: PayoutStage;
let depositKey: string;
let nowMs = 0;

async function begin(network: 'ethereum' | 'tron' = 'ethereum'): Promise<void> {
  stage = new PayoutStage({ network, pollMs: POLL_MS, depositGraceMs: GRACE_MS });
  stage.bumpAfterMs = Number.POSITIVE_INFINITY;
  depositKey = await stage.paidSession();
  expect(await stage.requestRefund('re_a', 4)).toBe(true);
}
const comesBack = (): Promise<string> =>
  stage.deposit(SESSION_ID, { network: stage.network, txHash: `0x${SESSION_ID}` });

beforeEach(async () => {
  nowMs = 1_000_000;
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  await begin();
});
afterEach(() => vi.restoreAllMocks());

async function rounds(count: number): Promise<void> {
  for (let round = 0; round < count; round += 1) {
    await stage.executor.round();
    nowMs += POLL_MS;
  }
}
const pastGrace = (): Promise<void> => rounds((GRACE_MS + 64 * POLL_MS) / POLL_MS + 2);
const refund = async () => (await stage.context()).refunds['re_a']!;

describe('a refund whose deposit left the chain before anything was signed', () => {
  beforeEach(() => stage.revert(SESSION_ID, depositKey));

  it('is not paid, says so, and ends once the money had time to come back', async () => {
    await rounds(1);
    expect(stage.executor.waiting).toMatchObject([{ legId: LEG, reason: 'deposit_not_final' }]);
    await rounds(GRACE_MS / POLL_MS - 2);
    expect((await refund()).status).toBe('PENDING');
    await pastGrace();
    expect(await refund()).toMatchObject({ status: 'FAILED', failureReason: 'deposit_reverted' });
    expect(stage.broadcast).toEqual([]);
    expect(stage.executor.waiting).toEqual([]);
    expect(stage.executor.alarm).toBeNull();
  });

  it('ends in time although the process is restarted again and again', async () => {
    for (let start = 0; start < 4; start += 1) {
      await rounds(GRACE_MS / POLL_MS / 4);
      stage.restart();
    }
    expect((await refund()).status).toBe('PENDING');
    await rounds(64);
    expect(await refund()).toMatchObject({ status: 'FAILED', failureReason: 'deposit_reverted' });
  });

  it('waits for the watchers of a process that was down for the whole time', async () => {
    nowMs += 10 * GRACE_MS;
    stage.restart();
    await rounds(GRACE_MS / POLL_MS / 10 - 1);
    expect((await refund()).status).toBe('PENDING');
    await comesBack();
    await rounds(64);
    expect(stage.broadcast[0]).toBe(TX);
  });

  it('lets the money that came later be refunded after that', async () => {
    await pastGrace();
    await stage.deposit(SESSION_ID, { txHash: '0x02', fromAddress: '0xOther' });
    expect(await stage.requestRefund('re_b', 10)).toBe(true);
    await rounds(1);
    expect(stage.broadcast).toEqual(['0xre_b-1-1']);
  });

  it('is paid when the deposit is back in time', async () => {
    await rounds(GRACE_MS / POLL_MS - 2);
    await comesBack();
    await rounds(64);
    expect(stage.broadcast[0]).toBe(TX);
  });

  it('keeps waiting while the deposit is seen but not final again', async () => {
    await rounds(10);
    await stage.tell(SESSION_ID, { type: 'RecordDeposit', facts: depositFacts({ txHash: `0x${SESSION_ID}` }) });
    await pastGrace();
    expect((await refund()).status).toBe('PENDING');
    expect(stage.executor.waiting).toMatchObject([{ reason: 'deposit_not_final' }]);
  });

  it('is paid although another deposit of its payer, which it does not use, is gone', async () => {
    const other = `cs_${'b'.repeat(32)}` as SessionId;
    const first = await stage.paidSession(other, { deposit: { amount: '6.00' } });
    await stage.deposit(other, { txHash: '0x77', amount: '4.00' });
    expect(await stage.requestRefund('re_b', 4, other)).toBe(true);
    await stage.revert(other, first);
    let named: readonly string[] = [];
    stage.checkBySigner = ({ deposits }) => {
      named = deposits.map((deposit) => deposit.depositKey);
      return { ok: true };
    };
    await rounds(1);
    expect((await stage.leg('re_b-1', other)).status).toBe('PROCESSING');
    expect(named).toEqual(['ethereum:0x77:0']);
  });

  it('waits alone: other money of its payer can be refunded meanwhile', async () => {
    await stage.deposit(SESSION_ID, { txHash: '0x77', amount: '4.00' });
    expect(await stage.requestRefund('re_b', 4)).toBe(true);
    await rounds(1);
    expect((await stage.leg(LEG)).status).toBe('PENDING');
    expect(await stage.leg('re_b-1')).toMatchObject({
      status: 'PROCESSING',
      leg: { takenFrom: [{ depositKey: 'ethereum:0x77:0', amount: '4.00' }] },
    });
  });
});

describe.each(['ethereum', 'tron'] as const)(
  'a refund on %s whose deposit left the chain before the books know it',
  (network) => {
    beforeEach(async () => {
      await begin(network);
      if (network === 'tron') stage.drawUp = () => TRON_DRAFT;
    });

    it('is not sent once it is signed, and is sent when the chain shows the deposit again', async () => {
      const asked: (readonly string[])[] = [];
      stage.holds = (txHashes) => (asked.push(txHashes), false);
      await rounds(1);
      expect([stage.broadcast, asked[0]]).toEqual([[], [`0x${SESSION_ID}`]]);
      expect(stage.executor.waiting).toMatchObject([{ legId: LEG, reason: 'deposit_reverted' }]);
      stage.holds = () => true;
      await rounds(2);
      expect(stage.broadcast[0]).toBe(TX);
      expect(stage.executor.waiting).toEqual([]);
    });

    it('is not sent again when the same fork took it out of its block', async () => {
      await rounds(1);
      expect(stage.broadcast).toEqual([TX]);
      stage.fateOf = () => landedAs(TX);
      await rounds(1);
      expect((await refund()).status).toBe('COMPLETED');
      stage.broadcast.length = 0;
      const leg = { sessionId: SESSION_ID, merchantId: MERCHANT_ID, refundId: 're_a' as RefundId, legId: LEG };
      stage.landed = [{ ...leg, mode: 'test', network }];
      stage.holds = () => false;
      stage.vanished = () => true;
      stage.fateOf = () => ({ kind: 'absent' });
      await rounds(3);
      expect(stage.broadcast).toEqual([]);
      stage.legs = [{ ...leg, mode: 'test', network }];
      await rounds(3);
      expect(stage.broadcast).toEqual([]);
      await pastGrace();
      expect((await stage.leg(LEG)).status).toBe('PROCESSING');
      stage.holds = () => true;
      await rounds(3);
      expect(stage.broadcast[0]).toBe(TX);
    });
  },
);

it('finished refunds that a node forgot are not sent again while the chain does not show their deposits', async () => {
  await rounds(1);
  stage.fateOf = () => landedAs(TX);
  await rounds(1);
  stage.broadcast.length = 0;
  await stage.deposit(SESSION_ID, { txHash: '0x02', fromAddress: '0xOther' });
  expect(await stage.requestRefund('re_b', 1)).toBe(true);
  const held = new Set(['0x02']);
  stage.holds = (txHashes) => txHashes.every((txHash) => held.has(txHash));
  stage.fateOf = () => ({ kind: 'pending', inBlock: false });
  await rounds(1);
  expect(stage.broadcast).not.toContain(TX);
  held.add(`0x${SESSION_ID}`);
  await stage.deposit(SESSION_ID, { txHash: '0x03', fromAddress: '0xThird' });
  expect(await stage.requestRefund('re_c', 1)).toBe(true);
  await rounds(1);
  expect(stage.broadcast).toContain(TX);
});

describe('a refund whose deposit left the chain after it was signed', () => {
  beforeEach(async () => {
    await rounds(1);
    expect(stage.broadcast).toEqual([TX]);
    await stage.revert(SESSION_ID, depositKey);
    stage.broadcast.length = 0;
  });

  it('is not sent again, stops the account on a chain with a sequence, and continues when the deposit is back', async () => {
    await rounds(3);
    expect(stage.broadcast).toEqual([]);
    expect(stage.executor.waiting).toMatchObject([{ legId: LEG, reason: 'deposit_reverted' }]);
    expect(stage.executor.alarm).toContain(TX);
    await comesBack();
    await rounds(1);
    expect(stage.broadcast).toEqual([TX]);
    expect(stage.executor.waiting).toEqual([]);
    expect(stage.executor.alarm).toBeNull();
  });

  it('gets no higher fee while a node has it, and counts as paid when it lands all the same', async () => {
    stage.bumpAfterMs = 0;
    stage.fateOf = () => ({ kind: 'pending', inBlock: false });
    await rounds(3);
    expect(await stage.leg(LEG)).toMatchObject({ status: 'PROCESSING', txHashes: [TX] });
    expect(stage.executor.waiting).toMatchObject([{ reason: 'deposit_reverted' }]);
    stage.fateOf = () => landedAs(TX);
    await rounds(1);
    expect(await refund()).toMatchObject({ status: 'COMPLETED' });
    expect(stage.executor.waiting).toEqual([]);
  });

  it('is cancelled at its own nonce once the money had time to come back, and ends when the chain says so', async () => {
    await rounds(GRACE_MS / POLL_MS - 1);
    expect(await stage.leg(LEG)).toMatchObject({ txHashes: [TX] });
    await rounds(3);
    const cancellation = `0x${LEG}-2`;
    expect(await stage.leg(LEG)).toMatchObject({ status: 'PROCESSING', txHashes: [TX, cancellation] });
    expect((await stage.leg(LEG)).payouts.at(-1)!.validity).toMatchObject({
      kind: 'evm-nonce',
      nonce: 0,
      cancels: true,
    });
    // Only what moves nothing goes out, also when the deposit is back meanwhile.
    await comesBack();
    await rounds(2);
    expect(new Set(stage.broadcast)).toEqual(new Set([cancellation]));
    expect(stage.executor.alarm).toBeNull();
    stage.fateOf = () => ({ kind: 'ineffective', txHash: cancellation, networkFee: '0.002' });
    await rounds(2);
    expect(await refund()).toMatchObject({
      status: 'FAILED',
      failureReason: 'deposit_reverted',
      legs: { [LEG]: { networkFee: '0.002' } },
    });
    expect(stage.executor.waiting).toEqual([]);
    // The place is free, and so is the money.
    stage.nonce = 1;
    stage.fateOf = () => ({ kind: 'absent' });
    expect(await stage.requestRefund('re_b', null)).toBe(true);
    await rounds(1);
    expect(await stage.leg('re_b-1')).toMatchObject({ status: 'PROCESSING', units: 10n ** 19n });
    expect((await stage.leg('re_b-1')).payouts[0]!.validity).toMatchObject({ nonce: 1 });
  });

  it('counts as paid when it lands although it was cancelled', async () => {
    await pastGrace();
    stage.fateOf = () => landedAs(TX);
    await rounds(1);
    expect(await refund()).toMatchObject({ status: 'COMPLETED' });
  });

  it('keeps waiting with its alarm while a cancellation would cost too much', async () => {
    stage.cancelled = () => null;
    await pastGrace();
    expect(await stage.leg(LEG)).toMatchObject({ txHashes: [TX] });
    expect(stage.executor.waiting).toMatchObject([{ reason: 'network_fee_too_high' }]);
    expect(stage.executor.alarm).toContain(TX);
  });

  it('is not cancelled while the deposit is seen and not final again, or while a block has the payout', async () => {
    await stage.tell(SESSION_ID, { type: 'RecordDeposit', facts: depositFacts({ txHash: `0x${SESSION_ID}` }) });
    await pastGrace();
    expect(await stage.leg(LEG)).toMatchObject({ txHashes: [TX] });
    await stage.revert(SESSION_ID, depositKey);
    stage.fateOf = () => ({ kind: 'pending', inBlock: true });
    await pastGrace();
    expect(await stage.leg(LEG)).toMatchObject({ txHashes: [TX] });
  });

  it('ends where the chain excludes all that was signed, once the money had time to come back', async () => {
    await begin('tron');
    stage.drawUp = () => TRON_DRAFT;
    await rounds(1);
    await stage.revert(SESSION_ID, depositKey);
    stage.fateOf = () => ({ kind: 'never' });
    await rounds(2);
    expect((await refund()).status).toBe('PROCESSING');
    expect(stage.executor.alarm).toBeNull();
    await pastGrace();
    expect(await refund()).toMatchObject({ status: 'FAILED', failureReason: 'deposit_reverted' });
    expect(stage.broadcast).toEqual([TX]);
  });
});

describe('a reorganisation that removes both the deposit and the completed refund', () => {
  beforeEach(async () => {
    stage.fateOf = () => landedAs(TX);
    await rounds(2);
    expect((await refund()).status).toBe('COMPLETED');
    const leg = {
      sessionId: SESSION_ID,
      merchantId: 'mer_a' as never,
      refundId: 're_a' as RefundId,
      legId: LEG,
      mode: 'test' as const,
      network: 'ethereum' as const,
    };
    stage.landed = [leg];
    stage.vanished = () => true;
    stage.fateOf = () => ({ kind: 'absent' });
    stage.broadcast.length = 0;
    await stage.revert(SESSION_ID, depositKey);
    await rounds(1);
    stage.legs = [leg];
  });

  it('is cancelled and fails if the deposit stays away, even after it was completed', async () => {
    await pastGrace();
    const cancellation = `0x${LEG}-2`;
    expect(new Set(stage.broadcast)).toEqual(new Set([cancellation]));
    stage.fateOf = () => ({ kind: 'ineffective', txHash: cancellation, networkFee: '0.002' });
    await rounds(2);
    expect(await refund()).toMatchObject({ status: 'FAILED', failureReason: 'deposit_reverted', returned: 0n });
    expect(stage.executor.alarm).toBeNull();
  });

  it('does not pay again, and raises an alarm', async () => {
    await rounds(5);
    expect(stage.broadcast).toEqual([]);
    expect(stage.executor.alarm).toContain(TX);
    expect(stage.executor.waiting).toMatchObject([{ legId: LEG, reason: 'deposit_reverted' }]);
  });

  it('pays with the same bytes once the deposit is back', async () => {
    await rounds(5);
    await comesBack();
    await rounds(1);
    expect(stage.broadcast).toEqual([TX]);
    expect(stage.executor.alarm).toBeNull();
  });
});

describe('a refund whose deposit leaves the chain while the signer signs', () => {
  it('is recorded and not sent', async () => {
    const { sign } = stage;
    let gone: Promise<void> = Promise.resolve();
    stage.sign = (request) => {
      gone = stage.revert(SESSION_ID, depositKey);
      return sign(request);
    };
    await rounds(1);
    await gone;
    expect(await stage.leg(LEG)).toMatchObject({ status: 'PROCESSING', txHashes: [TX] });
    expect(stage.broadcast).toEqual([]);
  });
});
