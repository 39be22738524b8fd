import type { Valuation } from '../../domain/events/coin-events.ts';
import type {
  DepositConfirmed,
  DepositFacts,
  DepositReverted,
  SessionCreated,
  SessionEvent,
} from '../../domain/events/session-events.ts';
import type { Network } from '../../domain/networks/networks.ts';
import type { SessionId } from '../../domain/values/ids.ts';
import { must } from '../../domain/values/must.ts';
import { sessionStream } from '../../domain/values/streams.ts';
import { toSec, type Clock } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';
import type { Rates } from '../../ports/rates/rates.ts';
import type { Senders } from '../../ports/chain/senders.ts';
import type { SessionCommand, SessionState } from '../../../state-machines/checkout-session/session.decider.ts';
import { isCounted } from '../../../state-machines/checkout-session/session.state.ts';
import type { RecordedAs } from './chain/types.ts';
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

  /** The transfers of one reading. */
  async record(id: SessionId, transfers: readonly DepositFacts[]): Promise<ReadonlyMap<string, RecordedAs>> {
    const told = transfers.map((facts) => ({ facts, isOwn: this.#isOwn(facts) }));
    const { context } = await this.#send(id, { type: 'RecordDeposits', transfers: told }, must(transfers[0]).network);
    const places = new Map<string, RecordedAs>();
    for (const facts of transfers)
      if (context.deposits.get(facts.depositKey)) places.set(facts.depositKey, 'kept');
      else if (!isCounted(context, facts)) places.set(facts.depositKey, 'small');
    return places;
  }

  async confirm(id: SessionId, data: readonly DepositConfirmed['data'][], network: Network): Promise<void> {
    const nowMs = this.#deps.clock.nowMs();
    const state = await this.#deps.sessions.read(sessionStream(id));
    const created = state?.context.created;
    const confirmations = await Promise.all(
      data.map(async (each) => {
        const payer = state?.context.deposits.get(each.depositKey)?.facts.fromAddress;
        const sender = created && payer ? await this.#deps.senders.of(created.mode, network, payer) : null;
        return { ...each, ...(sender && { sender }) };
      }),
    );
    const valuation = this.#valuationOf(created, nowMs);
    await this.#send(id, { type: 'ConfirmDeposits', confirmations, nowSec: toSec(nowMs), valuation }, network);
  }

  /** Transfers below the dust limit in final blocks, as one deposit. Returns the deposits that hold them. */
  async countTogether(
    id: SessionId,
    transfers: readonly DepositFacts[],
    headNumber: number,
  ): Promise<readonly DepositFacts[]> {
    const nowMs = this.#deps.clock.nowMs();
    const created = (await this.#deps.sessions.read(sessionStream(id)))?.context.created;
    const valuation = this.#valuationOf(created, nowMs);
    const command = { type: 'CountTogether', transfers, headNumber, nowSec: toSec(nowMs), valuation } as const;
    const { events } = await this.#execute(id, command, must(transfers[0]).network);
    return events.flatMap(({ type, data }) => {
      if (type !== 'DepositDetected') return [];
      const { kind: _, ...facts } = data;
      return [facts];
    });
  }

  #isOwn({ fromAddress, network }: DepositFacts): boolean {
    return fromAddress !== null && this.#deps.isOurs(network, fromAddress);
  }

  #valuationOf(created: SessionCreated['data'] | null | undefined, nowMs: number): Valuation | null {
    return created?.rateLock ? this.#deps.rates.valuation(created.currency, created.dueCoin, nowMs) : null;
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
    return (await this.#execute(id, command, network)).state;
  }

  async #execute(
    id: SessionId,
    command: SessionCommand,
    network: string,
  ): Promise<{ readonly state: SessionState; readonly events: readonly SessionEvent[] }> {
    const result = await this.#deps.sessions.execute(sessionStream(id), command, {
      correlationId: this.#deps.random.uuid(),
      actor: `chain:${network}`,
    });
    if (!result.ok) throw new Error(`${command.type} was refused for ${id}: ${result.refusal.message}`);
    return result;
  }
}
