import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { BroadcastAnswer } from '../../../../src/ports/outgoing/chain.ts';
import type { RefundId } from '../../../../src/domain/values/ids.ts';
import type { Fate } from '../../../../src/ports/outgoing/transaction.ts';
import type { Signature, SignedPayment, SignerVerdict } from '../../../../src/ports/outgoing/signer.ts';
import { refOf } from '../../../../src/features/payouts/refunds/records.ts';
import type { SessionCommand } from '../../../../state-machines/checkout-session/session.decider.ts';
import { EVM_DRAFT, landedAs, PayoutStage, signedAs } from '../../../support/payout-stage.ts';
import { SESSION_ID } from '../../../support/session-facts.ts';

const refundId = 're_a' as RefundId;
const signed = signedAs(({ attempt, order: { id } }) => (id === 're_a-1' ? `0xt${attempt}` : `0x${id}`));
const stopped: Signature = {
  ok: false,
  kind: 'stopped',
  code: 'journal_broken',
  message: 'another process wrote to the journal',
};

const DENIED: SignerVerdict = { ok: false, kind: 'denied', code: 'policy', message: 'not allowed' };
const INEFFECTIVE: Fate = { kind: 'ineffective', txHash: '0xt1', networkFee: '0.001' };

let stage: PayoutStage;
beforeEach(async () => {
  stage = new PayoutStage();
  stage.sign = signed;
  await stage.paidSession();
  await stage.requestRefund(refundId, 4);
  await stage.executor.round();
  expect(await stage.leg('re_a-1')).toMatchObject({ status: 'PROCESSING', txHashes: ['0xt1'] });
});

const taken = (provider: string): BroadcastAnswer => ({ provider, kind: 'taken', text: 'taken' });
const refusing = (provider: string, text: string): BroadcastAnswer => ({ provider, kind: 'refused', text });

describe('a payout whose replacement is reserved and not signed', () => {
  const landing: SessionCommand = {
    type: 'RecordPayoutLanded',
    valuation: null,
    data: {
      refundId,
      legId: 're_a-1',
      txHash: '0xt1',
      blockNumber: 9,
      blockHash: '0xb',
      blockTimeSec: 9,
      networkFee: '0.001',
      landedAtSec: 10,
    },
  };

  beforeEach(async () => {
    stage.fateOf = () => ({ kind: 'pending', inBlock: false });
    stage.sign = () => stopped;
    await stage.executor.round();
    expect((await stage.treasury()).open).toMatchObject({ legId: 're_a-1', attempt: 2 });
  });

  it('does not count as landed before the signer has replied, so that the reservation can be ended', async () => {
    stage.fateOf = () => landedAs('0xt1');
    await stage.executor.round();
    stage.sign = signed;
    await stage.executor.round();
    await stage.executor.round();
    expect(await stage.leg('re_a-1')).toMatchObject({ status: 'COMPLETED', landedTxHash: '0xt1' });
    expect(await stage.treasury()).toMatchObject({ open: null, journal: { seq: 2 } });
  });

  it('delays nothing if another process saw its first transaction land', async () => {
    await stage.tell(SESSION_ID, landing);
    stage.sign = signed;
    stage.broadcast.length = 0;
    await stage.executor.round();
    expect(await stage.treasury()).toMatchObject({ open: null, journal: { seq: 2 } });
    expect(await stage.leg('re_a-1')).toMatchObject({ status: 'COMPLETED', txHashes: ['0xt1'] });
    expect(stage.broadcast).toEqual([]);
  });
});

describe('a replacement lost by a restored event log', () => {
  const lost: SignedPayment = {
    ...{ kind: 'refund', network: 'ethereum', id: 're_a-1', attempt: 2, coin: 'USDT', amount: '4.00' },
    ...{ fromAddress: '0xTreasury', toAddress: '', draft: EVM_DRAFT, depositKeys: [], merchantId: null },
    ...{ txHash: '0xt2', signedBytes: 'bytes', journal: { seq: 2, hash: 'h2' }, signedAtSec: 1 },
  };
  const takeOver = async (): Promise<void> => {
    const { toAddress, amount } = (await stage.leg('re_a-1')).leg;
    const ref = refOf({ sessionId: SESSION_ID, refundId, legId: 're_a-1' });
    await stage.executor.interventions.takeOver(ref, { ...lost, toAddress, amount });
  };

  it.each([
    ['landed', landedAs('0xt1'), 'COMPLETED'],
    ['had no effect', { kind: 'ineffective', txHash: '0xt1', networkFee: '0.001' } as const, 'FAILED'],
  ])('is recorded beside a leg whose first transaction %s, and nothing is sent', async (_, fate, status) => {
    stage.fateOf = () => fate;
    await stage.executor.round();
    expect(await stage.leg('re_a-1')).toMatchObject({ status });
    stage.broadcast.length = 0;
    await takeOver();
    expect(await stage.treasury()).toMatchObject({ open: null, journal: { seq: 2 } });
    expect(await stage.leg('re_a-1')).toMatchObject({ status, txHashes: ['0xt1'] });
    expect(stage.broadcast).toEqual([]);
  });

  it('ends the alarm about a reservation next to it, so that others are paid again', async () => {
    await stage.requestRefund('re_b', 1);
    stage.fateOf = () => ({ kind: 'absent' });
    stage.bumpAfterMs = Number.POSITIVE_INFINITY;
    stage.sign = () => ({ ...stopped, code: 'journal_disagrees' });
    await stage.executor.round();
    expect((await stage.treasury()).open).toMatchObject({ legId: 're_b-1' });
    expect(stage.executor.alarm).toMatch(/the signer refuses to sign/);
    await takeOver();
    stage.sign = signed;
    for (let round = 0; round < 3; round += 1) await stage.executor.round();
    expect(stage.executor.alarm).toBeNull();
    expect(await stage.leg('re_b-1')).toMatchObject({ status: 'PROCESSING' });
  });
});

describe('a payout that a restored event log records as never signed', () => {
  it('cannot be given up while the journal says that it was', async () => {
    await stage.requestRefund('re_b', 1);
    stage.lost = [{ id: 're_b-1' } as SignedPayment];
    const ref = refOf({ sessionId: SESSION_ID, refundId: 're_b' as RefundId, legId: 're_b-1' });
    await expect(stage.executor.interventions.reject(ref)).rejects.toThrow(
      're_b-1 was signed, but this event log has lost it',
    );
    stage.lost = [];
    await stage.executor.interventions.reject(ref);
    expect(await stage.leg('re_b-1')).toMatchObject({ status: 'FAILED' });
  });
});

describe('a payout for which the signer cannot say whether it signed', () => {
  it('cannot be given up, since it may have been paid', async () => {
    await stage.requestRefund('re_b', 1);
    stage.lost = { ok: false, kind: 'stopped', code: 'journal_disagrees', message: 'the journal lacks entry 3' };
    const ref = refOf({ sessionId: SESSION_ID, refundId: 're_b' as RefundId, legId: 're_b-1' });
    await expect(stage.executor.interventions.reject(ref)).rejects.toThrow(
      'whether re_b-1 was signed cannot be told: the journal lacks entry 3',
    );
    expect(await stage.leg('re_b-1')).toMatchObject({ status: 'PENDING' });
  });
});

describe('a payout beside a journal that disagrees', () => {
  it('waits, with the reason', async () => {
    await stage.requestRefund('re_b', 1);
    stage.journalFault = 'the journal is ahead';
    await stage.executor.round();
    expect(await stage.leg('re_b-1')).toMatchObject({ status: 'PENDING' });
    expect(stage.executor.waiting).toMatchObject([{ legId: 're_b-1', detail: 'the journal is ahead' }]);
  });
});

describe('a payout of a process whose signer has been away since the start', () => {
  it.each([
    ['was never signed', 're_b-1', () => (stage.check = () => ({ kind: 'fail', reason: 'recipient_frozen' }))],
    ['was denied', 're_b-1', () => (stage.checkBySigner = () => DENIED)],
    ['had no effect', 're_a-1', () => (stage.fateOf = () => INEFFECTIVE)],
  ])('does not end as failed though it %s, since the journal may say that it was paid', async (_, legId, happens) => {
    await stage.requestRefund('re_b', 1);
    stage.isCompared = false;
    happens();
    await stage.executor.round();
    expect(stage.executor.waiting).toMatchObject([{ legId, reason: 'signer_unavailable' }]);
    expect((await stage.leg(legId)).status).not.toBe('FAILED');
    stage.isCompared = true;
    await stage.executor.round();
    expect(await stage.leg(legId)).toMatchObject({ status: 'FAILED' });
  });
});

describe('a payout that no provider shows any more', () => {
  it("offers a higher fee once it has been out for long, since nodes refuse fees below the network's minimum", async () => {
    stage.fateOf = () => ({ kind: 'absent' });
    stage.bumpAfterMs = 60_000;
    await stage.executor.round();
    expect(await stage.leg('re_a-1')).toMatchObject({ txHashes: ['0xt1'] });
    stage.bumpAfterMs = 0;
    await stage.executor.round();
    expect(await stage.leg('re_a-1')).toMatchObject({ txHashes: ['0xt1', '0xt2'] });
  });

  it.each<[string, readonly BroadcastAnswer[]]>([
    ['the price', [{ provider: 'one', kind: 'underpriced', text: 'transaction underpriced' }]],
    ['nothing', [{ provider: 'one', kind: 'silent', text: 'no answer' }]],
    ['that one knows it', [taken('one'), refusing('two', 'SERVER_BUSY')]],
  ])('offers a higher fee where the nodes said %s', async (_, said) => {
    stage.fateOf = () => ({ kind: 'absent' });
    stage.bumpAfterMs = 0;
    stage.broadcastAnswers = said;
    await stage.executor.round();
    expect(await stage.leg('re_a-1')).toMatchObject({ txHashes: ['0xt1', '0xt2'] });
    expect(stage.executor.waiting).toEqual([]);
  });

  it('keeps its fee and says why while every node refuses it for another reason', async () => {
    stage.fateOf = () => ({ kind: 'absent' });
    stage.bumpAfterMs = 0;
    const cap = 'tx fee (2.00 ether) exceeds the configured cap (1.00 ether)';
    stage.broadcastAnswers = [refusing('one', cap), { provider: 'two', kind: 'silent', text: 'no answer' }];
    await stage.executor.round();
    expect(await stage.leg('re_a-1')).toMatchObject({ txHashes: ['0xt1'] });
    expect(stage.executor.waiting).toMatchObject([{ reason: 'broadcast_refused', detail: `one refuses it: ${cap}` }]);
    stage.broadcastAnswers = [taken('one')];
    stage.bumpAfterMs = 60_000;
    await stage.executor.round();
    expect(stage.executor.waiting).toEqual([]);
  });

  it('goes out again in everything that was signed at its nonce, since the newest may cost more than there is', async () => {
    stage.fateOf = () => ({ kind: 'pending', inBlock: false });
    await stage.executor.round();
    expect(await stage.leg('re_a-1')).toMatchObject({ txHashes: ['0xt1', '0xt2'] });
    stage.fateOf = () => ({ kind: 'absent' });
    stage.bumpAfterMs = 60_000;
    stage.broadcast.length = 0;
    await stage.executor.round();
    expect(stage.broadcast).toEqual(['0xt1', '0xt2']);
  });
});

describe('a payout in a block that no provider keeps any more', () => {
  const unseen = 'its nonce was used, and one does not show the transaction that used it';

  it('says so once nodes had time to show it, is not replaced, and ends when one shows it', async () => {
    stage.fateOf = () => ({ kind: 'pending', inBlock: true, unseen });
    await stage.executor.round();
    expect(stage.executor.waiting).toEqual([]);
    stage.clockOffMs = 700_000;
    await stage.executor.round();
    expect(stage.executor.waiting).toMatchObject([{ legId: 're_a-1', reason: 'not_shown', detail: unseen }]);
    expect(await stage.leg('re_a-1')).toMatchObject({ status: 'PROCESSING', txHashes: ['0xt1'] });
    stage.fateOf = () => landedAs('0xt1');
    await stage.executor.round();
    expect(await stage.leg('re_a-1')).toMatchObject({ status: 'COMPLETED' });
  });
});

describe('a payout that waits for a block', () => {
  it('gets its higher fee in time also when the clock was set back by a day since it was signed', async () => {
    stage.fateOf = () => ({ kind: 'pending', inBlock: false });
    stage.bumpAfterMs = 60_000;
    stage.clockOffMs = -86_400_000;
    await stage.executor.round();
    expect(await stage.leg('re_a-1')).toMatchObject({ txHashes: ['0xt1'] });
    const later = performance.now() + 60_001;
    const monotonic = vi.spyOn(performance, 'now').mockImplementation(() => later);
    await stage.executor.round().finally(() => monotonic.mockRestore());
    expect(await stage.leg('re_a-1')).toMatchObject({ txHashes: ['0xt1', '0xt2'] });
  });
});

describe('a payout that cannot continue', () => {
  it('delays no other', async () => {
    await stage.requestRefund('re_b', 1);
    stage.fateOf = () => new Error('nobody foresaw this');
    await stage.executor.round();
    expect(stage.broadcast).toEqual(['0xt1', '0xre_b-1']);
    expect(stage.executor.waiting).toMatchObject([
      { legId: 're_a-1', reason: 'unexpected_error', detail: 'nobody foresaw this' },
    ]);
  });
});
