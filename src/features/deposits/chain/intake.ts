import type { DepositFacts } from '../../../domain/events/session-events.ts';
import type { SessionId } from '../../../domain/values/ids.ts';
import { must } from '../../../domain/values/must.ts';
import type { Disproof, Transfer } from '../../../ports/chain/chain.ts';
import { StoreUnavailable } from '../../../ports/event-log/event-store.ts';
import { depositFactsOf, isSameMoney } from './facts.ts';
import type { RevertedDeposits } from './reverted.ts';
import { SmallTransfers } from './small-transfers.ts';
import { disproofOf, inParallel, isMoved, NEW, type Tracked } from './tracked.ts';
import type { DepositTrackingDeps } from './types.ts';

/** Transfers of one session per command. */
export const PER_COMMAND = 100;

/** A transfer as the chain has it and as sessions do. */
interface Told {
  readonly transfer: Transfer;
  readonly facts: DepositFacts;
}

interface Known {
  readonly tracked: Map<string, Tracked>;
  readonly reverted: RevertedDeposits;
  readonly revert: (deposit: Tracked, reason: Disproof, headNumber: number) => Promise<void>;
}

/** Offers the transfers of a reading to their sessions. */
export class Intake {
  readonly small: SmallTransfers;
  readonly #deps: DepositTrackingDeps;
  readonly #known: Known;
  /** Transfers whose command failed for a reason of its own. */
  readonly #parked = new Map<string, Transfer>();

  constructor(deps: DepositTrackingDeps, known: Known) {
    this.#deps = deps;
    this.#known = known;
    this.small = new SmallTransfers(deps);
  }

  get parked(): number {
    return this.#parked.size;
  }

  /** The oldest block with a transfer that no session has accepted yet. */
  get oldestParked(): Transfer['block'] | null {
    return [...this.#parked.values()].map(({ block }) => block).sort((a, b) => a.number - b.number)[0] ?? null;
  }

  /** The chain dropped the blocks above this height. */
  dropAbove(blockNumber: number): void {
    for (const [key, { block }] of this.#parked) if (block.number > blockNumber) this.#parked.delete(key);
    this.small.dropAbove(blockNumber);
  }

  /**
   * Resolves once every transfer is accepted by its session, or parked. Returns the keys that are new to this run. The
   * transfers of a session are one command, so that a busy address does not hold up the others.
   */
  async observe(transfers: readonly Transfer[]): Promise<string[]> {
    const fresh = new Set<string>();
    const told = [...this.#parked.values(), ...transfers].map((transfer) => ({
      transfer,
      facts: depositFactsOf(transfer, this.#deps.chain.settings),
    }));
    const ofSessions = Map.groupBy(told, ({ facts }) => this.#deps.addresses.sessionOf(facts.toAddress));
    await inParallel([...ofSessions], async ([sessionId, of]) => {
      for (let at = 0; at < of.length; at += PER_COMMAND)
        await this.#observeSome(sessionId, of.slice(at, at + PER_COMMAND), fresh);
    });
    return [...fresh];
  }

  async #observeSome(sessionId: SessionId | null, told: readonly Told[], fresh: Set<string>): Promise<void> {
    try {
      const recorded = await this.#offer(
        sessionId,
        told.map(({ facts }) => facts),
      );
      for (const key of recorded) fresh.add(key);
      for (const { facts } of told) this.#parked.delete(facts.depositKey);
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      const [{ facts, transfer }, ...others] = [must(told[0]), ...told.slice(1)];
      if (others.length > 0) {
        for (const each of told) await this.#observeSome(sessionId, [each], fresh);
        return;
      }
      if (!this.#parked.has(facts.depositKey)) this.#tellParked(facts, error);
      this.#parked.set(facts.depositKey, transfer);
    }
  }

  /** Returns the keys of those that the session keeps and that are new to this run. */
  async #offer(sessionId: SessionId | null, transfers: readonly DepositFacts[]): Promise<string[]> {
    const unknown: DepositFacts[] = [];
    for (const facts of transfers) if (!(await this.#isKnown(sessionId, facts))) unknown.push(facts);
    const [first] = unknown;
    if (sessionId === null || !first) return [];
    const places = await this.#deps.deposits.record(sessionId, unknown);
    const rule = await this.#deps.finalityRuleOf(sessionId, first.network);
    const kept = unknown.filter(({ depositKey }) => places.get(depositKey) === 'kept');
    for (const facts of kept) {
      this.#known.reverted.delete(facts.depositKey);
      this.#known.tracked.set(facts.depositKey, { ...NEW, sessionId, facts, rule, status: 'detected' });
    }
    for (const facts of unknown) if (places.get(facts.depositKey) === 'small') this.small.add(sessionId, facts);
    return kept.map(({ depositKey }) => depositKey);
  }

  async #isKnown(sessionId: SessionId | null, facts: DepositFacts): Promise<boolean> {
    if (this.small.isSeenAgain(facts)) return true;
    const known = this.#known.tracked.get(facts.depositKey);
    if (!known) return false;
    if (isSameMoney(known.facts, facts)) {
      // Records its current block. A suspect stays one until its transfer has been read again.
      if (isMoved(known, facts)) known.suspect = true;
      else known.facts = facts;
      return true;
    }
    if (sessionId === null) return true;
    const reason = await disproofOf(this.#deps, known);
    if (reason === null)
      throw new Error(
        `${facts.depositKey} is reported as different money than recorded, although nothing shows the recorded money to be gone`,
      );
    await this.#known.revert(known, reason, facts.blockNumber);
    return false;
  }

  /** Restores a reverted deposit. If its session refuses, nothing waits for it; it is tried again later. */
  async takeBack(transfer: Transfer): Promise<void> {
    const facts = depositFactsOf(transfer, this.#deps.chain.settings);
    const { depositKey, toAddress } = facts;
    const sessionId = this.#deps.addresses.sessionOf(toAddress);
    try {
      if ((await this.#offer(sessionId, [facts])).length > 0)
        this.#deps.observer?.onAnomaly?.({ kind: 'returned', sessionId, depositKey });
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      this.#tellParked(facts, error);
    }
  }

  #tellParked({ depositKey, toAddress }: DepositFacts, error: unknown): void {
    const sessionId = this.#deps.addresses.sessionOf(toAddress);
    this.#deps.observer?.onAnomaly?.({ kind: 'parked', sessionId, depositKey, error });
  }
}
