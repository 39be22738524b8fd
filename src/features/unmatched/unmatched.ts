import type { UnmatchedTransfer } from '../../domain/events/transfer-events.ts';
import type { Mode, SessionId } from '../../domain/values/ids.ts';
import { refuse, type Refused } from '../../domain/values/result.ts';
import { sessionStream, transferStream } from '../../domain/values/streams.ts';
import { toSec, type Clock } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';
import type { Returns } from '../../ports/outgoing/returns.ts';
import type { Senders } from '../../ports/chain/senders.ts';
import { whyNotCreditable } from '../../../state-machines/checkout-session/transfers.decider.ts';
import { isPayable, whyNotReversible, whyNotSetAside } from '../../../state-machines/checkout-session/transfers.ts';
import { held, optionAt } from '../../../state-machines/checkout-session/session.state.ts';
import {
  decideTransfer,
  whyNotOpen,
  type By,
  type TransferCommand,
  type TransferState,
} from '../../../state-machines/unmatched-transfer/transfer.decider.ts';
import { amountOf, formatAmount } from '../../domain/money/money.ts';
import { newMoveId } from '../payouts/moves/ids.ts';
import { sessionTable, type SessionHandler } from '../shared/handlers/session-handler.ts';
import { type InboxSettlement, returnRequestOf } from './settlement.ts';
import { transferTable, type TransferHandler } from '../shared/handlers/transfer-handler.ts';
import { must } from '../../domain/values/must.ts';

export interface InboxDeps {
  readonly transfers: TransferHandler;
  readonly sessions: SessionHandler;
  readonly senders: Senders;
  readonly settlement: InboxSettlement;
  /** Null if this process does not pay. */
  readonly returns: () => Returns | null;
  readonly clock: Clock;
  readonly random: Random;
}

/** A transfer with the state of its own stream; `absent` before any decision. */
export interface FoundTransfer {
  readonly transfer: UnmatchedTransfer;
  readonly state: TransferState;
}

/** The result of a decision. */
export type InboxOutcome =
  | { readonly ok: true; readonly state: TransferState; readonly notes: readonly string[] }
  | Refused;

interface Order {
  readonly by: Omit<By, 'nowSec'>;
  /** Reports what would be done without doing it. */
  readonly dryRun: boolean;
}

const conflict = (message: string): InboxOutcome => refuse('conflict', message);

/**
 * Operators' decisions about unmatched transfers. Each is first recorded in the transfer's own stream, then carried
 * out.
 */
export class Inbox {
  readonly #deps: InboxDeps;

  constructor(deps: InboxDeps) {
    this.#deps = deps;
  }

  /** Finds the transfer through the session that recorded it or through its own stream; null if neither has it. */
  async find(mode: Mode, depositKey: string, sessionId: SessionId | null): Promise<FoundTransfer | null> {
    const state = (await this.#deps.transfers.read(transferStream(mode, depositKey))) ?? transferTable.initial;
    if (state.context.transfer) return { transfer: state.context.transfer, state };
    const transfer = sessionId && (await this.#ofSession(sessionId, depositKey));
    return transfer && transfer.mode === mode ? { transfer, state } : null;
  }

  async record(transfer: UnmatchedTransfer, { by, dryRun }: Order): Promise<InboxOutcome> {
    const state =
      (await this.#deps.transfers.read(transferStream(transfer.mode, transfer.depositKey))) ?? transferTable.initial;
    if (state.value !== 'absent') return conflict('it is already in the inbox');
    return this.#decide({ transfer, state }, { type: 'RecordTransfer', transfer, by: this.#now(by) }, dryRun, []);
  }

  async attach(found: FoundTransfer, sessionId: SessionId, { by, dryRun }: Order): Promise<InboxOutcome> {
    const { transfer } = found;
    const target = await this.#deps.sessions.read(sessionStream(sessionId));
    if (!target?.context.created) return conflict(`no such session: ${sessionId}`);
    const { origin, mode, depositKey } = transfer;
    const credit = {
      transfer: { ...transfer, operation: 0 },
      mode,
      merchantId: origin.kind === 'session' ? origin.merchantId : null,
    };
    const why =
      whyNotOpen(found.state) ?? (await this.#whyNotFree(transfer)) ?? whyNotCreditable(credit, target.context);
    if (why !== null) return conflict(why);
    const { created } = target.context;
    const total = held(target.context) + amountOf(transfer.amount);
    const note = isPayable(target.context)
      ? `the session is ${target.value}; ${formatAmount(total)} of ${created.dueAmount} ${created.dueCoin} will be there`
      : `the session is ${target.value}: the money will be refundable there and pays nothing`;
    const command = { type: 'AttachTransfer', transfer, sessionId, by: this.#now(by) } as const;
    return this.#decide(found, command, dryRun, [note], depositKey);
  }

  async giveBack(found: FoundTransfer, order: Order & { readonly acknowledgedSender: boolean }): Promise<InboxOutcome> {
    const { transfer, state } = found;
    const returns = this.#deps.returns();
    if (!returns?.treasuryOf(transfer.mode, transfer.network))
      return conflict(`this process pays nothing out on ${transfer.network}`);
    const why = whyNotOpen(state) ?? (await this.#whyNotFree(transfer));
    if (why !== null) return conflict(why);
    const moveId = newMoveId('return', this.#deps.random);
    const by = this.#now(order.by);
    const command = {
      type: 'ReturnTransfer',
      transfer,
      moveId,
      acknowledgedSender: order.acknowledgedSender,
      by,
    } as const;
    const notes =
      order.dryRun && transfer.fromAddress !== null ? [await this.#forecast(transfer, moveId, by, returns)] : [];
    return this.#decide(found, command, order.dryRun, notes, transfer.depositKey);
  }

  async undo(found: FoundTransfer, { by, dryRun }: Order): Promise<InboxOutcome> {
    const { state, transfer } = found;
    const target = state.context.decision?.target;
    if (state.value === 'attached' && target?.kind === 'session') {
      const session = await this.#deps.sessions.read(sessionStream(target.sessionId));
      const why = session && whyNotReversible(session.context, transfer.depositKey);
      if (why) return conflict(why);
    }
    return this.#decide(found, { type: 'UndoTransfer', by: this.#now(by) }, dryRun, [], transfer.depositKey);
  }

  /** Records the decision first. If this process ends here, another one carries it out. */
  async #decide(
    { transfer, state }: FoundTransfer,
    command: TransferCommand,
    dryRun: boolean,
    notes: readonly string[],
    settles?: string,
  ): Promise<InboxOutcome> {
    if (dryRun) {
      const decision = decideTransfer(command, state);
      return decision.ok ? { ok: true, state, notes } : { ok: false, refusal: decision.refusal };
    }
    const stream = transferStream(transfer.mode, transfer.depositKey);
    const actor = 'by' in command ? command.by.actor : 'inbox';
    const result = await this.#deps.transfers.execute(stream, command, {
      correlationId: this.#deps.random.uuid(),
      actor,
    });
    if (!result.ok) return { ok: false, refusal: result.refusal };
    if (settles === undefined) return { ok: true, state: result.state, notes };
    const settled = await this.#deps.settlement.settle(transfer.mode, settles);
    return settled.refused === null ? { ok: true, state: settled.state, notes } : conflict(settled.refused);
  }

  async #forecast(transfer: UnmatchedTransfer, moveId: string, by: By, returns: Returns): Promise<string> {
    const request = returnRequestOf(
      transfer,
      { moveId, treasury: must(returns.treasuryOf(transfer.mode, transfer.network)) },
      by,
    );
    return returns.forecast(request);
  }

  async #whyNotFree({ origin, depositKey }: UnmatchedTransfer): Promise<string | null> {
    if (origin.kind !== 'session') return null;
    const session = await this.#deps.sessions.read(sessionStream(origin.sessionId));
    return whyNotSetAside((session ?? sessionTable.initial).context, depositKey);
  }

  async #ofSession(sessionId: SessionId, depositKey: string): Promise<UnmatchedTransfer | null> {
    const context = (await this.#deps.sessions.read(sessionStream(sessionId)))?.context;
    const deposit = context?.deposits.get(depositKey);
    if (!context?.created || !deposit || deposit.credit) return null;
    const { kind: _, ...facts } = deposit.facts;
    const { mode, merchantId } = context.created;
    const option = optionAt(context.created, facts.toAddress);
    if (!option) return null;
    const sender =
      deposit.sender ??
      (facts.fromAddress === null ? null : await this.#deps.senders.of(mode, facts.network, facts.fromAddress));
    const origin = { kind: 'session', sessionId, merchantId } as const;
    return { ...facts, toAddress: option.address, mode, origin, derivationIndex: option.derivationIndex, sender };
  }

  #now(by: Omit<By, 'nowSec'>): By {
    return { ...by, nowSec: toSec(this.#deps.clock.nowMs()) };
  }
}
