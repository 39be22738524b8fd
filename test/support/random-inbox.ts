import fc from 'fast-check';
import type { TransactionDraft } from '../../src/domain/events/transaction-draft.ts';
import type { DepositFacts } from '../../src/domain/events/session-events.ts';
import type { UnmatchedTransfer } from '../../src/domain/events/transfer-events.ts';
import type { Mode, RefundId, SessionId } from '../../src/domain/values/ids.ts';
import type { Network } from '../../src/domain/networks/networks.ts';
import { sessionStream, transferStream, treasuryStream } from '../../src/domain/values/streams.ts';
import type { ReturnRequest, Returns, ReturnStatus } from '../../src/ports/outgoing/returns.ts';
import { NotificationIds } from '../../src/runtime/commands/notification-ids.ts';
import { InboxList } from '../../src/features/unmatched/list.ts';
import { InboxSettlement } from '../../src/features/unmatched/settlement.ts';
import { Inbox, type FoundTransfer } from '../../src/features/unmatched/unmatched.ts';
import { createTreasuryHandler, type TreasuryHandler } from '../../src/features/shared/handlers/treasury-handler.ts';
import { createSessionHandler } from '../../src/features/shared/handlers/session-handler.ts';
import { createTransferHandler } from '../../src/features/shared/handlers/transfer-handler.ts';
import type { SessionCommand } from '../../state-machines/checkout-session/session.decider.ts';
import type { TreasuryCommand } from '../../state-machines/treasury/treasury.decider.ts';
import { FailingStore } from './failing-store.ts';
import type { MemoryReadModel } from './memory-read-model.ts';
import { createdFacts, depositFacts, EXPIRES_AT, refundCommand } from './session-facts.ts';

/*
 * Histories of unmatched transfers as chains, payers and operators make them, through the real use cases: every step is
 * a process of its own, some are killed at one of their appends.
 */

export const SESSIONS = ['a', 'b', 'c'].map((letter) => `cs_${letter.repeat(32)}` as SessionId);
const TREASURY = '0xTreasury';
const OWN_ADDRESS = 0;
/** The places of the transfers: several at each session, one at an address of nobody, one at the treasury. */
const SPARE = 6;
export const TRANSFERS = 8;
const MODE: Mode = 'test';
const NETWORK: Network = 'ethereum';

const WEIGHTS = {
  ...{ pay: 10, confirm: 10, revert: 3, cancel: 3, expire: 3, refund: 3, 'fail-refund': 3 },
  ...{ record: 4, attach: 8, return: 6, undo: 6, settle: 3, sign: 4, land: 4, fail: 2 },
} as const;
type Kind = keyof typeof WEIGHTS;

interface Step {
  readonly kind: Kind;
  readonly session: number;
  readonly transfer: number;
  readonly late: boolean;
  readonly cents: number;
  readonly coin: 'USDT' | 'USDC';
  readonly kill: { readonly append: number; readonly durable: boolean } | null;
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.oneof(
    ...(Object.entries(WEIGHTS) as [Kind, number][]).map(([kind, weight]) => ({
      arbitrary: fc.constant(kind),
      weight,
    })),
  ),
  session: fc.nat({ max: SESSIONS.length - 1 }),
  transfer: fc.nat({ max: TRANSFERS - 1 }),
  late: fc.boolean(),
  cents: fc.constantFrom(1, 400, 600, 1000, 1200),
  coin: fc.constantFrom('USDT', 'USDT', 'USDT', 'USDC'),
  kill: fc.option(fc.record({ append: fc.integer({ min: 1, max: 4 }), durable: fc.boolean() }), { freq: 4 }),
});

export const inboxSteps = fc.array(step, { minLength: 20, maxLength: 120, size: 'max' });

export const keyOf = (transfer: number): string => factsOf(transfer, false).depositKey;

/** The same chain facts whoever asks; a transfer belongs to one address for ever. */
function factsOf(transfer: number, late: boolean, coin: 'USDT' | 'USDC' = 'USDT', cents = 1000): DepositFacts {
  const amount = `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`;
  const toAddress =
    transfer === SPARE + 1 ? TREASURY : transfer === SPARE ? '0xSpare' : addressOf(transfer % SESSIONS.length);
  const blockTimeSec = EXPIRES_AT + (late ? 60 : -60);
  return depositFacts({ txHash: `0x${transfer}`, toAddress, coin, amount, blockTimeSec, blockNumber: 100 + transfer });
}

const addressOf = (session: number): string => `0xSession${session + OWN_ADDRESS}`;

/** Returns that the treasury's own stream decides about, paid when a test says so. */
class TreasuryReturns implements Returns {
  readonly #treasury: TreasuryHandler;

  constructor(treasury: TreasuryHandler) {
    this.#treasury = treasury;
  }

  treasuryOf = (): string => TREASURY;
  forecast = async (): Promise<string> => 'ready to be paid';
  request = (data: ReturnRequest): Promise<string | null> => this.tell({ type: 'RequestMove', kind: 'return', data });
  cancel = (data: ReturnRequest): Promise<string | null> =>
    this.tell({ type: 'GiveUpReturn', data, nowSec: EXPIRES_AT });

  async status(_mode: Mode, _network: Network, moveId: string): Promise<ReturnStatus> {
    const { returns = {} } = (await this.context()) ?? {};
    if (!Object.hasOwn(returns, moveId)) return { kind: 'unknown' };
    const outcome = returns[moveId];
    if (!outcome) return { kind: 'under_way' };
    return outcome.paid ? { kind: 'paid', txHash: outcome.txHash } : { kind: 'failed', reason: outcome.reason };
  }

  async context() {
    return (await this.#treasury.read(treasuryStream(MODE, NETWORK)))?.context;
  }

  async tell(command: TreasuryCommand): Promise<string | null> {
    const result = await this.#treasury.execute(treasuryStream(MODE, NETWORK), command, {
      correlationId: 'test',
      actor: 'test',
    });
    return result.ok ? null : result.refusal.message;
  }

  fail(moveId: string): Promise<string | null> {
    return this.tell({
      type: 'FailMove',
      moveId,
      reason: 'recipient_frozen',
      txHash: null,
      networkFee: null,
      feeAddress: TREASURY,
      nowSec: EXPIRES_AT,
    });
  }

  /** Signs what waits; refused when it is signed. */
  async sign(moveId: string): Promise<void> {
    const nonce = (await this.context())?.nextNonce ?? 0;
    const draft = evmDraft(nonce);
    await this.tell({
      type: 'ReserveMove',
      data: { moveId, attempt: 1, fromAddress: TREASURY, draft, replaces: null, reservedAtSec: EXPIRES_AT },
    });
    const validity = { kind: 'evm-nonce', nonce, maxFeePerGas: '1' } as const;
    const journal = { seq: nonce + 1, hash: `h${nonce}` };
    const txHash = `0xout${moveId}`;
    await this.tell({
      type: 'RecordMoveSigned',
      data: { moveId, attempt: 1, txHash, signedBytes: '0x', validity, journal, signedAtSec: EXPIRES_AT },
    });
  }

  async land(moveId: string): Promise<void> {
    const block = { blockNumber: 900, blockHash: '0xb', blockTimeSec: EXPIRES_AT + 900 };
    const landed = {
      txHash: `0xout${moveId}`,
      ...block,
      networkFee: '0.001',
      feeAddress: TREASURY,
      completedAtSec: EXPIRES_AT + 900,
    };
    await this.tell({ type: 'CompleteMove', moveId, landed });
  }
}

/** What is stored, and processes that come and go. */
export class RandomInbox {
  readonly store = new FailingStore();
  readonly #list: InboxList;
  readonly #caughtUp: () => Promise<unknown>;
  #nowSec = EXPIRES_AT + 100;

  /** `connect` makes the look-ups that operators find transfers in. */
  constructor(connect: (store: FailingStore) => { readonly readModel: MemoryReadModel; caughtUp(): Promise<unknown> }) {
    const { readModel, caughtUp } = connect(this.store);
    this.#list = new InboxList(readModel);
    this.#caughtUp = caughtUp;
  }

  async create(): Promise<void> {
    const { send } = this.process();
    for (const [index, sessionId] of SESSIONS.entries()) {
      const option = createdFacts().paymentOptions[0]!;
      const paymentOptions = [{ ...option, address: addressOf(index), derivationIndex: index }];
      const terms = {
        sessionId,
        orderId: `order-${index}`,
        paymentOptions,
        policy: { tolerance: '0', dustLimit: '0.02' },
      };
      await send(sessionId, { type: 'CreateSession', data: createdFacts(terms) });
    }
  }

  /** A process with nothing in memory. */
  process() {
    const { store } = this;
    let uuid = 0;
    const clock = { nowMs: () => (this.#nowSec += 1) * 1000 };
    const random = {
      uuid: () => `id-${store.events.length}-${(uuid += 1)}`,
      bytes: (count: number) =>
        Uint8Array.from({ length: count }, (_, index) => store.events.length >> (8 * (index % 2))),
    };
    const deps = { store, clock, random, notificationIds: new NotificationIds(clock), soleWriter: false };
    const [sessions, transfers] = [createSessionHandler(deps), createTransferHandler(deps)];
    const treasury = new TreasuryReturns(createTreasuryHandler(deps));
    const returns = () => treasury;
    const settlement = new InboxSettlement({
      transfers,
      sessions,
      rates: { valuation: () => null },
      returns,
      clock,
      random,
    });
    const senders = { of: async () => ({ kind: 'wallet', name: null }) as const };
    const inbox = new Inbox({ transfers, sessions, senders, settlement, returns, clock, random });
    const send = (id: SessionId, command: SessionCommand) =>
      sessions.execute(sessionStream(id), command, { correlationId: 'test', actor: 'test' });
    const sessionOf = async (id: SessionId) => (await sessions.read(sessionStream(id)))!;
    const transferOf = async (transfer: number) =>
      (await transfers.read(transferStream(MODE, keyOf(transfer))))?.value ?? 'absent';
    return { inbox, settlement, treasury, send, sessionOf, transferOf };
  }

  /** What cannot be done at the moment is refused and left out, as operators and chains have it. */
  async take(drawn: Step): Promise<void> {
    this.store.arm(drawn.kill);
    await this.#do(drawn, this.process()).catch((error: Error) => {
      if (error.message !== 'killed') throw error;
    });
    this.store.arm(null);
  }

  /** Every decision is carried out and every return paid. */
  async settleAll(): Promise<void> {
    const { treasury, settlement } = this.process();
    for (let round = 0; round < 2; round += 1) {
      for (let transfer = 0; transfer < TRANSFERS; transfer += 1) await settlement.settle(MODE, keyOf(transfer));
      for (const moveId of Object.keys((await treasury.context())?.moves ?? {})) {
        await treasury.sign(moveId);
        await treasury.land(moveId);
      }
    }
  }

  async #do(drawn: Step, process: ReturnType<RandomInbox['process']>): Promise<void> {
    const { kind, session, transfer } = drawn;
    const { inbox, settlement, treasury } = process;
    const order = { by: { actor: 'ada', reason: 'a test' }, dryRun: false };
    const found = ['attach', 'return', 'undo'].includes(kind) ? await this.#found(process, transfer) : null;
    const moves = Object.keys((await treasury.context())?.moves ?? {});
    const moveId = moves[transfer % Math.max(1, moves.length)];
    switch (kind) {
      case 'record':
        return void (transfer >= SPARE && (await inbox.record(strayOf(transfer), order)));
      case 'attach':
        return void (found && (await inbox.attach(found, SESSIONS[session]!, order)));
      case 'return':
        return void (found && (await inbox.giveBack(found, { ...order, acknowledgedSender: true })));
      case 'undo':
        return void (found && (await inbox.undo(found, order)));
      case 'settle':
        return void (await settlement.settle(MODE, keyOf(transfer)));
      case 'sign':
        return moveId === undefined ? undefined : treasury.sign(moveId);
      case 'land':
        return moveId === undefined ? undefined : treasury.land(moveId);
      case 'fail':
        return void (moveId !== undefined && (await treasury.fail(moveId)));
      default:
        return this.#change(drawn, process);
    }
  }

  /** As commands find it: in the list, or in its own stream. */
  async #found({ inbox }: ReturnType<RandomInbox['process']>, transfer: number): Promise<FoundTransfer | null> {
    await this.#caughtUp();
    const listed = await this.#list.find(keyOf(transfer));
    return inbox.find(MODE, keyOf(transfer), listed?.sessionId ?? null);
  }

  /** What chains, payers and merchants do to a session. */
  async #change(drawn: Step, { send, sessionOf }: ReturnType<RandomInbox['process']>): Promise<void> {
    const { kind, transfer, late, cents, coin } = drawn;
    const own = SESSIONS[transfer % SESSIONS.length]!;
    const id = SESSIONS[drawn.session]!;
    const nowSec = (this.#nowSec += 1);
    if (['pay', 'confirm', 'revert'].includes(kind) && transfer >= SPARE) return;
    const refund = Object.values((await sessionOf(id)).context.refunds).at(-1);
    const commands: Partial<Record<Kind, () => [SessionId, SessionCommand]>> = {
      pay: () => [own, { type: 'RecordDeposit', facts: factsOf(transfer, late, coin, cents) }],
      confirm: () => [
        own,
        { type: 'ConfirmDeposit', data: { ...final, depositKey: keyOf(transfer) }, nowSec, valuation: null },
      ],
      revert: () => [
        own,
        {
          type: 'RevertDeposit',
          depositKey: keyOf(transfer),
          reason: 'reorg',
          headNumber: 300,
          revertedAtSec: 1_800_000_500,
        },
      ],
      cancel: () => [id, { type: 'CancelSession', nowSec: EXPIRES_AT - 10 }],
      expire: () => [id, { type: 'ExpireSession', nowSec: EXPIRES_AT + 1, scannedToSec: {} }],
      refund: () => [id, refundCommand({ refundId: `re_${this.store.events.length}` as RefundId, coin, nowSec })],
      ...(refund && {
        'fail-refund': () => {
          const { legId } = Object.values(refund.legs)[0]!.leg;
          const { refundId } = refund.requested;
          return [
            id,
            {
              type: 'FailPayout',
              refundId,
              legId,
              reason: 'recipient_frozen',
              networkFee: null,
              nowSec,
              valuation: null,
            },
          ];
        },
      }),
    };
    const told = commands[kind]?.();
    if (told) await send(...told);
  }
}

const final = {
  rule: { kind: 'finalized' },
  blockNumber: 200,
  blockHash: '0xfinal',
  blockTimeSec: EXPIRES_AT + 60,
  headNumber: 300,
} as const;

/** What no session recorded, as the chain has it. */
function strayOf(transfer: number): UnmatchedTransfer {
  const isTreasury = transfer > SPARE;
  return {
    ...{ ...factsOf(transfer, true), mode: MODE, sender: null },
    ...{ origin: { kind: isTreasury ? 'treasury' : 'address' }, derivationIndex: isTreasury ? null : 70 },
  };
}

export const evmDraft = (nonce: number): TransactionDraft => ({
  kind: 'evm',
  chainId: '1',
  nonce,
  tokenAddress: '0xToken',
  tokenUnits: '5',
  ...{ gasLimit: '1', maxFeePerGas: '1', maxPriorityFeePerGas: '1' },
});
