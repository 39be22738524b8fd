import type { RefundId, SessionId } from '../../../../src/domain/values/ids.ts';
import { describe, expect, it } from 'vitest';
import type { TreasuryEvent } from '../../../../src/domain/events/treasury-events.ts';
import { evmDraft as draft } from '../../../support/random-inbox.ts';
import type { MoveKind, MoveRequested } from '../../../../src/domain/events/treasury-move-events.ts';
import { treasuryTable } from '../../../../src/features/shared/handlers/treasury-handler.ts';
import { IllegalHistory } from '../../../../src/runtime/commands/machine-table.ts';
import { decideTreasury, type TreasuryCommand } from '../../../../state-machines/treasury/treasury.decider.ts';
import { decidedBy } from '../../../support/decided.ts';

const TREASURY = '0xTreasury';
const terms = (moveId: string, change: Partial<MoveRequested> = {}): MoveRequested => ({
  moveId,
  mode: 'test',
  network: 'ethereum',
  coin: 'USDT',
  amount: '5.00',
  fromAddress: TREASURY,
  toAddress: '0xCold',
  ...{ derivationIndex: null, merchantId: null, forMoveId: null, requestedBy: 'ada', reason: null, requestedAtSec: 1 },
  ...change,
});
const sweep = (moveId: string, from = '0xCollection'): TreasuryCommand =>
  request('sweep', terms(moveId, { fromAddress: from, toAddress: TREASURY, derivationIndex: 4 }));
const request = (kind: MoveKind, data: MoveRequested): TreasuryCommand => ({ type: 'RequestMove', kind, data });
const reserve = (
  moveId: string,
  nonce: number,
  from = TREASURY,
  change: { attempt?: number; replaces?: string } = {},
): TreasuryCommand => ({
  type: 'ReserveMove',
  data: {
    ...{ moveId, attempt: change.attempt ?? 1, fromAddress: from, draft: draft(nonce), reservedAtSec: 2 },
    replaces: change.replaces === undefined ? null : { txHash: change.replaces, why: 'fee_bump' },
  },
});
const sign = (moveId: string, seq: number, attempt = 1): TreasuryCommand => ({
  type: 'RecordMoveSigned',
  data: {
    moveId,
    attempt,
    txHash: `0x${moveId}${attempt}`,
    signedBytes: '0x',
    journal: { seq, hash: `h${seq}` },
    signedAtSec: 3,
    validity: { kind: 'evm-nonce', nonce: 0, maxFeePerGas: '1' },
  },
});
const complete = (moveId: string, txHash: string): TreasuryCommand => ({
  type: 'CompleteMove',
  moveId,
  landed: {
    txHash,
    blockNumber: 9,
    blockHash: '0xb',
    blockTimeSec: 9,
    networkFee: '0.01',
    feeAddress: TREASURY,
    completedAtSec: 10,
  },
});
const reject = (moveId: string): TreasuryCommand => ({
  type: 'FailMove',
  moveId,
  reason: 'rejected_by_operator',
  txHash: null,
  networkFee: null,
  feeAddress: TREASURY,
  nowSec: 4,
});

const after = decidedBy(decideTreasury, treasuryTable);
const types = (decided: ReturnType<typeof after>): string[] =>
  decided.last.ok ? decided.last.events.map(({ type }) => type) : ['refused'];

describe('a sweep', () => {
  it('is requested, reserved, signed and completed, and then forgotten', () => {
    const done = after(sweep('swp'), reserve('swp', 0, '0xCollection'), sign('swp', 1), complete('swp', '0xswp1'));
    expect(done.history.map(({ type }) => type)).toEqual([
      'SweepRequested',
      'MoveSequenceReserved',
      'SweepSigned',
      'SweepCompleted',
    ]);
    expect(done.state.context).toMatchObject({ moves: {}, open: null, nextNonce: null, journal: { seq: 1 } });
    expect(done.history.at(-1)).toMatchObject({
      data: { coin: 'USDT', amount: '5.00', networkFee: '0.01', feeCoin: 'ETH', derivationIndex: 4 },
    });
  });

  it('is one at a time for an address, and repeating the request adds nothing', () => {
    expect(types(after(sweep('swp'), sweep('swp')))).toEqual([]);
    expect(types(after(sweep('swp'), sweep('other')))).toEqual(['refused']);
    expect(types(after(sweep('swp'), sweep('other', '0xElsewhere')))).toEqual(['SweepRequested']);
  });

  it("does not use the treasury's own sequence", () => {
    const between = after(sweep('swp'), reserve('swp', 7, '0xCollection'), sign('swp', 1));
    expect(between.state.context.nextNonce).toBeNull();
  });

  it('is never completed by a transaction that was not signed for it', () => {
    expect(
      types(after(sweep('swp'), reserve('swp', 0, '0xCollection'), sign('swp', 1), complete('swp', '0xother'))),
    ).toEqual(['refused']);
  });

  it('is not completed while a replacement is being signed, which could not be recorded afterwards', () => {
    const signing = [
      sweep('swp'),
      reserve('swp', 0, '0xCollection'),
      sign('swp', 1),
      reserve('swp', 0, '0xCollection', { attempt: 2, replaces: '0xswp1' }),
    ];
    expect(types(after(...signing, complete('swp', '0xswp1')))).toEqual(['refused']);
    expect(types(after(...signing, sign('swp', 2, 2), complete('swp', '0xswp1')))).toEqual(['SweepCompleted']);
  });

  it('cannot be given up once it was signed or while it is', () => {
    expect(types(after(sweep('swp'), reject('swp')))).toEqual(['SweepFailed']);
    expect(types(after(sweep('swp'), reserve('swp', 0, '0xCollection'), reject('swp')))).toEqual(['refused']);
    expect(types(after(sweep('swp'), reserve('swp', 0, '0xCollection'), sign('swp', 1), reject('swp')))).toEqual([
      'refused',
    ]);
  });
});

describe('a check of the native coin at collection addresses', () => {
  const facts = {
    mode: 'test',
    network: 'ethereum',
    coin: 'ETH',
    amount: '0.01',
    sessionId: 'cs_a' as SessionId,
    blockNumber: 7,
    foundAtSec: 1,
  } as const;
  const look = (finds: number, ...addresses: string[]): TreasuryCommand => ({
    ...{ type: 'RecordCollectionLook', finds, found: addresses.map((address) => ({ ...facts, address })), missing: [] },
  });
  const outflow = {
    mode: 'test',
    network: 'ethereum',
    outflowKey: '0xA:ETH:7',
    address: '0xA',
    coin: 'ETH',
    amount: '0.01',
  } as const;
  const lost: TreasuryCommand = {
    ...{ type: 'RecordCollectionLook', finds: 0, found: [] },
    missing: [{ ...outflow, toAddress: null, txHash: null, blockNumber: 7, foundAtSec: 1 }],
  };

  it('records what was found, and missing coin stops payouts', () => {
    expect(types(after(look(0, '0xA', '0xB')))).toEqual(['NativeCoinFound', 'NativeCoinFound']);
    const missing = after(lost);
    expect(types(missing)).toEqual(['UnknownOutflowFound']);
    expect(Object.keys(missing.state.context.unknownOutflows)).toEqual(['0xA:ETH:7']);
    expect(types(after(lost, lost))).toEqual([]);
  });

  it('is refused if another check was recorded since it read the books: both found the same', () => {
    expect(types(after(look(0, '0xA'), look(0, '0xA')))).toEqual(['refused']);
    expect(types(after(look(0, '0xA'), look(1, '0xA')))).toEqual(['NativeCoinFound']);
  });

  it('is refused for an address whose gas is just moving, and for nothing', () => {
    expect(types(after(sweep('swp'), look(0, '0xCollection')))).toEqual(['refused']);
    const topUp = request(
      'gas_top_up',
      terms('top', { coin: 'ETH', toAddress: '0xCollection', forMoveId: 'swp', derivationIndex: 4 }),
    );
    expect(types(after(topUp, look(0, '0xCollection')))).toEqual(['refused']);
    expect(types(after(sweep('swp'), look(0, '0xElsewhere')))).toEqual(['NativeCoinFound']);
    const nothing: TreasuryCommand = {
      ...{ type: 'RecordCollectionLook', finds: 0, missing: [] },
      found: [{ ...facts, address: '0xA', amount: '0.00' }],
    };
    expect(types(after(nothing))).toEqual(['refused']);
  });
});

describe('a return of native coin', () => {
  const transfer = { txHash: '0xcame', toAddress: '0xCollection', derivationIndex: 4 };
  const propose = (moveId: string, change: Partial<MoveRequested> = {}): TreasuryCommand =>
    request(
      'native_return',
      terms(moveId, { coin: 'ETH', amount: '0.009', toAddress: '0xStranger', transfer, ...change }),
    );
  const approve = (moveId: string, approver: string): TreasuryCommand => ({
    type: 'ApproveMove',
    moveId,
    approver,
    nowSec: 2,
  });
  const agreed = [propose('nrt'), approve('nrt', 'ben'), approve('nrt', 'cleo')];

  it('is sent once two others agreed, and says in the end what it paid back', () => {
    expect(types(after(propose('nrt'), approve('nrt', 'ada')))).toEqual(['refused']);
    expect(types(after(propose('nrt'), approve('nrt', 'ben'), reserve('nrt', 0)))).toEqual(['refused']);
    const done = after(...agreed, reserve('nrt', 0), sign('nrt', 1), complete('nrt', '0xnrt1'));
    expect(done.history.map(({ type }) => type)).toEqual([
      ...[
        'NativeReturnRequested',
        'NativeReturnApproved',
        'NativeReturnApproved',
        'MoveSequenceReserved',
        'NativeReturnSigned',
        'NativeReturnCompleted',
      ],
    ]);
    expect(done.history.at(-1)).toMatchObject({ data: { coin: 'ETH', amount: '0.009', transfer } });
    expect(done.state.context).toMatchObject({ moves: {}, nextNonce: 1 });
  });

  it('pays a transfer back once, and again only after a failure', () => {
    expect(types(after(propose('nrt'), propose('nrt')))).toEqual([]);
    expect(types(after(propose('nrt'), propose('again')))).toEqual(['refused']);
    expect(types(after(propose('nrt'), propose('other', { transfer: { ...transfer, txHash: '0xother' } })))).toEqual([
      'NativeReturnRequested',
    ]);
    const paid = after(...agreed, reserve('nrt', 0), sign('nrt', 1), complete('nrt', '0xnrt1'), propose('again'));
    expect(paid.last).toMatchObject({ ok: false, refusal: { message: 'the transfer is returned by nrt' } });
    expect(types(after(propose('nrt'), reject('nrt'), propose('again')))).toEqual(['NativeReturnRequested']);
  });

  it('names the transfer that it pays back', () => {
    expect(types(after(request('native_return', terms('nrt', { coin: 'ETH' }))))).toEqual(['refused']);
  });
});

describe('a withdrawal', () => {
  const propose = request('withdrawal', terms('wdr'));
  const approve = (approver: string): TreasuryCommand => ({ type: 'ApproveMove', moveId: 'wdr', approver, nowSec: 2 });

  it('takes no sequence before two approvers agreed', () => {
    expect(types(after(propose, approve('ben'), reserve('wdr', 0)))).toEqual(['refused']);
    expect(types(after(propose, approve('ben'), approve('cleo'), reserve('wdr', 0)))).toEqual(['MoveSequenceReserved']);
  });

  it('cannot be approved by who proposed it, and one approver counts once', () => {
    expect(types(after(propose, approve('ada')))).toEqual(['refused']);
    expect(types(after(propose, approve('ben'), approve('ben')))).toEqual([]);
    const alike = request('withdrawal', terms('wdr', { requestedBy: 'c1eo' }));
    expect(types(after(alike, approve('cleo')))).toEqual(['refused']);
    expect(types(after(propose, approve('cleo'), approve('CIeo')))).toEqual([]);
    const proposed = after(propose).history;
    const forged: TreasuryEvent = {
      type: 'WithdrawalApproved',
      data: { moveId: 'wdr', approver: 'ada', approvedAtSec: 2 },
    };
    expect(() => treasuryTable.replay([...proposed, forged])).toThrow(IllegalHistory);
  });

  it("takes the treasury's next nonce, and keeps it for a replacement", () => {
    const signed = [propose, approve('ben'), approve('cleo'), reserve('wdr', 5), sign('wdr', 1)];
    expect(after(...signed).state.context.nextNonce).toBe(6);
    expect(types(after(...signed, reserve('wdr', 5, TREASURY, { attempt: 2, replaces: '0xwdr1' })))).toEqual([
      'MoveSequenceReserved',
    ]);
    expect(types(after(...signed, reserve('wdr', 6, TREASURY, { attempt: 2, replaces: '0xwdr1' })))).toEqual([
      'refused',
    ]);
    const other = request('withdrawal', terms('next', { requestedBy: 'ben' }));
    const agreed = ['ada', 'cleo'].map((approver): TreasuryCommand => ({
      type: 'ApproveMove',
      moveId: 'next',
      approver,
      nowSec: 2,
    }));
    expect(types(after(...signed, other, ...agreed, reserve('next', 5)))).toEqual(['refused']);
    expect(types(after(...signed, other, ...agreed, reserve('next', 6)))).toEqual(['MoveSequenceReserved']);
  });

  it('waits while a refund is being signed', () => {
    const refund: TreasuryEvent = {
      type: 'PayoutSequenceReserved',
      data: {
        mode: 'test',
        network: 'ethereum',
        sessionId: 'cs_a' as SessionId,
        refundId: 're_a' as RefundId,
        legId: 'leg',
        attempt: 1,
        ...{ fromAddress: TREASURY, draft: draft(0), replaces: null, reservedAtSec: 1 },
      },
    };
    const history = [...after(propose, approve('ben')).history, refund];
    expect(decideTreasury(reserve('wdr', 0), treasuryTable.replay(history))).toMatchObject({ ok: false });
  });
});

describe('a cancelled return', () => {
  const proof = { depositKey: 'ethereum:0x1:0', txHash: '0x1', logIndex: 0, toAddress: '0xOurs', derivationIndex: 4 };
  const data = terms('rtn', { toAddress: '0xPayer', deposit: proof });
  const giveUp: TreasuryCommand = { type: 'GiveUpReturn', data, nowSec: 4 };

  it('is requested and failed in one append if nobody had requested it, and never begins afterwards', () => {
    expect(types(after(giveUp))).toEqual(['ReturnRequested', 'ReturnFailed']);
    const { history, state } = after(giveUp, giveUp, request('return', data));
    expect(history).toHaveLength(2);
    expect([state.context.moves, state.context.returns]).toEqual([
      {},
      { rtn: { paid: false, reason: 'rejected_by_operator' } },
    ]);
  });

  it('fails when it waits, and continues when it is reserved or signed', () => {
    const asked = request('return', data);
    expect(types(after(asked, giveUp))).toEqual(['ReturnFailed']);
    expect(types(after(asked, reserve('rtn', 0), giveUp))).toEqual(['refused']);
    expect(types(after(asked, reserve('rtn', 0), sign('rtn', 1), giveUp))).toEqual(['refused']);
    expect(types(after(asked, reserve('rtn', 0), sign('rtn', 1), complete('rtn', '0xrtn1'), giveUp))).toEqual([]);
  });
});

describe('an unknown outflow', () => {
  const outflow = {
    ...({
      mode: 'test',
      network: 'ethereum',
      outflowKey: '0xt:1',
      address: TREASURY,
      coin: 'USDT',
      amount: '9.00',
      toAddress: '0xThief',
    } as const),
    ...{ txHash: '0xt', blockNumber: 5, foundAtSec: 6 },
  };
  const found = (settled = 0): TreasuryCommand => ({
    ...{ type: 'RecordReconciliation', settled, fundings: [], outflows: [outflow] },
    result: { mode: 'test', network: 'ethereum', throughBlock: 6, accounts: [], reconciledAtSec: 6 },
  });
  const acknowledge: TreasuryCommand = {
    type: 'AcknowledgeOutflow',
    outflowKey: '0xt:1',
    actor: 'ada',
    reason: 'known',
    nowSec: 7,
  };

  it('stays reported until an operator explains it, and is not reported twice', () => {
    expect(types(after(found()))).toEqual(['UnknownOutflowFound', 'TreasuryReconciled']);
    expect(Object.keys(after(found()).state.context.unknownOutflows)).toEqual(['0xt:1']);
    expect(types(after(found(), found(1)))).toEqual(['TreasuryReconciled']);
    const explained = after(found(), acknowledge);
    expect(types(explained)).toEqual(['UnknownOutflowAcknowledged']);
    expect(explained.state.context.unknownOutflows).toEqual({});
    expect(types(after(found(), acknowledge, acknowledge, found(2)))).toEqual(['TreasuryReconciled']);
  });

  it('that was explained during a comparison invalidates that comparison, which still counted it as missing', () => {
    expect(types(after(found(), acknowledge, found(1)))).toEqual(['refused']);
  });
});

describe('funding of the treasury', () => {
  const facts = {
    mode: 'test',
    network: 'ethereum',
    coin: 'ETH',
    amount: '1.00',
    address: TREASURY,
    logIndex: null,
    recordedAtSec: 6,
  } as const;
  type Fundings = Extract<TreasuryCommand, { type: 'RecordReconciliation' }>['fundings'];
  const lookedAfter = (settled: number, throughBlock: number, ...fundings: Fundings[number][]): TreasuryCommand => {
    const result = { mode: 'test', network: 'ethereum', throughBlock, accounts: [], reconciledAtSec: 6 } as const;
    return { type: 'RecordReconciliation', settled, fundings, outflows: [], result };
  };
  const looked = (throughBlock: number, ...fundings: Fundings[number][]): TreasuryCommand =>
    lookedAfter(0, throughBlock, ...fundings);
  const brought = (txHash: string, blockNumber: number) => ({ ...facts, fromAddress: '0xBank', txHash, blockNumber });
  const unknown = { ...facts, fromAddress: null, txHash: null, blockNumber: 6, window: { fromBlock: 1, toBlock: 9 } };

  it('is booked once if two comparisons saw it: the later one is refused, also for the same block or a later one', () => {
    for (const throughBlock of [6, 7]) {
      const both = after(looked(6, brought('0xa', 5)), looked(throughBlock, brought('0xa', 5)));
      expect([types(both), both.history.filter(({ type }) => type === 'TreasuryFunded').length]).toEqual([
        ['refused'],
        1,
      ]);
    }
    expect(types(after(looked(6, brought('0xa', 5)), lookedAfter(1, 6)))).toEqual(['TreasuryReconciled']);
    expect(types(after(looked(6), lookedAfter(1, 5)))).toEqual(['refused']);
  });

  it('by a transfer of a block that is not final is remembered until that block is, since it is read again', () => {
    const known = (...commands: TreasuryCommand[]) => after(...commands).state.context.bookedInflows;
    expect(known(looked(6, brought('0xa', 5), brought('0xb', 7), brought('0xc', 8)))).toEqual({
      '0xb:ETH': 7,
      '0xc:ETH': 8,
    });
    expect(known(looked(6, brought('0xb', 7), brought('0xc', 8)), lookedAfter(1, 7))).toEqual({ '0xc:ETH': 8 });
    expect(known(looked(6, brought('0xc', 8)), lookedAfter(1, 8))).toEqual({});
  });

  it('without a known transfer closes its blocks: nothing in them explains anything later', () => {
    const through = (...commands: TreasuryCommand[]) => after(...commands).state.context.unknownInflowsThrough;
    expect(through(looked(6, brought('0xa', 5)))).toBe(0);
    expect(through(looked(6, unknown))).toBe(9);
    expect(through(looked(6, unknown), lookedAfter(1, 12, { ...unknown, window: { fromBlock: 7, toBlock: 8 } }))).toBe(
      9,
    );
  });
});
