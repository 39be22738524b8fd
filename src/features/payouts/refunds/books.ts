import type { Clock } from '../../../ports/clock.ts';
import { toSec } from '../../../ports/clock.ts';
import type { Log } from '../../../ports/log.ts';
import type { Random } from '../../../ports/random.ts';
import type { Valuation } from '../../../domain/events/session-events.ts';
import type { Coin } from '../../../domain/money.ts';
import { sessionStream } from '../../../domain/streams.ts';
import type { TreasuryHandler } from '../../shared/handlers/treasury-handler.ts';
import { orderedLeg, type OrderedLeg } from './orders.ts';
import type { SessionHandler } from '../../shared/handlers/session-handler.ts';
import type { PayoutCommand } from '../../../../state-machines/checkout-session/payouts.decider.ts';
import type { TreasuryCommand } from '../../../../state-machines/treasury/treasury.decider.ts';
import { initialTreasuryContext } from '../../../../state-machines/treasury/treasury.state.ts';
import type { TreasuryContext } from '../../../../state-machines/treasury/treasury.state.ts';
import type { LegRef } from './work.ts';

/** A leg with everything that is known about it. */
export type Found = OrderedLeg & { readonly ref: LegRef; readonly context: Parameters<typeof orderedLeg>[0] };

interface BooksDeps {
  readonly treasury: string;
  readonly sessions: SessionHandler;
  readonly treasuries: TreasuryHandler;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly valuation: (currency: string, coin: Coin) => Valuation | null;
}

/** The two streams that a payout lives in: its session's and its treasury's. */
export class PayoutBooks {
  readonly #deps: BooksDeps;
  readonly #stream: string;

  constructor(deps: BooksDeps, stream: string) {
    this.#deps = deps;
    this.#stream = stream;
  }

  nowSec(): number {
    return toSec(this.#deps.clock.nowMs());
  }

  valuationOf({ created }: Found['context'], coin: Coin): Valuation | null {
    return created?.rateLock ? this.#deps.valuation(created.currency, coin) : null;
  }

  async find(ref: LegRef): Promise<Found | null> {
    const state = await this.#deps.sessions.read(sessionStream(ref.sessionId));
    const ordered = state && orderedLeg(state.context, ref.refundId, ref.legId, this.#deps.treasury);
    return ordered && { ...ordered, ref, context: state.context };
  }

  async treasury(): Promise<TreasuryContext> {
    return (await this.#deps.treasuries.read(this.#stream))?.context ?? initialTreasuryContext;
  }

  /** Throws when the session refuses: the process and the session disagree, which is a bug. */
  async tellSession(ref: LegRef, command: PayoutCommand): Promise<void> {
    const result = await this.#deps.sessions.execute(sessionStream(ref.sessionId), command, this.#why());
    if (!result.ok) throw new Error(`${command.type} was refused for ${ref.legId}: ${result.refusal.message}`);
  }

  /** False when the treasury refuses. */
  async tellTreasury(command: TreasuryCommand): Promise<boolean> {
    const result = await this.#deps.treasuries.execute(this.#stream, command, this.#why());
    if (!result.ok) this.#deps.log.warn({ treasury: this.#stream, command: command.type, reason: result.refusal.message }, 'the treasury refused');
    return result.ok;
  }

  #why(): { correlationId: string; actor: string } {
    return { correlationId: this.#deps.random.uuid(), actor: 'pay-refunds' };
  }
}
