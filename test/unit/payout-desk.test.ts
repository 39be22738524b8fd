import { beforeEach, describe, expect, it, vi } from 'vitest';
import { nodeRandom } from '../../src/adapters/node/random.ts';
import type { DepositFacts, SessionEvent } from '../../src/domain/events/session-events.ts';
import type { PayoutDraft } from '../../src/domain/events/treasury-events.ts';
import type { RefundId } from '../../src/domain/ids.ts';
import { sessionStream, treasuryStream } from '../../src/domain/streams.ts';
import { systemClock } from '../../src/ports/clock.ts';
import type { PayoutChain, PayoutFate, PayoutRequest, PayoutSignature, SentPayout } from '../../src/ports/payouts.ts';
import { TreasuryDesk } from '../../src/processes/pay-refunds-desk.ts';
import type { LegRef, PayoutWork } from '../../src/processes/pay-refunds-work.ts';
import { NotificationIds } from '../../src/runtime/notification-ids.ts';
import { createTreasuryHandler, type TreasuryHandler } from '../../src/use-cases/payouts-handler.ts';
import { createSessionHandler, type SessionHandler } from '../../src/use-cases/session-handler.ts';
import type { SessionCommand } from '../../state-machines/checkout-session.decider.ts';
import { MemoryEventStore } from '../support/memory-event-store.ts';
import { createdFacts, CREATED_AT, depositFacts, SESSION_ID } from '../support/session-facts.ts';

/* One desk over a chain and a signer that do as they are told; what it writes down is real. */

const TREASURY = '0xTreasury';
const refundId = 're_a' as RefundId;
const context = { correlationId: 'test', actor: 'test' };
const draft: PayoutDraft = {
  ...{ kind: 'evm', chainId: '1', nonce: 0, tokenAddress: '0xToken', tokenUnits: '10000000', gasLimit: '90000' },
  ...{ maxFeePerGas: '100', maxPriorityFeePerGas: '1' },
};
const bumped: PayoutDraft = { ...draft, maxFeePerGas: '125' };
const landed = (txHash: string): PayoutFate => ({
  ...{ kind: 'landed', final: true },
  landed: { txHash, blockNumber: 9, blockHash: '0xb', blockTimeSec: CREATED_AT, networkFee: '0.001' },
});

class Stage {
  readonly sessions: SessionHandler;
  readonly treasuries: TreasuryHandler;
  readonly desk: TreasuryDesk;
  readonly broadcast: string[] = [];
  fate: PayoutFate | Error = { kind: 'absent' };
  legs: LegRef[] = [{ sessionId: SESSION_ID, refundId, legId: 're_a-1', mode: 'test', network: 'ethereum' }];
  sign: (request: PayoutRequest) => PayoutSignature = signed;
  bumpAfterMs = 0;
  clockOffMs = 0;

  constructor() {
    const store = new MemoryEventStore();
    const deps = { store, clock: systemClock, random: nodeRandom, notificationIds: new NotificationIds(systemClock, 1), soleWriter: true };
    this.sessions = createSessionHandler(deps);
    this.treasuries = createTreasuryHandler(deps);
    const chain = {
      ...{ network: 'ethereum', mode: 'test' },
      check: () => Promise.resolve({ kind: 'ready' }),
      sequence: () => Promise.resolve({ next: 0, final: 0 }),
      draft: (_order: unknown, _treasury: unknown, nonce: number) => Promise.resolve({ ...draft, nonce }),
      bump: () => Promise.resolve(bumped),
      broadcast: ({ txHash }: SentPayout) => Promise.resolve(void this.broadcast.push(txHash)),
      fate: () => (this.fate instanceof Error ? Promise.reject(this.fate) : Promise.resolve(this.fate)),
    } as unknown as PayoutChain;
    Object.defineProperty(chain, 'bumpAfterMs', { get: () => this.bumpAfterMs });
    const clock = { nowMs: () => Date.now() + this.clockOffMs };
    const silent = { info: () => undefined, warn: () => undefined, error: () => undefined } as never;
    this.desk = new TreasuryDesk({
      ...{ chain, treasury: TREASURY, sessions: this.sessions, treasuries: this.treasuries, clock, random: nodeRandom, log: silent },
      signer: {
        checkPayout: () => Promise.resolve({ ok: true }),
        signPayout: (request) => Promise.resolve(this.sign(request)),
        releasePayout: () => Promise.resolve({ ok: true }),
      },
      work: { open: () => this.legs, landed: () => [], done: () => undefined, isFinal: () => undefined } as unknown as PayoutWork,
      ...{ isOurs: () => false, valuation: () => null, pollMs: 0 },
    });
  }

  async tell(...commands: SessionCommand[]): Promise<void> {
    for (const command of commands) expect(await this.sessions.execute(sessionStream(SESSION_ID), command, context)).toMatchObject({ ok: true });
  }

  async leg() {
    return (await this.sessions.read(sessionStream(SESSION_ID)))!.context.refunds[refundId]!.legs['re_a-1']!;
  }

  async treasury() {
    return (await this.treasuries.read(treasuryStream('test', 'ethereum')))!.context;
  }
}

function signed({ attempt, order: { legId }, ledger }: PayoutRequest): PayoutSignature {
  const seq = (ledger?.seq ?? 0) + 1;
  const txHash = legId === 're_a-1' ? `0xt${attempt}` : `0x${legId}`;
  return { ok: true, txHash, signedBytes: `bytes ${txHash}`, journal: { seq, hash: `h${seq}` } };
}

const stopped: PayoutSignature = { ok: false, kind: 'stopped', code: 'journal_broken', message: 'another process wrote to the journal' };

let stage: Stage;
beforeEach(async () => {
  stage = new Stage();
  const facts: DepositFacts = depositFacts();
  const { depositKey, blockNumber, blockHash, blockTimeSec } = facts;
  const confirmed: Extract<SessionEvent, { type: 'DepositConfirmed' }>['data'] = {
    ...{ depositKey, rule: { kind: 'finalized' }, blockNumber, blockHash, blockTimeSec, headNumber: blockNumber + 20 },
  };
  await stage.tell(
    { type: 'CreateSession', data: createdFacts() },
    { type: 'RecordDeposit', facts },
    { type: 'ConfirmDeposit', data: confirmed, nowSec: CREATED_AT + 90, valuation: null },
    {
      ...{ type: 'RequestRefund', refundId, coin: 'USDT', units: 4n * 10n ** 18n, asked: null, reason: null, idempotencyStream: null },
      ...{ acknowledgedSender: true, senders: {}, nowSec: CREATED_AT + 100 },
    },
  );
  await stage.desk.round();
  expect(await stage.leg()).toMatchObject({ status: 'PROCESSING', txHashes: ['0xt1'] });
});

describe('a payout whose replacement is reserved and not signed', () => {
  const landing: SessionCommand = {
    type: 'RecordPayoutLanded',
    valuation: null,
    data: { refundId, legId: 're_a-1', txHash: '0xt1', blockNumber: 9, blockHash: '0xb', blockTimeSec: 9, networkFee: '0.001', landedAtSec: 10 },
  };

  beforeEach(async () => {
    stage.fate = { kind: 'pending', inBlock: false };
    stage.sign = () => stopped;
    await stage.desk.round();
    expect((await stage.treasury()).open).toMatchObject({ legId: 're_a-1', attempt: 2 });
  });

  it('is not called landed before the signer has answered, so that the reservation can be ended', async () => {
    stage.fate = landed('0xt1');
    await stage.desk.round();
    stage.sign = signed;
    await stage.desk.round();
    await stage.desk.round();
    expect(await stage.leg()).toMatchObject({ status: 'COMPLETED', landedTxHash: '0xt1' });
    expect(await stage.treasury()).toMatchObject({ open: null, journal: { seq: 2 } });
  });

  it('holds up nothing when another process saw its first transaction land', async () => {
    await stage.tell(landing);
    stage.sign = signed;
    stage.broadcast.length = 0;
    await stage.desk.round();
    expect(await stage.treasury()).toMatchObject({ open: null, journal: { seq: 2 } });
    expect(await stage.leg()).toMatchObject({ status: 'COMPLETED', txHashes: ['0xt1'] });
    expect(stage.broadcast).toEqual([]);
  });
});

describe('a payout that nobody shows any more', () => {
  it('goes out again in everything that was signed at its nonce, since the newest may cost more than there is', async () => {
    stage.fate = { kind: 'pending', inBlock: false };
    await stage.desk.round();
    expect(await stage.leg()).toMatchObject({ txHashes: ['0xt1', '0xt2'] });
    stage.fate = { kind: 'absent' };
    stage.broadcast.length = 0;
    await stage.desk.round();
    expect(stage.broadcast).toEqual(['0xt1', '0xt2']);
  });
});

describe('a payout that waits for a block', () => {
  it('gets its higher fee in time also when the clock was set back by a day since it was signed', async () => {
    stage.fate = { kind: 'pending', inBlock: false };
    stage.bumpAfterMs = 60_000;
    stage.clockOffMs = -86_400_000;
    await stage.desk.round();
    expect(await stage.leg()).toMatchObject({ txHashes: ['0xt1'] });
    const later = performance.now() + 60_001;
    const monotonic = vi.spyOn(performance, 'now').mockImplementation(() => later);
    await stage.desk.round().finally(() => monotonic.mockRestore());
    expect(await stage.leg()).toMatchObject({ txHashes: ['0xt1', '0xt2'] });
  });
});

describe('a payout that cannot go on', () => {
  it('holds up no other', async () => {
    await stage.tell({
      ...{ type: 'RequestRefund', refundId: 're_b' as RefundId, coin: 'USDT', units: 10n ** 18n, asked: null, reason: null, idempotencyStream: null },
      ...{ acknowledgedSender: true, senders: {}, nowSec: CREATED_AT + 100 },
    });
    stage.legs = [...stage.legs, { sessionId: SESSION_ID, refundId: 're_b', legId: 're_b-1', mode: 'test', network: 'ethereum' }];
    stage.fate = new Error('nobody foresaw this');
    await stage.desk.round();
    expect(stage.broadcast).toEqual(['0xt1', '0xre_b-1']);
    expect(stage.desk.waiting).toMatchObject([{ legId: 're_a-1', reason: 'chain_unavailable', detail: 'nobody foresaw this' }]);
  });
});
