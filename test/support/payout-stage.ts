import { expect } from 'vitest';
import { nodeRandom } from '../../src/adapters/node/random.ts';
import type { DepositFacts } from '../../src/domain/events/session-events.ts';
import type { TransactionDraft } from '../../src/domain/events/transaction-draft.ts';
import type { MerchantId, RefundId, SessionId } from '../../src/domain/values/ids.ts';
import type { Network } from '../../src/domain/networks/networks.ts';
import { sessionStream, treasuryStream } from '../../src/domain/values/streams.ts';
import type {
  Fate,
  Funding,
  OutgoingTransaction,
  PreCheck,
  SentTransaction,
} from '../../src/ports/outgoing/transaction.ts';
import { silentLog } from '../../src/ports/log.ts';
import type { BroadcastAnswer, OutgoingChain } from '../../src/ports/outgoing/chain.ts';
import type {
  Signature,
  SignedPayment,
  SignerRefusal,
  SignerVerdict,
  SigningRequest,
} from '../../src/ports/outgoing/signer.ts';
import { TreasuryAccount } from '../../src/features/payouts/account.ts';
import { OutgoingExecutor } from '../../src/features/payouts/executor.ts';
import { RefundRecords, type Leg } from '../../src/features/payouts/refunds/records.ts';
import type { LegRef, PayoutWork } from '../../src/features/payouts/refunds/work.ts';
import { createTreasuryHandler, type TreasuryHandler } from '../../src/features/shared/handlers/treasury-handler.ts';
import { createSessionHandler, type SessionHandler } from '../../src/features/shared/handlers/session-handler.ts';
import type { SessionCommand } from '../../state-machines/checkout-session/session.decider.ts';
import type { LegState, SessionContext } from '../../state-machines/checkout-session/session.state.ts';
import type { TreasuryContext } from '../../state-machines/treasury/treasury.state.ts';
import { MemoryEventStore } from './memory-event-store.ts';
import {
  addressOfSession,
  createdFacts,
  CREATED_AT,
  depositConfirmed,
  depositFacts,
  MERCHANT_ID,
  refundCommand,
  SESSION_ID,
} from './session-facts.ts';
import { handlerDeps } from './handler-deps.ts';

const TREASURY = '0xTreasury';
const CONTEXT = { correlationId: 'test', actor: 'test' };

export const EVM_DRAFT: Extract<TransactionDraft, { kind: 'evm' }> = {
  ...{ kind: 'evm', chainId: '1', nonce: 0, tokenAddress: '0xToken', tokenUnits: '10000000', gasLimit: '90000' },
  ...{ maxFeePerGas: '100', maxPriorityFeePerGas: '1' },
};
export const TRON_DRAFT: TransactionDraft = {
  ...{ kind: 'tron', tokenAddress: 'TToken', tokenUnits: '10000000', refBlockBytes: '00', refBlockHash: '00' },
  ...{ timestampMs: 0, expirationMs: 1, feeLimit: 1 },
};

export const landedAs = (txHash: string): Fate => ({
  ...{ kind: 'landed', final: true },
  landed: { txHash, blockNumber: 9, blockHash: '0xb', blockTimeSec: CREATED_AT, networkFee: '0.001' },
});

export interface StageOptions {
  readonly network?: Network;
  readonly pollMs?: number;
  readonly depositGraceMs?: number;
}

/** One executor over a chain and a signer that do as they are told; what it writes down is real. */
export class PayoutStage {
  readonly network: Network;
  readonly store = new MemoryEventStore();
  readonly sessions: SessionHandler;
  readonly treasuries: TreasuryHandler;
  executor: OutgoingExecutor<Leg>;
  /** Another process of the same service: what the one before remembered is lost. */
  readonly restart: () => void;
  /** Transactions, in the order in which they went out. */
  readonly broadcast: string[] = [];
  broadcastAnswers: readonly BroadcastAnswer[] = [];
  /** How often a leg was checked on chain. */
  readonly checks = new Map<string, number>();
  legs: LegRef[] = [];
  landed: LegRef[] = [];
  check: (order: OutgoingTransaction) => PreCheck | Error = () => ({ kind: 'ready' });
  checkBySigner: (order: OutgoingTransaction) => SignerVerdict | Error = () => ({ ok: true });
  drawUp: (order: OutgoingTransaction, nonce: number | null) => TransactionDraft | Error = (_order, nonce) => ({
    ...EVM_DRAFT,
    nonce: nonce ?? 0,
  });
  fateOf: (order: OutgoingTransaction, sent: readonly SentTransaction[]) => Fate | Error = () => ({ kind: 'absent' });
  bumped: (draft: TransactionDraft) => TransactionDraft | null = (draft) =>
    'maxFeePerGas' in draft ? { ...draft, maxFeePerGas: `${BigInt(draft.maxFeePerGas) * 2n}` } : null;
  cancelled: (draft: TransactionDraft) => TransactionDraft | null = (draft) => cancellationOf(draft);
  vanished: (txHash: string) => boolean = () => false;
  /** Whether the chain shows the transactions that brought the money. */
  holds: (txHashes: readonly string[]) => boolean = () => true;
  sign: (request: SigningRequest) => Signature | Error = signedAs(
    (request) => `0x${request.order.id}-${request.attempt}`,
  );
  onBroadcast: (sent: SentTransaction) => void | Promise<void> = () => undefined;
  journalFault: string | null = null;
  isCompared = true;
  lost: readonly SignedPayment[] | SignerRefusal = [];
  /** What the account has sent. */
  nonce = 0;
  bumpAfterMs = 0;
  clockOffMs = 0;

  constructor({ network = 'ethereum', pollMs = 0, depositGraceMs = 60_000 }: StageOptions = {}) {
    this.network = network;
    const deps = handlerDeps(this.store);
    this.sessions = createSessionHandler(deps);
    this.treasuries = createTreasuryHandler(deps);
    const clock = { nowMs: () => this.#nowMs() };
    const work = {
      open: () => this.legs,
      landed: () => this.landed,
      done: ({ legId }: LegRef) => void (this.legs = this.legs.filter((leg) => leg.legId !== legId)),
      markFinal: ({ legId }: LegRef) => void (this.landed = this.landed.filter((leg) => leg.legId !== legId)),
    } as unknown as PayoutWork;
    const executor = () => {
      const account = new TreasuryAccount({
        chain: this.#chain(),
        treasury: TREASURY,
        treasuries: this.treasuries,
        random: nodeRandom,
      });
      const parts = {
        sessions: this.sessions,
        work,
        clock,
        random: nodeRandom,
        log: silentLog,
        isOurs: () => false,
        valuation: () => null,
      };
      const signer: ConstructorParameters<typeof OutgoingExecutor>[2]['signer'] = {
        check: async (order) => orThrow(this.checkBySigner(order)),
        sign: async (request) => orThrow(this.sign(request)),
        release: () => Promise.resolve({ ok: true }),
        signedAfter: () => Promise.resolve('ok' in this.lost ? this.lost : { payments: this.lost }),
      };
      return new OutgoingExecutor(account, new RefundRecords(account, parts), {
        signer,
        journalCheck: { look: () => Promise.resolve(this.journalFault), isCompared: () => this.isCompared },
        clock,
        log: silentLog,
        pollMs,
        depositGraceMs,
      });
    };
    this.executor = executor();
    this.restart = () => (this.executor = executor());
  }

  /** A session that was paid 10 USDT by one final deposit, unless told otherwise. */
  async paidSession(
    sessionId: SessionId = SESSION_ID,
    change: { readonly merchantId?: MerchantId; readonly deposit?: Partial<DepositFacts> } = {},
  ) {
    const created = createdFacts({
      sessionId,
      orderId: sessionId,
      ...(change.merchantId && { merchantId: change.merchantId }),
    });
    await this.tell(sessionId, { type: 'CreateSession', data: created });
    return this.deposit(sessionId, { network: this.network, txHash: `0x${sessionId}`, ...change.deposit });
  }

  /** The transfer is seen and final; the same one may come again after it was reverted. */
  async deposit(sessionId: SessionId, change: Partial<DepositFacts>): Promise<string> {
    const facts = depositFacts({ toAddress: addressOfSession(sessionId), ...change });
    const { data } = depositConfirmed(facts);
    await this.tell(
      sessionId,
      { type: 'RecordDeposit', facts },
      { type: 'ConfirmDeposit', data, nowSec: CREATED_AT + 90, valuation: null },
    );
    return facts.depositKey;
  }

  #nowMs(): number {
    return (CREATED_AT + 90) * 1000 + performance.now() + this.clockOffMs;
  }

  async revert(sessionId: SessionId, depositKey: string): Promise<void> {
    await this.tell(sessionId, {
      type: 'RevertDeposit',
      depositKey,
      reason: 'reorg',
      headNumber: 300,
      revertedAtSec: Math.floor(this.#nowMs() / 1000),
    });
  }

  /** In whole coins; null: all that is left. False when the session refuses. */
  async requestRefund(id: string, coins: number | null, sessionId: SessionId = SESSION_ID): Promise<boolean> {
    const refundId = id as RefundId;
    const answer = await this.sessions.execute(
      sessionStream(sessionId),
      refundCommand({
        refundId,
        units: coins === null ? null : BigInt(coins) * 10n ** 18n,
        nowSec: CREATED_AT + 100,
      }),
      CONTEXT,
    );
    const context = await this.context(sessionId);
    for (const legId of Object.keys(answer.ok ? (context.refunds[refundId]?.legs ?? {}) : {}))
      this.legs.push({
        sessionId,
        merchantId: context.created!.merchantId ?? MERCHANT_ID,
        refundId,
        legId,
        mode: 'test',
        network: this.network,
      });
    return answer.ok;
  }

  async tell(sessionId: SessionId, ...commands: SessionCommand[]): Promise<void> {
    for (const command of commands)
      expect(await this.sessions.execute(sessionStream(sessionId), command, CONTEXT)).toMatchObject({ ok: true });
  }

  async context(sessionId: SessionId = SESSION_ID): Promise<SessionContext> {
    return (await this.sessions.read(sessionStream(sessionId)))!.context;
  }

  async leg(legId: string, sessionId: SessionId = SESSION_ID): Promise<LegState> {
    const refunds = Object.values((await this.context(sessionId)).refunds);
    return refunds.map(({ legs }) => legs[legId]).find((leg) => leg !== undefined)!;
  }

  async treasury(): Promise<TreasuryContext> {
    return (await this.treasuries.read(treasuryStream('test', this.network)))!.context;
  }

  #chain(): OutgoingChain {
    const chain = {
      ...{ network: this.network, mode: 'test' },
      check: async (order: OutgoingTransaction) => {
        this.checks.set(order.id, (this.checks.get(order.id) ?? 0) + 1);
        return orThrow(this.check(order));
      },
      nextNonce: async () => (this.network === 'ethereum' ? this.nonce : null),
      draft: async (order: OutgoingTransaction, nonce: number | null) => orThrow(this.drawUp(order, nonce)),
      bump: async (draft: TransactionDraft) => this.bumped(draft),
      ...(this.network === 'ethereum' && { cancel: async (draft: TransactionDraft) => this.cancelled(draft) }),
      broadcast: async (sent: SentTransaction) => {
        this.broadcast.push(sent.txHash);
        await this.onBroadcast(sent);
        return this.broadcastAnswers;
      },
      fate: async (order: OutgoingTransaction, sent: readonly SentTransaction[]) => orThrow(this.fateOf(order, sent)),
      holds: async (funding: readonly Funding[]) => this.holds(funding.map(({ txHash }) => txHash)),
      hasVanished: async ({ txHash }: { txHash: string }) => ({
        vanished: this.vanished(txHash),
        withheld: false,
        final: false,
        headNumber: 400,
      }),
    } as unknown as OutgoingChain;
    Object.defineProperty(chain, 'bumpAfterMs', { get: () => this.bumpAfterMs });
    return chain;
  }
}

/** The same nonce at a higher fee, and nothing moved. */
function cancellationOf(draft: TransactionDraft): TransactionDraft {
  if (draft.kind !== 'evm' && draft.kind !== 'evm-cancel') throw new Error('not a draft with a nonce');
  const { chainId, nonce, maxFeePerGas } = draft;
  return {
    kind: 'evm-cancel',
    chainId,
    nonce,
    gasLimit: '21000',
    maxFeePerGas: `${BigInt(maxFeePerGas) * 2n}`,
    maxPriorityFeePerGas: '2',
  };
}

/** A signer that signs everything, under the names given. */
export const signedAs =
  (nameOf: (request: SigningRequest) => string) =>
  (request: SigningRequest): Signature => {
    const seq = (request.logPlace?.seq ?? 0) + 1;
    const txHash = nameOf(request);
    return { ok: true, txHash, signedBytes: `bytes ${txHash}`, journal: { seq, hash: `h${seq}` } };
  };

function orThrow<Value>(answer: Value | Error): Value {
  if (answer instanceof Error) throw answer;
  return answer;
}
