import type { DepositFacts } from '../../../domain/events/session-events.ts';
import { ChainUnavailable, type Transfer } from '../../../ports/chain/chain.ts';
import { depositFactsOf, isSameMoney } from './facts.ts';
import type { DepositTrackingDeps } from './types.ts';

/** How long a reverted deposit is checked again. */
export const REVISITED_SEC = 7 * 86_400;
/** The next check waits for a quarter of the time since the revert, within these bounds. */
const SHORTEST_PAUSE_MS = 15_000;
const LONGEST_PAUSE_MS = 3_600_000;
/** Maximum number of checks per round. */
const LOOKS = 16;

interface Reverted {
  readonly facts: DepositFacts;
  readonly sinceMs: number;
  nextMs: number;
}

/**
 * Deposits that were reverted and may still be on the chain: the transaction was mined again in a block read before, or
 * the revert was wrong. Each is checked as soon as it is added, then less and less often.
 */
export class RevertedDeposits {
  readonly #chain: DepositTrackingDeps['chain'];
  readonly #reverted = new Map<string, Reverted>();

  constructor(chain: DepositTrackingDeps['chain']) {
    this.#chain = chain;
  }

  /** `agoSec`: how long ago an earlier run reverted it. Such a deposit is checked at once. */
  add(facts: DepositFacts, agoSec?: number): void {
    const nowMs = performance.now();
    if (agoSec !== undefined && this.#reverted.has(facts.depositKey)) return;
    const sinceMs = nowMs - (agoSec ?? 0) * 1000;
    this.#reverted.set(facts.depositKey, {
      facts,
      sinceMs,
      nextMs: agoSec === undefined ? nowMs + SHORTEST_PAUSE_MS : nowMs,
    });
  }

  delete(depositKey: string): void {
    this.#reverted.delete(depositKey);
  }

  /** The due deposits that the current chain contains. One that could not be read is retried like the others. */
  async foundAgain(): Promise<Transfer[]> {
    const nowMs = performance.now();
    for (const [key, { sinceMs }] of this.#reverted)
      if (nowMs - sinceMs > REVISITED_SEC * 1000) this.#reverted.delete(key);
    const due = [...this.#reverted.values()]
      .filter(({ nextMs }) => nextMs <= nowMs)
      .sort((a, b) => a.nextMs - b.nextMs);
    const found = await Promise.all(
      due.slice(0, LOOKS).map((reverted) => {
        reverted.nextMs =
          nowMs + Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, (nowMs - reverted.sinceMs) / 4));
        return this.#look(reverted.facts);
      }),
    );
    return found.filter((transfer) => transfer !== null);
  }

  async #look(facts: DepositFacts): Promise<Transfer | null> {
    try {
      const transfer = await this.#chain.transferAt(facts.txHash, facts.logIndex);
      if (!transfer || !isSameMoney(facts, depositFactsOf(transfer, this.#chain.settings))) return null;
      const canonical = await this.#chain.blockAt(transfer.block.number);
      return canonical?.hash === transfer.block.hash ? transfer : null;
    } catch (error) {
      if (error instanceof ChainUnavailable) return null;
      throw error;
    }
  }
}
