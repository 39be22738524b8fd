import type { ReplacementReason, TransactionDraft } from '../../domain/events/transaction-draft.ts';
import { toSec, type Clock } from '../../ports/clock.ts';
import { StoreUnavailable } from '../../ports/event-log/event-store.ts';
import type { Log } from '../../ports/log.ts';
import type { LandedTransaction } from '../../ports/outgoing/transaction.ts';
import { TransferImpossible, treasuryOf, validityOf } from '../../ports/outgoing/transaction.ts';
import type { OutgoingChain } from '../../ports/outgoing/chain.ts';
import type { OutgoingSigner, SignerRefusal } from '../../ports/outgoing/signer.ts';
import { withLogContext } from '../../runtime/util/log-context.ts';
import { InTurn } from '../../runtime/util/in-turn.ts';
import type { TreasuryCommand } from '../../../state-machines/treasury/treasury.decider.ts';
import type { TreasuryContext } from '../../../state-machines/treasury/treasury.state.ts';
import type { TreasuryAccount } from './account.ts';
import type { JournalCheck } from './journal-check.ts';
import { helperGone, isTransient, OUTAGE_REASON, RoundFaults, textOf } from './faults.ts';
import { type Failure, failure } from './failure.ts';
import { isSigned, type Missing, type Outgoing, type OutgoingRecords, type Sequence } from './records.ts';
import { Interventions } from './interventions.ts';
import { RetryState, SEQUENCE_BUSY, WAIT_REASONS, type WaitFacts } from './retry-state.ts';
import { SentTransactions } from './sent.ts';
import { sequenceAgrees } from './sequence-check.ts';
import { WAIT_LOOKS } from './turns.ts';
import { must } from '../../domain/values/must.ts';

/** Orders started per round. */
const ROUND = 20;

export interface ExecutorDeps {
  readonly signer: Pick<OutgoingSigner, 'check' | 'sign' | 'release' | 'signedAfter'>;
  readonly journalCheck: Pick<JournalCheck, 'look' | 'isCompared'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Interval between two checks of the same transaction. */
  readonly pollMs: number;
  /** How long a deposit that left the chain may take to come back before payments for it are given up. */
  readonly depositGraceMs: number;
}

/** What is known when an order is begun. */
interface Start<Item> {
  readonly inFlight: readonly Item[];
  /** As the order before left it. */
  readonly context: TreasuryContext;
  readonly faults: RoundFaults;
}

/**
 * Takes the orders of one treasury through the protocol of all outgoing money: reserve, sign, record, send, watch,
 * replace or give up. At any time at most one place of the account's sequence is between reservation and signature.
 */
export class OutgoingExecutor<Item extends Outgoing> {
  readonly #account: TreasuryAccount;
  readonly #records: OutgoingRecords<Item>;
  readonly #deps: ExecutorDeps;
  readonly #retries: RetryState<Item['ref']>;
  readonly #sent: SentTransactions<Item>;
  readonly #turns = new InTurn();
  readonly interventions: Interventions<Item>;
  /** Orders that were not done in the last round. */
  #open: readonly Item['ref'][] = [];
  /** In the last round, an order of this executor was between reservation and signature. */
  #isReserved = false;

  constructor(account: TreasuryAccount, records: OutgoingRecords<Item>, deps: ExecutorDeps) {
    this.#account = account;
    this.#records = records;
    this.#deps = deps;
    const nowMs = (): number => deps.clock.nowMs();
    this.#retries = new RetryState({
      ...deps,
      ...{ treasury: account.stream, words: records.words, graceAfterStart: records.graceAfterStart, nowMs },
    });
    this.interventions = new Interventions<Item>({
      ...{ account, records, signer: deps.signer, turns: this.#turns, nowSec: () => this.#nowSec() },
      forget: (ref) => this.#retries.forget(ref),
      giveUp: (item) => this.#fail(item, failure('rejected_by_operator')),
    });
    this.#sent = new SentTransactions<Item>({
      ...{ chain: account.chain, signer: deps.signer, records, retries: this.#retries, nowMs },
      replace: (item, draft, why) => this.#replace(item, draft, why),
      complete: (item, landed) => this.#complete(item, landed),
      fail: (item, failure) => this.#end(item, failure),
      blame: (ref, error) => this.#blame(ref, error),
    });
  }

  get chain(): OutgoingChain {
    return this.#account.chain;
  }

  get treasury(): string {
    return this.#account.address;
  }

  /** Why the whole treasury cannot pay; null if it can. */
  get alarm(): string | null {
    return this.#retries.alarm;
  }

  /** Why nothing is paid at present: the chain or the signer is unavailable. */
  get outage(): WaitFacts | null {
    return this.#retries.outage;
  }

  get waiting(): readonly (Item['ref']['names'] & WaitFacts)[] {
    const { outage, waiting } = this.#retries;
    return outage === null ? waiting : this.#open.map(({ names }) => ({ ...names, ...outage }));
  }

  context(): Promise<TreasuryContext> {
    return this.#account.context();
  }

  /** Null if the command was recorded; otherwise the treasury's refusal. */
  tell(command: TreasuryCommand, actor: string): Promise<string | null> {
    return this.#account.tell(command, actor);
  }

  /**
   * Processes everything once. Throws when the store, the chain or the signer is unavailable; the next round continues.
   */
  round(): Promise<void> {
    return this.#turns.run(async () => {
      const faults = new RoundFaults();
      try {
        await this.#round(faults);
        faults.settle();
        this.#retries.setOutage(null);
      } catch (error) {
        const helper = helperGone(error);
        if (helper) this.#retries.setOutage(OUTAGE_REASON[helper], textOf(error));
        throw error;
      }
    });
  }

  async #round(faults: RoundFaults): Promise<void> {
    let items = await this.#read();
    // The reserved order comes first, because it holds the account's sequence.
    if (await this.#finishReserved()) items = await this.#read();
    const context = await this.context();
    const unknown = Object.values(context.unknownOutflows)[0];
    const { mode, network } = this.chain;
    this.#retries.setAlarm('journal', await this.#deps.journalCheck.look(mode, network, () => this.context()));
    this.#retries.setAlarm(
      'outflow',
      unknown ? `${unknown.txHash ?? unknown.outflowKey} moved our money and is not in the event log` : null,
    );
    // An ended order cannot accept the replacement reserved for it, and its reservation would block everything.
    const beingSigned = this.#records.reservation(context)?.ref.id;
    const sent = items.filter((item) => isSigned(item) && item.ref.id !== beingSigned);
    await this.#sent.follow(sent, faults);
    await this.#sent.watchLanded(faults);
    if (this.#retries.isHalted()) this.#hold(items.filter((item) => !isSigned(item) && item.ref.id !== beingSigned));
    else if (context.open === null) await this.#startDue(items, faults);
  }

  /** Records why each order is not paid, even if nothing was tried for it. */
  #hold(items: readonly Item[]): void {
    for (const { ref } of items) this.#retries.wait(ref, 'payouts_stopped', must(this.#retries.alarm));
  }

  async #read(): Promise<readonly Item[]> {
    const items = await this.#records.open({
      ended: (ref) => this.#retries.forget(ref),
      unreadable: (ref, error) => {
        if (this.#retries.turns.isDue(ref.id)) this.#blame(ref, error);
      },
    });
    this.#open = items.map(({ ref }) => ref);
    return items;
  }

  /** True if there was a reservation to finish. */
  async #finishReserved(): Promise<boolean> {
    const reserved = this.#records.reservation(await this.context());
    // An order taken over from the journal has ended the reservation, and with it the alarms of the signer.
    if (reserved === null && this.#isReserved)
      for (const source of ['reservation', 'signer'] as const) this.#retries.setAlarm(source, null);
    this.#isReserved = reserved !== null;
    if (reserved === null || !this.#retries.turns.isDue(reserved.ref.id)) return false;
    try {
      await withLogContext(reserved.ref.logged, () => this.#finish(reserved.ref, reserved.sequence));
      this.#retries.setAlarm('reservation', null);
    } catch (error) {
      if (isTransient(error) || error instanceof StoreUnavailable) throw error;
      this.#retries.turns.backOff(reserved.ref.id);
      this.#retries.setAlarm('reservation', `${reserved.ref.id} is reserved and cannot be finished: ${textOf(error)}`);
    }
    return true;
  }

  /* What is owed */

  async #startDue(known: readonly Item[], faults: RoundFaults): Promise<void> {
    const { turns } = this.#retries;
    if (!known.some((item) => !isSigned(item) && turns.isDue(item.ref.id))) return;
    const parts = { account: this.#account, records: this.#records, retries: this.#retries };
    if (!(await sequenceAgrees(parts, faults))) return;
    const items = await this.#read();
    let context = await this.context();
    const inFlight = items.filter(isSigned);
    const fresh = items.filter((item) => !isSigned(item) && this.#records.mayStart(item, inFlight, context));
    for (const item of turns.take(fresh, ROUND, {
      id: ({ ref }) => ref.id,
      owner: (one) => this.#records.ownerOf(one),
    })) {
      try {
        const start = { inFlight, context, faults };
        await withLogContext(item.ref.logged, () =>
          this.#start(item, start).catch((error: unknown) => this.#endIfImpossible(item, error)),
        );
      } catch (error) {
        faults.judge(error, () => this.#blame(item.ref, error));
      }
      // Its current state counts: signed bytes reserve money, and a reservation is finished before anything else.
      const now = await this.#records.find(item.ref);
      if (now && isSigned(now)) inFlight.push(now);
      context = await this.context();
      if (context.open !== null || this.alarm !== null || !this.#records.mayStart(item, inFlight, context)) return;
    }
  }

  async #start(item: Item, { inFlight, context, faults }: Start<Item>): Promise<void> {
    const { ref, order } = item;
    const able = this.#records.precondition(item, context);
    if (able.kind === 'fail') return this.#end(item, failure(able.reason));
    if (able.kind === 'wait') return this.#retries.holdUp(ref, able.reason, able.detail);
    const missing = await this.#records.missing(item);
    if (missing) return this.#awaitDeposit(item, missing);
    this.#retries.found(ref);
    const check = await this.chain.check(order, await this.#records.reserved(item, inFlight, context));
    faults.answered('chain');
    if (check.kind === 'fail') return this.#end(item, failure(check.reason));
    if (this.#records.isEmptied?.(item, check)) return this.#end(item, failure('deposit_reverted'));
    if (check.kind === 'wait') return this.#retries.holdUp(ref, check.reason, check.detail);
    if (check.kind === 'needs_gas') {
      this.#retries.wait(ref, 'insufficient_gas', `${order.fromAddress} receives gas for the transfer`);
      return this.#records.topUp?.(item, check.amount);
    }
    const verdict = await this.#deps.signer.check(order);
    faults.answered('signer');
    if (!verdict.ok) return this.#refused(item, verdict);
    // Read again, because another transaction may have taken a place in the meantime.
    const { nextNonce, usedNonces } = await this.context();
    const known = order.fromAddress === treasuryOf(order) ? nextNonce : null;
    const nonce = known ?? (await this.chain.nextNonce(order.fromAddress));
    await this.#reserve(item, await this.chain.draft(order, nonce, usedNonces), 1, null);
  }

  async #endIfImpossible(item: Item, error: unknown): Promise<void> {
    if (!(error instanceof TransferImpossible) || isSigned(item)) throw error;
    const { reason, message: detail } = error;
    this.#deps.log.error({ ...item.ref.logged, reason, detail }, `${this.#records.words.one} can never succeed`);
    await this.#end(item, failure(reason));
  }

  /** Nothing is signed yet. During a reorganisation the money may come back; after the grace period the order ends. */
  async #awaitDeposit(item: Item, missing: Missing): Promise<void> {
    if (this.#retries.isGone(item.ref, missing)) return this.#end(item, failure('deposit_reverted'));
    this.#retries.holdUp(item.ref, 'deposit_not_final', `${item.ref.id} waits: ${missing.detail}`);
  }

  #replace(item: Item, draft: TransactionDraft | null, why: ReplacementReason): Promise<void> {
    const last = item.signed.at(-1);
    if (!last) throw new Error(`nothing is signed for ${item.ref.id}`);
    return this.#reserve(item, draft, last.attempt + 1, { txHash: last.txHash, why });
  }

  async #reserve(
    item: Item,
    draft: TransactionDraft | null,
    attempt: number,
    replaces: Sequence['replaces'],
  ): Promise<void> {
    if (draft === null) return this.#retries.wait(item.ref, 'sequence_busy', SEQUENCE_BUSY);
    const sequence = { attempt, fromAddress: item.order.fromAddress, draft, replaces, reservedAtSec: this.#nowSec() };
    // Another order may have taken the sequence in between. The next round drafts it again.
    if (!(await this.#records.reserve(item, sequence))) return;
    this.#isReserved = true;
    await this.#finish(item.ref, sequence);
  }

  /** Signs what is reserved, records the bytes, and only then sends them. Safe to repeat after any crash. */
  async #finish(ref: Item['ref'], sequence: Sequence): Promise<void> {
    const { attempt, draft } = sequence;
    const item = await this.#records.find(ref);
    if (!item) throw new Error(`${ref.id} is reserved but unknown`);
    const { journal } = await this.context();
    const signature = await this.#deps.signer.sign({ order: item.order, attempt, draft, logPlace: journal });
    if (!signature.ok) {
      if (signature.kind !== 'stopped')
        await this.#records.release(ref, { attempt, reason: signature.code, releasedAtSec: this.#nowSec() });
      return this.#refused(item, signature);
    }
    const { txHash, signedBytes } = signature;
    const signed = { attempt, txHash, signedBytes, validity: validityOf(draft), signedAtSec: this.#nowSec() };
    const isOwed = await this.#records.recordSigned(item, { ...signed, journal: signature.journal }, sequence);
    this.#retries.setAlarm('signer', null);
    this.#retries.goesOn(ref);
    if (!isOwed) return;
    this.#retries.turns.forget(ref.id);
    this.#retries.turns.postpone(ref.id, 1);
    // The deposit may have left the chain during signing.
    if (!(await this.#sent.send({ ...item, signed: [...item.signed, signed] }, [signed]))) return;
    const { kind, network } = item.order;
    this.#deps.log.info({ ...ref.logged, kind, attempt, tx: txHash, network }, `${this.#records.words.one} was sent`);
  }

  async #refused(item: Item, refusal: SignerRefusal): Promise<void> {
    const { ref } = item;
    if (refusal.kind === 'stopped') {
      this.#retries.setAlarm('signer', `the signer refuses to sign: ${refusal.message}`);
      this.#retries.turns.postpone(ref.id, WAIT_LOOKS);
      return this.#retries.wait(ref, 'payouts_stopped', refusal.message);
    }
    if (refusal.kind === 'denied' && !isSigned(item)) {
      const { code, message: reason } = refusal;
      this.#deps.log.error({ ...ref.logged, code, reason }, `the signer denied ${this.#records.words.one}`);
      return this.#end(item, failure('rejected_by_policy'));
    }
    this.#retries.holdUp(ref, WAIT_REASONS[refusal.code] ?? 'policy_limit', refusal.message);
  }

  /* What ends */

  async #complete(item: Item, landed: LandedTransaction): Promise<void> {
    const { ref, order } = item;
    if (this.#records.endsLater?.(item, await this.context())) return;
    await this.#records.complete(item, landed);
    this.#retries.forget(ref);
    this.#deps.log.info(
      { ...ref.logged, kind: order.kind, tx: landed.txHash, network: order.network },
      `${this.#records.words.one} is complete`,
    );
  }

  /** A restored event log may have lost that the order was paid, so nothing ends before the journal was compared. */
  async #end(item: Item, why: Failure): Promise<void> {
    const { mode, network } = this.chain;
    if (this.#deps.journalCheck.isCompared(mode, network)) return this.#fail(item, why);
    this.#retries.wait(item.ref, 'signer_unavailable', `${item.ref.id} may be paid: the signer has not told yet`);
  }

  async #fail(item: Item, why: Failure): Promise<void> {
    const { ref, order } = item;
    if (why.ineffective && this.#records.endsLater?.(item, await this.context())) return;
    await this.#records.fail(item, why);
    this.#retries.forget(ref);
    this.#deps.log.warn({ ...ref.logged, kind: order.kind, reason: why.reason }, `${this.#records.words.one} failed`);
  }

  #blame(ref: Item['ref'], error: unknown): void {
    this.#deps.log.error({ err: error, ...ref.logged }, `${this.#records.words.one} cannot continue`);
    this.#retries.holdUp(ref, 'unexpected_error', textOf(error));
  }

  #nowSec(): number {
    return toSec(this.#deps.clock.nowMs());
  }
}
