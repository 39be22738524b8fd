import { beforeEach, describe, expect, it } from 'vitest';
import { nodeRandom } from '../../../../src/adapters/node/random.ts';
import type { TransactionDraft } from '../../../../src/domain/events/transaction-draft.ts';
import { systemClock } from '../../../../src/ports/clock.ts';
import { type Fate, type OutgoingTransaction, type PreCheck, type SentTransaction, TransferImpossible } from '../../../../src/ports/outgoing.ts';
import type { OutgoingChain } from '../../../../src/ports/outgoing-chain.ts';
import type { OutgoingSigner, Signature, SigningRequest } from '../../../../src/ports/outgoing-signer.ts';
import { MoveExecutor } from '../../../../src/features/payouts/moves/executor.ts';
import { NotificationIds } from '../../../../src/runtime/commands/notification-ids.ts';
import { createTreasuryHandler } from '../../../../src/features/shared/handlers/treasury-handler.ts';
import { MemoryEventStore } from '../../../support/memory-event-store.ts';

/* One executor over a chain and a signer that do as they are told; what it writes down is real. */

const TREASURY = '0xTreasury';
const draft: TransactionDraft = {
  ...{ kind: 'evm', chainId: '1', nonce: 0, tokenAddress: '0xToken', tokenUnits: '5000000', gasLimit: '90000' },
  ...{ maxFeePerGas: '100', maxPriorityFeePerGas: '1' },
};
const landed: Fate = {
  ...{ kind: 'landed', final: true },
  landed: { txHash: '0xs1', blockNumber: 9, blockHash: '0xb', blockTimeSec: 9, networkFee: '0.001' },
};
const signed = ({ attempt }: SigningRequest): Signature => ({
  ...{ ok: true, txHash: `0xs${attempt}`, signedBytes: `bytes ${attempt}`, journal: { seq: attempt, hash: `h${attempt}` } },
});
const stopped: Signature = { ok: false, kind: 'stopped', code: 'journal_broken', message: 'another process wrote to the journal' };

class Stage {
  readonly executor: MoveExecutor;
  readonly broadcast: string[] = [];
  fate: Fate = { kind: 'pending', inBlock: false };
  check: (order: OutgoingTransaction) => PreCheck = () => ({ kind: 'ready' });
  sign: (request: SigningRequest) => Signature = signed;

  constructor() {
    const store = new MemoryEventStore();
    const deps = { store, clock: systemClock, random: nodeRandom, notificationIds: new NotificationIds(systemClock, 1), soleWriter: true };
    const chain = {
      ...{ network: 'ethereum', mode: 'test', bumpAfterMs: 0 },
      check: async (order: OutgoingTransaction) => this.check(order),
      nextNonce: () => Promise.resolve(0),
      draft: () => Promise.resolve(draft),
      bump: () => Promise.resolve({ ...draft, maxFeePerGas: '125' }),
      broadcast: ({ txHash }: SentTransaction) => Promise.resolve(void this.broadcast.push(txHash)),
      fate: () => Promise.resolve(this.fate),
    } as unknown as OutgoingChain;
    const signer = {
      check: () => Promise.resolve({ ok: true }),
      sign: (request: SigningRequest) => Promise.resolve(this.sign(request)),
    } as unknown as OutgoingSigner;
    const log = { info: () => undefined, warn: () => undefined, error: () => undefined } as never;
    const owed = () => Promise.resolve({ coins: {}, payouts: 0 });
    this.executor = new MoveExecutor({
      ...{ chain, treasury: TREASURY, signer, treasuries: createTreasuryHandler(deps), owed, clock: systemClock, random: nodeRandom, log, pollMs: 0 },
    });
  }
}

const requested = (moveId: string, amount = '5.00') => ({
  ...({ type: 'RequestMove', kind: 'sweep' } as const),
  data: {
    ...({ moveId, mode: 'test', network: 'ethereum', coin: 'USDT', amount, fromAddress: `0xCollection of ${moveId}`, toAddress: TREASURY } as const),
    ...{ derivationIndex: 4, merchantId: null, forMoveId: null, requestedBy: 'ada', reason: null, requestedAtSec: 1 },
  },
});

let stage: Stage;
beforeEach(async () => {
  stage = new Stage();
  const refused = await stage.executor.tell(requested('swp'));
  expect(refused).toBeNull();
  await stage.executor.round();
  expect((await stage.executor.context()).moves['swp']!.signed.map(({ txHash }) => txHash)).toEqual(['0xs1']);
});

describe('a move whose replacement is reserved and not signed', () => {
  it('is not complete before the signer has answered, so that the reservation can be ended', async () => {
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

describe('a move that nobody shows any more', () => {
  it('goes out again in everything that was signed at its nonce, since the newest may cost more than the address holds', async () => {
    await stage.executor.round();
    stage.fate = { kind: 'absent' };
    stage.broadcast.length = 0;
    await stage.executor.round();
    expect(stage.broadcast).toEqual(['0xs1', '0xs2']);
  });
});

describe('moves that cannot go on', () => {
  const isStuck = ({ id }: OutgoingTransaction): boolean => id.startsWith('stuck');
  const signedOf = async (moveId: string): Promise<number> => (await stage.executor.context()).moves[moveId]!.signed.length;

  it('do not keep a healthy one from being signed, however many they are', async () => {
    stage.fate = { kind: 'pending', inBlock: true };
    stage.check = (order) => {
      if (isStuck(order)) throw new TypeError('nobody foresaw this');
      return { kind: 'ready' };
    };
    stage.sign = ({ order: { id }, ledger }) => {
      const seq = (ledger?.seq ?? 0) + 1;
      return { ok: true, txHash: `0x${id}`, signedBytes: id, journal: { seq, hash: `h${seq}` } };
    };
    for (let index = 0; index < 100; index += 1) await stage.executor.tell(requested(`stuck${index}`));
    for (let round = 0; round < 10; round += 1) await stage.executor.round();
    await stage.executor.tell(requested('healthy'));
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
    await stage.executor.tell(requested('stuck'));
    await stage.executor.round();
    expect((await stage.executor.context()).moves['stuck']).toBeUndefined();
    expect(stage.executor.waiting).toEqual([]);
  });
});
