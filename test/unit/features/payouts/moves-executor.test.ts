import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { nodeRandom } from '../../../../src/adapters/node/random.ts';
import type { TransactionDraft } from '../../../../src/domain/events/transaction-draft.ts';
import { systemClock } from '../../../../src/ports/clock.ts';
import {
  type Fate,
  type OutgoingTransaction,
  type PreCheck,
  type SentTransaction,
  TransferImpossible,
} from '../../../../src/ports/outgoing/transaction.ts';
import type { OutgoingChain } from '../../../../src/ports/outgoing/chain.ts';
import type {
  OutgoingSigner,
  Signature,
  SignedPayment,
  SignerVerdict,
  SigningRequest,
} from '../../../../src/ports/outgoing/signer.ts';
import { moveExecutor, type MoveExecutor } from '../../../../src/features/payouts/moves/records.ts';
import { createTreasuryHandler } from '../../../../src/features/shared/handlers/treasury-handler.ts';
import type { DepositState } from '../../../../state-machines/checkout-session/deposits.ts';
import type { TreasuryCommand } from '../../../../state-machines/treasury/treasury.decider.ts';
import { MemoryEventStore } from '../../../support/memory-event-store.ts';
import { handlerDeps } from '../../../support/handler-deps.ts';

/* One executor over a chain and a signer that do as they are told; what it writes down is real. */

const TREASURY = '0xTreasury';
const draft: TransactionDraft = {
  ...{ kind: 'evm', chainId: '1', nonce: 0, tokenAddress: '0xToken', tokenUnits: '5000000', gasLimit: '90000' },
  ...{ maxFeePerGas: '100', maxPriorityFeePerGas: '1' },
};
const landed: Extract<Fate, { kind: 'landed' }> = {
  ...{ kind: 'landed', final: true },
  landed: { txHash: '0xs1', blockNumber: 9, blockHash: '0xb', blockTimeSec: 9, networkFee: '0.001' },
};
const signed = ({ attempt }: SigningRequest): Signature => ({
  ok: true,
  txHash: `0xs${attempt}`,
  signedBytes: `bytes ${attempt}`,
  journal: { seq: attempt, hash: `h${attempt}` },
});
const stopped: Signature = {
  ok: false,
  kind: 'stopped',
  code: 'journal_broken',
  message: 'another process wrote to the journal',
};

class Stage {
  readonly executor: MoveExecutor;
  readonly broadcast: string[] = [];
  fate: Fate = { kind: 'pending', inBlock: false };
  isHeld = true;
  fateOf: (order: OutgoingTransaction) => Fate = () => this.fate;
  check: (order: OutgoingTransaction) => PreCheck = () => ({ kind: 'ready' });
  sign: (request: SigningRequest) => Signature = signed;
  verdict: SignerVerdict = { ok: true };
  journalFault: string | null = null;
  /** Of the transfer that a return pays back. */
  deposit: Pick<DepositState, 'status' | 'revertedAtSec'> = { status: 'final' };

  bumpAfterMs = 0;

  draft: TransactionDraft = draft;
  isAffordable: (order: OutgoingTransaction) => boolean = () => true;

  constructor() {
    const store = new MemoryEventStore();
    const deps = handlerDeps(store);
    const chain = {
      ...{ network: 'ethereum', mode: 'test' },
      check: async (order: OutgoingTransaction) => this.check(order),
      nextNonce: () => Promise.resolve(0),
      draft: () => Promise.resolve(this.draft),
      bump: (_: TransactionDraft, order: OutgoingTransaction) =>
        Promise.resolve(this.isAffordable(order) ? { ...draft, maxFeePerGas: '125' } : null),
      broadcast: ({ txHash }: SentTransaction) => Promise.resolve((this.broadcast.push(txHash), [])),
      fate: (order: OutgoingTransaction) => Promise.resolve(this.fateOf(order)),
      holds: () => Promise.resolve(this.isHeld),
      cancel: () =>
        Promise.resolve({
          kind: 'evm-cancel',
          chainId: '1',
          nonce: 0,
          gasLimit: '21000',
          maxFeePerGas: '125',
          maxPriorityFeePerGas: '2',
        }),
    } as unknown as OutgoingChain;
    Object.defineProperty(chain, 'bumpAfterMs', { get: () => this.bumpAfterMs });
    const signer = {
      check: () => Promise.resolve(this.verdict),
      sign: (request: SigningRequest) => Promise.resolve(this.sign(request)),
      release: () => Promise.resolve({ ok: true }),
      signedAfter: () => Promise.resolve({ payments: [] }),
    } as unknown as OutgoingSigner;
    const log = { info: () => undefined, warn: () => undefined, error: () => undefined } as never;
    const depositOf = () => Promise.resolve(this.deposit as DepositState);
    const owed = () => Promise.resolve({ coins: {}, payouts: 0 });
    this.executor = moveExecutor({
      chain,
      treasury: TREASURY,
      signer,
      journalCheck: { look: () => Promise.resolve(this.journalFault), isCompared: () => true },
      treasuries: createTreasuryHandler(deps),
      owed,
      clock: systemClock,
      random: nodeRandom,
      log,
      pollMs: 0,
      ...{ depositOf, depositGraceMs: 60_000 },
    });
  }

  request(command: TreasuryCommand): Promise<string | null> {
    return this.executor.tell(command, 'ada');
  }
}

const requested = (moveId: string, amount = '5.00') => ({
  ...({ type: 'RequestMove', kind: 'sweep' } as const),
  data: {
    ...({
      moveId,
      mode: 'test',
      network: 'ethereum',
      coin: 'USDT',
      amount,
      fromAddress: `0xCollection of ${moveId}`,
      toAddress: TREASURY,
    } as const),
    ...{ derivationIndex: 4, merchantId: null, forMoveId: null, requestedBy: 'ada', reason: null, requestedAtSec: 1 },
  },
});

let stage: Stage;
beforeEach(async () => {
  stage = new Stage();
  const refused = await stage.request(requested('swp'));
  expect(refused).toBeNull();
  await stage.executor.round();
  expect((await stage.executor.context()).moves['swp']!.signed.map(({ txHash }) => txHash)).toEqual(['0xs1']);
});

describe('a move whose replacement is reserved and not signed', () => {
  it('is not complete before the signer has replied, so that the reservation can be ended', async () => {
    stage.sign = () => stopped;
    await stage.executor.round();
    expect((await stage.executor.context()).open).toMatchObject({ moveId: 'swp', attempt: 2 });
    stage.fate = landed;
    await stage.executor.round();
    stage.sign = signed;
    await stage.executor.round();
    expect(await stage.executor.context()).toMatchObject({ open: null, moves: {}, journal: { seq: 2 } });
  });
});

describe('a sweep that landed before its gas is recorded', () => {
  const inBlock = { kind: 'pending', inBlock: true } as const;
  const open = async (): Promise<string[]> => Object.keys((await stage.executor.context()).moves);

  beforeEach(async () => {
    stage.fate = inBlock;
    const { data } = requested('gas', '0.002');
    const terms = {
      ...data,
      coin: 'ETH',
      fromAddress: TREASURY,
      toAddress: data.fromAddress,
      forMoveId: 'swp',
    } as const;
    await stage.request({ type: 'RequestMove', kind: 'gas_top_up', data: terms });
    stage.sign = () => ({ ok: true, txHash: '0xg1', signedBytes: 'gas', journal: { seq: 2, hash: 'h2' } });
    await stage.executor.round();
    expect((await stage.executor.context()).moves['gas']!.signed).toHaveLength(1);
  });

  it('ends after it, since what it burnt of it would be taken for coin from outside', async () => {
    stage.fateOf = ({ kind }) =>
      kind === 'sweep' ? landed : { ...landed, landed: { ...landed.landed, txHash: '0xg1' } };
    await stage.executor.round();
    expect(await open()).toEqual(['swp']);
    await stage.executor.round();
    expect(await open()).toEqual([]);
  });

  it.each([
    landed,
    { kind: 'ineffective', txHash: '0xs1', networkFee: '0.001', reason: 'execution_reverted' } as unknown as Fate,
  ])('ends alone once the gas had half an hour: $kind', async (fate) => {
    stage.fateOf = ({ kind }) => (kind === 'sweep' ? fate : inBlock);
    await stage.executor.round();
    expect(await open()).toEqual(['swp', 'gas']);
    const nowMs = performance.now();
    const later = vi.spyOn(performance, 'now').mockImplementation(() => nowMs + 1_800_001);
    await stage.executor.round();
    later.mockRestore();
    expect(await open()).toEqual(['gas']);
  });
});

describe('gas for an address that looks empty to the signer', () => {
  it('waits while a lagging provider does not show the money, and is sent once it does', async () => {
    const { data } = requested('gas', '0.002');
    const ends = { fromAddress: TREASURY, toAddress: data.fromAddress, forMoveId: 'swp' } as const;
    const gasSigned = async () => (await stage.executor.context()).moves['gas']?.signed.map(({ txHash }) => txHash);
    stage.fate = { kind: 'pending', inBlock: true };
    stage.verdict = { ok: false, kind: 'later', code: 'nothing_to_sweep', message: 'it holds nothing to sweep' };
    await stage.request({ type: 'RequestMove', kind: 'gas_top_up', data: { ...data, coin: 'ETH', ...ends } });
    await stage.executor.round();
    expect(await gasSigned()).toEqual([]);
    expect(stage.executor.waiting).toMatchObject([{ moveId: 'gas', reason: 'insufficient_funds' }]);
    stage.verdict = { ok: true };
    stage.sign = () => ({ ok: true, txHash: '0xg1', signedBytes: 'gas', journal: { seq: 2, hash: 'h2' } });
    await expect.poll(async () => (await stage.executor.round(), gasSigned())).toEqual(['0xg1']);
  });
});

describe('gas whose sweep has ended', () => {
  it('is not given: whatever kept it from being signed, it would wait for ever', async () => {
    const { data } = requested('gas', '0.002');
    const ends = { fromAddress: TREASURY, toAddress: data.fromAddress, forMoveId: 'swp' } as const;
    stage.fate = { kind: 'pending', inBlock: true };
    stage.check = () => ({ kind: 'wait', reason: 'network_fee_too_high', detail: 'dear' });
    await stage.request({ type: 'RequestMove', kind: 'gas_top_up', data: { ...data, coin: 'ETH', ...ends } });
    await stage.executor.round();
    expect(Object.keys((await stage.executor.context()).moves)).toEqual(['swp', 'gas']);
    stage.fate = landed;
    await stage.executor.round();
    await stage.executor.round();
    expect((await stage.executor.context()).moves).toEqual({});
  });
});

describe('a move beside a journal that disagrees', () => {
  it('waits as refunds do, with the reason', async () => {
    await stage.request(requested('swp_2'));
    stage.journalFault = 'the journal is ahead';
    await stage.executor.round();
    expect((await stage.executor.context()).moves['swp_2']!.signed).toEqual([]);
    expect(stage.executor.waiting).toMatchObject([{ moveId: 'swp_2', detail: 'the journal is ahead' }]);
  });
});

describe('a sweep whose address holds less than ordered', () => {
  const short: PreCheck = { kind: 'wait', reason: 'insufficient_funds', detail: 'it holds 0.00 USDT' };
  const isOpen = async (): Promise<boolean> => 'late' in (await stage.executor.context()).moves;
  let elapsedMs = 0;

  beforeEach(async () => {
    const nowMs = performance.now();
    elapsedMs = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => nowMs + elapsedMs);
    stage.check = () => short;
    await stage.request(requested('late'));
  });
  afterEach(() => vi.restoreAllMocks());
  const roundAfter = async (ms: number): Promise<void> => {
    elapsedMs += ms;
    await stage.executor.round();
  };

  it('ends once the money had time to come back, and delays no later sweep of the address', async () => {
    await roundAfter(0);
    await roundAfter(59_000);
    expect(await isOpen()).toBe(true);
    await roundAfter(2_000);
    expect(await isOpen()).toBe(false);
    expect(
      await stage.request({ ...requested('late'), data: { ...requested('late').data, moveId: 'next' } }),
    ).toBeNull();
  });

  it('gets the whole time again when the money came back meanwhile, and waits indefinitely for anything else', async () => {
    await roundAfter(0);
    stage.check = () => ({ kind: 'wait', reason: 'network_fee_too_high', detail: 'dear' });
    await roundAfter(59_000);
    await roundAfter(7_200_000);
    stage.check = () => short;
    await roundAfter(59_000);
    expect(await isOpen()).toBe(true);
  });
});

describe('a move that no provider shows any more', () => {
  it('goes out again in everything that was signed at its nonce, since the newest may cost more than the address holds', async () => {
    await stage.executor.round();
    stage.fate = { kind: 'absent' };
    stage.bumpAfterMs = Number.POSITIVE_INFINITY;
    stage.broadcast.length = 0;
    await stage.executor.round();
    expect(stage.broadcast).toEqual(['0xs1', '0xs2']);
  });

  it('offers no more than its address can pay, and waits', async () => {
    stage.isAffordable = ({ kind, fromAddress }) => !(kind === 'sweep' && fromAddress === '0xCollection of swp');
    stage.fate = { kind: 'absent' };
    stage.broadcast.length = 0;
    await stage.executor.round();
    expect(stage.broadcast).toEqual(['0xs1']);
    expect(stage.executor.waiting).toMatchObject([{ moveId: 'swp', reason: 'network_fee_too_high' }]);
  });
});

describe('a sweep whose gas was given at lower fees', () => {
  afterEach(() => vi.restoreAllMocks());

  it('waits an hour for them, and then gets what is missing, once', async () => {
    stage.isAffordable = ({ kind }) => kind !== 'sweep';
    stage.fateOf = ({ kind }) => ({ kind: 'pending', inBlock: kind !== 'sweep' });
    stage.check = ({ kind }) => (kind === 'sweep' ? { kind: 'needs_gas', amount: 7n * 10n ** 15n } : { kind: 'ready' });
    stage.sign = () => ({ ok: true, txHash: '0xg1', signedBytes: 'gas', journal: { seq: 2, hash: 'h2' } });
    const given = async () =>
      Object.values((await stage.executor.context()).moves).flatMap(({ kind, terms }) =>
        kind === 'gas_top_up' ? [[terms.amount, terms.toAddress, terms.forMoveId]] : [],
      );
    await stage.executor.round();
    expect(await given()).toEqual([]);
    const nowMs = performance.now();
    vi.spyOn(performance, 'now').mockImplementation(() => nowMs + 3_600_001);
    for (let round = 0; round < 3; round += 1) await stage.executor.round();
    expect(await given()).toEqual([['0.007', '0xCollection of swp', 'swp']]);
    stage.isAffordable = () => true;
    stage.sign = (request) => ({ ...signed(request), journal: { seq: 3, hash: 'h3' } }) as Signature;
    await stage.executor.round();
    expect((await stage.executor.context()).moves['swp']!.signed.map(({ txHash }) => txHash)).toEqual(['0xs1', '0xs2']);
  });
});

describe('a nonce account that is being created and not shown yet', () => {
  it('is not looked for at a higher fee, since nothing can take its place before it can never land', async () => {
    stage.fate = landed;
    await stage.executor.round();
    stage.sign = () => ({ ok: true, txHash: '0xn', signedBytes: 'bytes', journal: { seq: 2, hash: 'h2' } });
    stage.draft = { kind: 'solana-nonce-account', nonceIndex: 0, lamports: '1', blockhash: 'b' };
    stage.isAffordable = () => false;
    const { data } = requested('nac', '0.002');
    const made = { ...data, coin: 'SOL', fromAddress: TREASURY } as const;
    await stage.request({ type: 'RequestMove', kind: 'nonce_account', data: made });
    await stage.executor.round();
    stage.fate = { kind: 'absent' };
    await stage.executor.round();
    expect(stage.executor.waiting).toEqual([]);
  });
});

describe('a return whose deposit leaves the chain once it is signed', () => {
  const nowSec = (): number => Math.floor(systemClock.nowMs() / 1000);
  const signedOf = async () => (await stage.executor.context()).moves['ret']?.signed.map(({ txHash }) => txHash);
  const outcome = async () => (await stage.executor.context()).returns['ret'];

  beforeEach(async () => {
    stage.fate = landed;
    await stage.executor.round();
    const deposit = {
      depositKey: 'ethereum:0x1:0',
      txHash: '0x1',
      logIndex: 0,
      toAddress: '0xOurs',
      derivationIndex: 4,
    };
    const { data } = requested('ret');
    await stage.request({
      type: 'RequestMove',
      kind: 'return',
      data: { ...data, fromAddress: TREASURY, toAddress: '0xPayer', derivationIndex: null, deposit },
    });
    stage.sign = ({ attempt }) => ({
      ok: true,
      txHash: `0xr${attempt}`,
      signedBytes: `bytes ${attempt}`,
      journal: { seq: attempt + 1, hash: `h${attempt + 1}` },
    });
    await stage.executor.round();
    expect(stage.broadcast).toContain('0xr1');
    stage.fate = { kind: 'absent' };
    stage.bumpAfterMs = Number.POSITIVE_INFINITY;
    stage.broadcast.length = 0;
  });

  it('is not sent again, and stops what comes after it until the deposit is back', async () => {
    stage.deposit = { status: 'reverted', revertedAtSec: nowSec() };
    await stage.executor.round();
    expect(stage.broadcast).toEqual([]);
    expect(stage.executor.alarm).toMatch(
      /0xr1 of ret waits: the transfer ethereum:0x1:0, which it returns, is no longer final/,
    );
    stage.deposit = { status: 'detected', revertedAtSec: 0 };
    await stage.executor.round();
    expect([stage.broadcast, await signedOf()]).toEqual([[], ['0xr1']]);
    stage.deposit = { status: 'final', revertedAtSec: 0 };
    await stage.executor.round();
    expect([stage.broadcast, stage.executor.alarm]).toEqual([['0xr1'], null]);
  });

  it('is cancelled at its nonce once the deposit is permanently gone, and fails with that reason if nothing moved', async () => {
    stage.deposit = { status: 'reverted', revertedAtSec: nowSec() - 61 };
    await stage.executor.round();
    expect([stage.broadcast, await signedOf()]).toEqual([['0xr2'], ['0xr1', '0xr2']]);
    await stage.executor.round();
    expect(stage.broadcast).toEqual(['0xr2', '0xr2']);
    stage.fate = { kind: 'ineffective', txHash: '0xr2', networkFee: '0.001' };
    await stage.executor.round();
    expect([await outcome(), stage.executor.alarm]).toEqual([{ paid: false, reason: 'deposit_reverted' }, null]);
  });

  it('is complete when the payout landed before anybody could stop it', async () => {
    stage.deposit = { status: 'reverted', revertedAtSec: nowSec() - 61 };
    stage.fate = { ...landed, landed: { ...landed.landed, txHash: '0xr1' } };
    await stage.executor.round();
    expect(await outcome()).toEqual({ paid: true, txHash: '0xr1' });
  });

  it('ends where what was signed can never land', async () => {
    stage.deposit = { status: 'failed' };
    stage.fate = { kind: 'never' };
    await stage.executor.round();
    expect(await outcome()).toEqual({ paid: false, reason: 'deposit_reverted' });
  });

  it('is not sent where the deposit left while the signer was asked', async () => {
    stage.fate = { ...landed, landed: { ...landed.landed, txHash: '0xr1' } };
    await stage.executor.round();
    stage.fate = { kind: 'absent' };
    const { data } = requested('ret2');
    const deposit = {
      depositKey: 'ethereum:0x2:0',
      txHash: '0x2',
      logIndex: 0,
      toAddress: '0xOurs',
      derivationIndex: 4,
    };
    await stage.request({
      type: 'RequestMove',
      kind: 'return',
      data: { ...data, fromAddress: TREASURY, toAddress: '0xPayer', derivationIndex: null, deposit },
    });
    stage.sign = () => {
      stage.deposit = { status: 'reverted', revertedAtSec: nowSec() };
      return { ok: true, txHash: '0xlate', signedBytes: 'bytes', journal: { seq: 3, hash: 'h3' } };
    };
    stage.broadcast.length = 0;
    await stage.executor.round();
    expect(stage.broadcast).toEqual([]);
  });
});

describe('a return whose deposit left the chain before anything was signed', () => {
  const deposit = { depositKey: 'ethereum:0x1:0', txHash: '0x1', logIndex: 0, toAddress: '0xOurs', derivationIndex: 4 };
  const nowSec = (): number => Math.floor(systemClock.nowMs() / 1000);

  beforeEach(async () => {
    stage.fate = landed;
    await stage.executor.round();
    stage.broadcast.length = 0;
    const { data } = requested('ret');
    const ends = { fromAddress: TREASURY, toAddress: '0xPayer', derivationIndex: null };
    await stage.request({ type: 'RequestMove', kind: 'return', data: { ...data, ...ends, deposit } });
  });

  it('waits as long as the deposit may come back', async () => {
    stage.deposit = { status: 'reverted', revertedAtSec: nowSec() };
    await stage.executor.round();
    expect(stage.executor.waiting).toMatchObject([{ moveId: 'ret', reason: 'deposit_not_final' }]);
    expect(stage.broadcast).toEqual([]);
  });

  it('ends once the deposit is permanently gone', async () => {
    stage.deposit = { status: 'reverted', revertedAtSec: nowSec() - 61 };
    await stage.executor.round();
    expect((await stage.executor.context()).returns['ret']).toEqual({ paid: false, reason: 'deposit_reverted' });
    expect([stage.broadcast, stage.executor.waiting]).toEqual([[], []]);
  });
});

describe('moves that cannot continue', () => {
  const isStuck = ({ id }: OutgoingTransaction): boolean => id.startsWith('stuck');
  const signedOf = async (moveId: string): Promise<number> =>
    (await stage.executor.context()).moves[moveId]!.signed.length;

  it('do not keep a healthy one from being signed, however many they are', async () => {
    stage.fate = { kind: 'pending', inBlock: true };
    stage.check = (order) => {
      if (isStuck(order)) throw new TypeError('nobody foresaw this');
      return { kind: 'ready' };
    };
    stage.sign = ({ order: { id }, logPlace }) => {
      const seq = (logPlace?.seq ?? 0) + 1;
      return { ok: true, txHash: `0x${id}`, signedBytes: id, journal: { seq, hash: `h${seq}` } };
    };
    for (let index = 0; index < 100; index += 1) await stage.request(requested(`stuck${index}`));
    for (let round = 0; round < 10; round += 1) await stage.executor.round();
    await stage.request(requested('healthy'));
    await stage.executor.round();
    expect(await signedOf('healthy')).toBe(1);
    expect(stage.executor.waiting).toHaveLength(100);
    expect(new Set(stage.executor.waiting.map(({ reason }) => reason))).toEqual(new Set(['unexpected_error']));
  });

  it('end when they can never be drawn up', async () => {
    stage.check = (order) => {
      if (isStuck(order)) throw new TransferImpossible('amount_not_payable', 'too fine');
      return { kind: 'ready' };
    };
    await stage.request(requested('stuck'));
    await stage.executor.round();
    expect((await stage.executor.context()).moves['stuck']).toBeUndefined();
    expect(stage.executor.waiting).toEqual([]);
  });
});

describe('a payment lost by a restored event log', () => {
  const payment: SignedPayment = {
    kind: 'withdrawal',
    network: 'ethereum',
    id: 'wd',
    attempt: 1,
    coin: 'USDT',
    amount: '7.00',
    fromAddress: TREASURY,
    toAddress: '0xCold',
    draft,
    depositKeys: [],
    merchantId: null,
    txHash: '0xlost',
    signedBytes: 'lost bytes',
    journal: { seq: 9, hash: 'h9' },
    signedAtSec: 5,
  };
  const ref = { id: 'wd', names: { moveId: 'wd' }, logged: { move: 'wd' } };

  beforeEach(async () => {
    stage.fate = landed;
    await stage.executor.round();
    const { data } = requested('wd', '7.00');
    await stage.request({
      type: 'RequestMove',
      kind: 'withdrawal',
      data: { ...data, fromAddress: TREASURY, toAddress: '0xCold', derivationIndex: null },
    });
    for (const approver of ['bob', 'eve'])
      await stage.request({ type: 'ApproveMove', moveId: 'wd', approver, nowSec: 5 });
    stage.sign = () => {
      throw new Error('nothing is signed for what was signed');
    };
  });

  it('is recorded as in the journal, and complete once the chain shows it, with nothing signed again', async () => {
    await stage.executor.interventions.takeOver(ref, payment);
    expect((await stage.executor.context()).moves['wd']!.signed).toMatchObject([
      { txHash: '0xlost', signedBytes: 'lost bytes', signedAtSec: 5 },
    ]);
    expect(await stage.executor.context()).toMatchObject({ open: null, journal: { seq: 9, hash: 'h9' }, nextNonce: 1 });
    stage.fate = { ...landed, landed: { ...landed.landed, txHash: '0xlost' } };
    await stage.executor.round();
    expect((await stage.executor.context()).moves).toEqual({});
  });

  it('is recorded once, however often it is requested', async () => {
    await stage.executor.interventions.takeOver(ref, payment);
    await stage.executor.interventions.takeOver(ref, payment);
    expect((await stage.executor.context()).moves['wd']!.signed).toHaveLength(1);
  });

  it('replaces what was reserved beside it, which the signer refused', async () => {
    stage.sign = () => stopped;
    await stage.executor.round();
    expect((await stage.executor.context()).open).toMatchObject({ moveId: 'wd', attempt: 1 });
    await stage.executor.interventions.takeOver(ref, { ...payment, draft: { ...draft, maxFeePerGas: '77' } });
    expect((await stage.executor.context()).moves['wd']!.signed[0]!.draft).toMatchObject({ maxFeePerGas: '77' });
  });

  it.each([
    ['another amount', { amount: '7.01' }, /other terms/],
    ['another receiver', { toAddress: '0xThief' }, /other terms/],
    ['another coin', { coin: 'USDC' }, /other terms/],
    ['a replacement of nothing', { attempt: 2 }, /does not follow/],
  ] as const)('is refused with %s', async (_, change, words) => {
    await expect(stage.executor.interventions.takeOver(ref, { ...payment, ...change })).rejects.toThrow(words);
    expect((await stage.executor.context()).moves['wd']!.signed).toEqual([]);
  });
});
