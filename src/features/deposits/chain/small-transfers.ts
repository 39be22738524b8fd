import type { DepositFacts } from '../../../domain/events/session-events.ts';
import type { SessionId } from '../../../domain/values/ids.ts';
import { ChainUnavailable, type BlockLook } from '../../../ports/chain/chain.ts';
import { StoreUnavailable } from '../../../ports/event-log/event-store.ts';
import { must } from '../../../domain/values/must.ts';
import { depositFactsOf, isSameMoney } from './facts.ts';
import { inParallel, seenBlocks } from './tracked.ts';
import type { DepositTrackingDeps } from './types.ts';

interface Waiting {
  readonly sessionId: SessionId;
  readonly facts: DepositFacts;
  /** Whether the chain showed it when asked for it, as for a deposit that is kept. */
  readonly isProven: boolean;
}

/** Time limit of looking transfers up. The rest waits for the next time, so that other payments never wait. */
const LONGEST_PASS_MS = 1_000;

/**
 * Transfers below the dust limit that their sessions do not keep one by one. They wait in memory until their blocks are
 * final, and then become one deposit per session and reading. The durable cursor stays below them.
 */
export class SmallTransfers {
  readonly #deps: Pick<DepositTrackingDeps, 'chain' | 'deposits' | 'observer'>;
  readonly #waiting = new Map<string, Waiting>();

  constructor(deps: Pick<DepositTrackingDeps, 'chain' | 'deposits' | 'observer'>) {
    this.#deps = deps;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** The oldest block with one of them; infinity if there is none. */
  get oldest(): number {
    let oldest = Infinity;
    for (const { facts } of this.#waiting.values()) oldest = Math.min(oldest, facts.blockNumber);
    return oldest;
  }

  /** Whether it waits already, as another reading shows it. */
  isSeenAgain(facts: DepositFacts): boolean {
    const known = this.#waiting.get(facts.depositKey);
    if (!known || !isSameMoney(known.facts, facts)) return false;
    if (known.facts.blockHash !== facts.blockHash) this.add(known.sessionId, facts);
    return true;
  }

  add(sessionId: SessionId, facts: DepositFacts): void {
    this.#waiting.set(facts.depositKey, { sessionId, facts, isProven: false });
  }

  /** The chain dropped the blocks above this height. */
  dropAbove(blockNumber: number): void {
    for (const [key, { facts }] of this.#waiting) if (facts.blockNumber > blockNumber) this.#waiting.delete(key);
  }

  /**
   * Counts those in blocks up to this one, which must be final and read completely. Returns the deposits made of them.
   * Those that the chain shows to be gone are dropped; those that cannot be checked now keep waiting.
   */
  async count(
    throughBlock: number,
    headNumber: number,
  ): Promise<{ readonly sessionId: SessionId; readonly facts: DepositFacts }[]> {
    const isDue = ({ facts }: Waiting): boolean => facts.blockNumber <= throughBlock;
    const unproven = [...this.#waiting.values()].filter((each) => !each.isProven && isDue(each));
    const blocks = seenBlocks(unproven);
    const untilMs = performance.now() + LONGEST_PASS_MS;
    await inParallel(unproven, async (each) => {
      if (performance.now() <= untilMs) await this.#prove(each, blocks.get(each.facts.blockNumber)?.look);
    });
    const made = [];
    for (const [sessionId, of] of Map.groupBy(this.#waiting.values(), (each) => each.sessionId)) {
      // A session counts by height, so that nothing above a transfer in doubt can be counted before it.
      const inDoubt = of.filter(({ isProven }) => !isProven).map(({ facts }) => facts.blockNumber);
      const below = inDoubt.reduce((one, other) => Math.min(one, other), Infinity);
      const transfers = of.filter((each) => isDue(each) && each.facts.blockNumber < below).map(({ facts }) => facts);
      if (transfers.length === 0) continue;
      try {
        const deposits = await this.#deps.deposits.countTogether(sessionId, transfers, headNumber);
        made.push(...deposits.map((facts) => ({ sessionId, facts })));
        for (const { depositKey } of transfers) this.#waiting.delete(depositKey);
      } catch (error) {
        if (error instanceof StoreUnavailable) throw error;
        const { depositKey } = must(transfers[0]);
        this.#deps.observer?.onAnomaly?.({ kind: 'parked', sessionId, depositKey, error });
      }
    }
    return made;
  }

  async #prove(waiting: Waiting, look: BlockLook | undefined): Promise<void> {
    const { chain, observer } = this.#deps;
    const { facts, sessionId } = waiting;
    const { depositKey } = facts;
    try {
      const transfer = await chain.transferAt(facts.txHash, facts.logIndex, look);
      const found = transfer && depositFactsOf(transfer, chain.settings);
      if (transfer && found && isSameMoney(found, facts) && found.blockHash === facts.blockHash) {
        if (await chain.agreeOnFinality(transfer, { kind: 'finalized' }))
          this.#waiting.set(depositKey, { ...waiting, isProven: true });
        return;
      }
      // That it is not found proves nothing.
      if ((await chain.disprove(facts)) !== null) this.#waiting.delete(depositKey);
      else observer?.onAnomaly?.({ kind: 'withheld', sessionId, depositKey });
    } catch (error) {
      if (!(error instanceof ChainUnavailable)) throw error;
      observer?.onAnomaly?.({ kind: 'disputed', sessionId, depositKey, error });
    }
  }
}
