import type { UnmatchedTransfer } from '../../domain/events/transfer-events.ts';
import type { Mode, SessionId } from '../../domain/values/ids.ts';
import { sessionStream, transferStream } from '../../domain/values/streams.ts';
import { toSec, type Clock } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';
import type { Rates } from '../../ports/rates/rates.ts';
import type { ReturnRequest, Returns } from '../../ports/outgoing/returns.ts';
import { crashPoint } from '../../runtime/util/crash-point.ts';
import type { SessionCommand } from '../../../state-machines/checkout-session/session.decider.ts';
import type { TransferCommandOfSession } from '../../../state-machines/checkout-session/transfers.decider.ts';
import type {
  By,
  TransferCommand,
  TransferState,
} from '../../../state-machines/unmatched-transfer/transfer.decider.ts';
import type { TransferDecision } from '../../../state-machines/unmatched-transfer/transfer.machine.ts';
import type { SessionHandler } from '../shared/handlers/session-handler.ts';
import { transferTable, type TransferHandler } from '../shared/handlers/transfer-handler.ts';
import { must } from '../../domain/values/must.ts';

export interface InboxSettlementDeps {
  readonly transfers: TransferHandler;
  readonly sessions: SessionHandler;
  readonly rates: Pick<Rates, 'valuation'>;
  /** Null if this process does not pay. */
  readonly returns: () => Returns | null;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * The state of the transfer, and why the decision could not be carried out, in words; null if it was, or is in
 * progress.
 */
export interface Settled {
  readonly state: TransferState;
  readonly refused: string | null;
}

/** A decision in progress: the transfer and what was decided. */
interface Work {
  readonly stream: string;
  readonly transfer: UnmatchedTransfer;
  readonly decision: TransferDecision;
}

/** Steps per decision; more would mean a loop. */
const MAX_STEPS = 4;

/**
 * Carries out what was decided in a transfer's own stream: the money leaves the session that received it, then joins
 * the session it is attached to or returns to the sender. After a crash any process may repeat any step, even
 * concurrently.
 */
export class InboxSettlement {
  readonly #deps: InboxSettlementDeps;

  constructor(deps: InboxSettlementDeps) {
    this.#deps = deps;
  }

  /**
   * Continues until nothing more can be done now. Throws when the store or the signer is unavailable; the next run
   * continues.
   */
  async settle(mode: Mode, depositKey: string): Promise<Settled> {
    const stream = transferStream(mode, depositKey);
    let refused: string | null = null;
    for (let step = 1; ; step += 1) {
      const state = (await this.#deps.transfers.read(stream)) ?? transferTable.initial;
      const { transfer, decision } = state.context;
      if (!transfer || !decision || step > MAX_STEPS) return { state, refused };
      const done = await this.#step(state.value, { stream, transfer, decision });
      if (done === null) return { state, refused };
      refused = done.refused ?? refused;
    }
  }

  /** Null if nothing changed. */
  async #step(value: TransferState['value'], work: Work): Promise<{ readonly refused: string | null } | null> {
    const { target } = work.decision;
    switch (value) {
      case 'attaching':
        return target.kind === 'session' ? this.#attach(work, target.sessionId) : null;
      case 'detaching':
        return target.kind === 'session' ? this.#detach(work, target.sessionId) : null;
      case 'returning':
        return target.kind === 'return' ? this.#giveBack(work, target.moveId) : null;
      case 'cancelling':
        return target.kind === 'return' ? this.#cancel(work, target.moveId) : null;
      default:
        return null;
    }
  }

  async #attach(work: Work, sessionId: SessionId) {
    const { transfer, decision } = work;
    const kept = await this.#setAside(work);
    if (kept !== null) return this.#refuse(work, sessionId, kept);
    crashPoint('inbox-after-set-aside');
    const { mode, origin, sender: _, ...facts } = transfer;
    const nowMs = this.#deps.clock.nowMs();
    const refused = await this.#tellSession(work, sessionId, {
      type: 'CreditTransfer',
      transfer: {
        ...factsOf(facts),
        operation: decision.operation,
        derivationIndex: transfer.derivationIndex,
        sender: transfer.sender,
      },
      mode,
      merchantId: origin.kind === 'session' ? origin.merchantId : null,
      nowSec: toSec(nowMs),
      valuation: await this.#valuation(sessionId, nowMs),
    });
    if (refused !== null) return this.#refuse(work, sessionId, refused);
    crashPoint('inbox-after-credit');
    return this.#attached(work);
  }

  async #attached(work: Work) {
    await this.#tell(work, { type: 'SettleAttached', operation: work.decision.operation, nowSec: this.#nowSec() });
    return this.#putBackIfOvertaken(work);
  }

  /**
   * What is refused here may be accepted a moment later by another process with the same decision. The receiving
   * session is therefore told first, so that it either has the money already or never takes it.
   */
  async #refuse(work: Work, sessionId: SessionId, why: string) {
    const has = await this.#giveUp(work, sessionId);
    return has === null ? this.#reopen(work, 'refused', why) : this.#attached(work);
  }

  async #detach(work: Work, sessionId: SessionId) {
    const { operation } = work.decision;
    const { depositKey } = work.transfer;
    const refused = await this.#tellSession(work, sessionId, {
      type: 'ReverseTransferCredit',
      depositKey,
      operation,
      nowSec: this.#nowSec(),
    });
    if (refused !== null) return this.#undoRefused(work, refused);
    crashPoint('inbox-after-reversal');
    return this.#reopen(work, 'undone', work.decision.reason, null);
  }

  async #giveBack(work: Work, moveId: string) {
    const order = this.#returnOf(work, moveId);
    if (!order) return null;
    const { returns, request } = order;
    const { mode, network } = work.transfer;
    const kept = await this.#setAside(work);
    if (kept !== null) {
      // As with sessions: another process may set the money aside a moment later, and must not be able to begin a
      // return.
      await returns.cancel(request);
      const status = await returns.status(mode, network, moveId);
      return status.kind === 'failed' ? this.#reopen(work, 'refused', kept) : this.#ended(work, status);
    }
    crashPoint('inbox-after-set-aside');
    const status = await returns.status(mode, network, moveId);
    if (status.kind !== 'unknown') return this.#ended(work, status);
    const refused = await returns.request(request);
    crashPoint('inbox-after-return-request');
    return refused === null ? null : this.#reopen(work, 'refused', refused);
  }

  /** Cancels the return even if nobody has requested it, so that no late step can begin it. */
  async #cancel(work: Work, moveId: string) {
    const order = this.#returnOf(work, moveId);
    if (!order) return null;
    const { returns, request } = order;
    const refused = await returns.cancel(request);
    const status = await returns.status(work.transfer.mode, work.transfer.network, moveId);
    if (status.kind === 'under_way') return refused === null ? null : this.#undoRefused(work, refused);
    return this.#ended(work, status);
  }

  async #ended(work: Work, status: Awaited<ReturnType<Returns['status']>>) {
    const { operation } = work.decision;
    if (status.kind === 'failed')
      return this.#reopen(work, status.reason === 'rejected_by_operator' ? 'undone' : 'failed', status.reason, null);
    if (status.kind !== 'paid') return null;
    await this.#tell(work, { type: 'SettleReturned', operation, txHash: status.txHash, nowSec: this.#nowSec() });
    return { refused: null };
  }

  /** The return of the decision and who pays it; null if this process does not pay on the network. */
  #returnOf(
    { transfer, decision }: Work,
    moveId: string,
  ): { readonly returns: Returns; readonly request: ReturnRequest } | null {
    const returns = this.#deps.returns();
    const treasury = returns?.treasuryOf(transfer.mode, transfer.network);
    if (!returns || !treasury) return null;
    const by = { actor: decision.actor, reason: decision.reason, nowSec: this.#nowSec() };
    return { returns, request: returnRequestOf(transfer, { moveId, treasury }, by) };
  }

  /** Why the receiving session keeps the money, in words; null if it is set aside, or in no session's books. */
  async #setAside(work: Work): Promise<string | null> {
    const { origin, depositKey } = work.transfer;
    if (origin.kind !== 'session') return null;
    const { operation } = work.decision;
    return this.#tellSession(work, origin.sessionId, {
      type: 'SetDepositAside',
      depositKey,
      operation,
      nowSec: this.#nowSec(),
    });
  }

  async #putBack(work: Work): Promise<void> {
    const { origin } = work.transfer;
    if (origin.kind !== 'session') return;
    await this.#giveUp(work, origin.sessionId);
  }

  /** Why the session keeps what the decision gave it, in words; null if it keeps nothing, now or later. */
  async #giveUp(work: Work, sessionId: SessionId): Promise<string | null> {
    const { transfer, decision } = work;
    const nowMs = this.#deps.clock.nowMs();
    const command: TransferCommandOfSession = {
      type: 'GiveUpTransfer',
      depositKey: transfer.depositKey,
      operation: decision.operation,
      nowSec: toSec(nowMs),
      valuation: await this.#valuation(sessionId, nowMs),
    };
    const result = await this.#deps.sessions.execute(sessionStream(sessionId), command, this.#why(work));
    return result.ok || result.refusal.code === 'not_found' ? null : result.refusal.message;
  }

  /** The session has the money back before the transfer is marked as waiting again; a crash in between repeats both. */
  async #reopen(work: Work, why: 'undone' | 'refused' | 'failed', because: string, refused: string | null = because) {
    await this.#putBack(work);
    crashPoint('inbox-before-reopened');
    await this.#tell(work, {
      type: 'SettleReopened',
      operation: work.decision.operation,
      why,
      because,
      nowSec: this.#nowSec(),
    });
    return { refused };
  }

  async #undoRefused(work: Work, because: string) {
    await this.#tell(work, {
      type: 'SettleUndoRefused',
      operation: work.decision.operation,
      because,
      nowSec: this.#nowSec(),
    });
    return { refused: because };
  }

  /** Another process may have carried out and undone this decision while a step was on its way. */
  async #putBackIfOvertaken(work: Work) {
    const { context } = (await this.#deps.transfers.read(work.stream)) ?? transferTable.initial;
    if (context.decision?.operation !== work.decision.operation) await this.#putBack(work);
    return { refused: null };
  }

  async #valuation(sessionId: SessionId, nowMs: number) {
    const created = (await this.#deps.sessions.read(sessionStream(sessionId)))?.context.created;
    return created?.rateLock ? this.#deps.rates.valuation(created.currency, created.dueCoin, nowMs) : null;
  }

  /** Why not, in words; null if it is done, now or before. */
  async #tellSession(work: Work, id: SessionId, command: TransferCommandOfSession): Promise<string | null> {
    const result = await this.#deps.sessions.execute(
      sessionStream(id),
      command satisfies SessionCommand,
      this.#why(work),
    );
    return result.ok ? null : result.refusal.message;
  }

  async #tell(work: Work, command: TransferCommand): Promise<void> {
    const result = await this.#deps.transfers.execute(work.stream, command, this.#why(work));
    if (!result.ok) throw new Error(`${command.type} was refused for ${work.stream}: ${result.refusal.message}`);
  }

  #why({ decision }: Work) {
    return { correlationId: this.#deps.random.uuid(), actor: decision.actor };
  }

  #nowSec(): number {
    return toSec(this.#deps.clock.nowMs());
  }
}

type Facts = Omit<UnmatchedTransfer, 'mode' | 'origin' | 'sender'>;

/** Only the facts from the chain. */
function factsOf({ derivationIndex: _, ...facts }: Facts): Omit<Facts, 'derivationIndex'> {
  return facts;
}

/** The payout that returns the whole transfer to its sender. */
export function returnRequestOf(
  transfer: UnmatchedTransfer,
  { moveId, treasury }: { readonly moveId: string; readonly treasury: string },
  { actor, reason, nowSec }: By,
): ReturnRequest {
  const {
    mode,
    network,
    coin,
    amount,
    fromAddress,
    toAddress,
    depositKey,
    txHash,
    logIndex,
    blockNumber,
    derivationIndex,
  } = transfer;
  return {
    ...{ moveId, mode, network, coin, amount, fromAddress: treasury, toAddress: must(fromAddress) },
    ...{ derivationIndex: null, merchantId: null, forMoveId: null },
    deposit: { depositKey, txHash, logIndex, blockNumber, toAddress, derivationIndex },
    ...{ requestedBy: actor, reason, requestedAtSec: nowSec },
  };
}
