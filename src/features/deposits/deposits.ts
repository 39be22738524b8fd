import type { DepositConfirmed, DepositFacts, DepositReverted } from '../../domain/events/session-events.ts';
import type { Network } from '../../domain/networks/networks.ts';
import type { SessionId } from '../../domain/values/ids.ts';
import { sessionStream } from '../../domain/values/streams.ts';
import { toSec, type Clock } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';
import type { Rates } from '../../ports/rates/rates.ts';
import type { Senders } from '../../ports/chain/senders.ts';
import type { SessionCommand, SessionState } from '../../../state-machines/checkout-session/session.decider.ts';
import type { SessionHandler } from '../shared/handlers/session-handler.ts';

interface DepositDeps {
  readonly sessions: SessionHandler;
  readonly rates: Rates;
  readonly senders: Senders;
  /** Whether an address belongs to us, in whichever mode: money from it pays nothing. */
  readonly isOurs: (network: Network, address: string) => boolean;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * Reports of chain watchers to sessions. Each call resolves once the fact is durable; repeating one changes nothing.
 */
export class Deposits {
  readonly #deps: DepositDeps;

  constructor(deps: DepositDeps) {
    this.#deps = deps;
  }

  async record(id: SessionId, facts: DepositFacts): Promise<void> {
    const { fromAddress, network } = facts;
    const isOwn = fromAddress !== null && this.#deps.isOurs(network, fromAddress);
    await this.#send(id, { type: 'RecordDeposit', facts, isOwn }, network);
  }

  async confirm(id: SessionId, data: DepositConfirmed['data'], network: string): Promise<void> {
    const nowMs = this.#deps.clock.nowMs();
    const state = await this.#deps.sessions.read(sessionStream(id));
    const created = state?.context.created;
    const valuation =
      created && created.rateLock ? this.#deps.rates.valuation(created.currency, created.dueCoin, nowMs) : null;
    const payer = state?.context.deposits.get(data.depositKey)?.facts;
    const sender =
      created && payer?.fromAddress
        ? await this.#deps.senders.of(created.mode, payer.network, payer.fromAddress)
        : null;
    await this.#send(
      id,
      { type: 'ConfirmDeposit', data: { ...data, ...(sender && { sender }) }, nowSec: toSec(nowMs), valuation },
      network,
    );
  }

  async move(id: SessionId, facts: DepositFacts, headNumber: number): Promise<boolean> {
    const nowSec = toSec(this.#deps.clock.nowMs());
    const { context } = await this.#send(id, { type: 'MoveDeposit', facts, headNumber, nowSec }, facts.network);
    return context.deposits.get(facts.depositKey)?.status === 'detected';
  }

  async revert(
    id: SessionId,
    revert: { depositKey: string; reason: DepositReverted['data']['reason']; headNumber: number },
    network: string,
  ): Promise<void> {
    await this.#send(id, { type: 'RevertDeposit', ...revert, revertedAtSec: toSec(this.#deps.clock.nowMs()) }, network);
  }

  async #send(id: SessionId, command: SessionCommand, network: string): Promise<SessionState> {
    const result = await this.#deps.sessions.execute(sessionStream(id), command, {
      correlationId: this.#deps.random.uuid(),
      actor: `chain:${network}`,
    });
    if (!result.ok) throw new Error(`${command.type} was refused for ${id}: ${result.refusal.message}`);
    return result.state;
  }
}
