import { isFinalEnough } from '../../../domain/networks/finality.ts';
import type { DepositFacts, FinalityRule } from '../../../domain/events/session-events.ts';
import { ChainUnavailable, type Block, type Disproof, type Transfer } from '../../../ports/chain/chain.ts';
import { StoreUnavailable } from '../../../ports/event-log/event-store.ts';
import { depositFactsOf, isSameMoney, type ChainView } from './facts.ts';
import { Intake, PER_COMMAND } from './intake.ts';
import { RevertedDeposits } from './reverted.ts';
import { disproofOf, inParallel, isDue, isMoved, NEW, seenBlocks, type SeenBlock, type Tracked } from './tracked.ts';
import type { DepositTrackingDeps, PendingDeposit } from './types.ts';
import { must } from '../../../domain/values/must.ts';

/**
 * Consecutive checks that must show a transfer gone before it is reverted, so that a provider on a short-lived fork
 * cannot undo a payment.
 */
const DISPROOFS_NEEDED = 2;
const DISPUTE_PAUSE_MS = 5_000;
const LONGEST_DOUBT_PAUSE_MS = 60_000;
/** Time limit of one pass. The rest waits for the next pass, so that block data does not get stale. */
const LONGEST_PASS_MS = 1_000;

/** A deposit that is final by its rule, and its transfer. */
interface Final {
  readonly deposit: Tracked;
  readonly transfer: Transfer;
}

/** The deposits that the chain may still revert: seen, waiting for finality, or only recently final. */
export class TrackedDeposits {
  readonly #deps: DepositTrackingDeps;
  readonly #tracked = new Map<string, Tracked>();
  /** What comes in: offered to its session, and kept here if the session keeps it. */
  readonly intake: Intake;
  readonly #reverted: RevertedDeposits;

  constructor(deps: DepositTrackingDeps) {
    this.#deps = deps;
    this.#reverted = new RevertedDeposits(deps.chain);
    this.intake = new Intake(deps, {
      tracked: this.#tracked,
      reverted: this.#reverted,
      revert: (deposit, reason, headNumber) => this.#revert(deposit, reason, headNumber),
    });
  }

  get unsettled(): number {
    let count = this.intake.parked + this.intake.small.size;
    for (const deposit of this.#tracked.values()) if (!deposit.settled) count += 1;
    return count;
  }

  /**
   * The oldest block with a transfer that is not yet final in the event log; infinity if there is none. The durable
   * cursor stays below it, so that a restart reads those blocks again and nothing about them needs to be stored.
   */
  get oldestUndecided(): number {
    let oldest = this.intake.oldestParked?.number ?? Infinity;
    for (const { status, facts, suspect } of this.#tracked.values())
      if (status === 'detected') oldest = Math.min(oldest, facts.blockNumber);
      // If these are taken back, their blocks must be read again afterwards.
      else if (suspect && facts.together) oldest = Math.min(oldest, facts.together.fromBlock);
    return oldest;
  }

  /** The same with transfers that wait to be counted together, which a second reading needs. */
  get oldestUncovered(): number {
    return Math.min(this.oldestUndecided, this.intake.small.oldest);
  }

  /** Adds the deposits that an earlier run left pending. */
  restore(pending: readonly PendingDeposit[], rewound: boolean): void {
    for (const { sessionId, facts, rule, status, revertedForSec } of pending) {
      // For deposits already tracked, memory is more recent than rows that may lag.
      if (this.#tracked.has(facts.depositKey)) continue;
      if (status === 'reverted') {
        // Small transfers are counted again as their blocks are read again.
        if (!facts.together) this.#reverted.add(facts, revertedForSec);
        continue;
      }
      this.#tracked.set(facts.depositKey, { ...NEW, sessionId, facts, rule, status, suspect: rewound, rewound });
    }
  }

  /** Counts small transfers in blocks up to this one, which must be final and read completely. */
  async countSmall(throughBlock: number, headNumber: number): Promise<void> {
    // What no session accepted yet may be such a transfer, too.
    const through = Math.min(throughBlock, (this.intake.oldestParked?.number ?? Infinity) - 1);
    for (const { sessionId, facts } of await this.intake.small.count(through, headNumber))
      this.#tracked.set(facts.depositKey, {
        ...{ ...NEW, sessionId, facts, rule: { kind: 'finalized' }, status: 'final', settled: true },
      });
  }

  /** The oldest block of those counted together of which one is above this height. */
  togetherFrom(blockNumber: number): number {
    let from = Infinity;
    for (const { facts } of this.#tracked.values())
      if (facts.together && facts.blockNumber > blockNumber) from = Math.min(from, facts.together.fromBlock);
    return from;
  }

  /** The chain dropped the blocks above this height: every deposit there must be confirmed again. */
  suspectAbove(blockNumber: number, rewound: boolean): void {
    for (const deposit of this.#tracked.values()) {
      if (deposit.facts.blockNumber <= blockNumber) continue;
      deposit.suspect = true;
      deposit.rewound ||= rewound;
    }
    this.intake.dropAbove(blockNumber);
  }

  /** Deposits in these blocks that are missing from `keys`, without suspects, which are in doubt anyway. */
  missingIn(fromBlock: number, toBlock: number, keys: ReadonlySet<string>): DepositFacts[] {
    const missing: DepositFacts[] = [];
    for (const { facts, suspect } of this.#tracked.values()) {
      if (facts.together) continue;
      if (!suspect && facts.blockNumber >= fromBlock && facts.blockNumber <= toBlock && !keys.has(facts.depositKey))
        missing.push(facts);
    }
    return missing;
  }

  suspect(depositKey: string): void {
    const deposit = this.#tracked.get(depositKey);
    if (deposit) deposit.suspect = true;
  }

  /** Forgets settled deposits in blocks below. */
  forgetBelow(blockNumber: number): void {
    for (const [key, { settled, suspect, facts }] of this.#tracked)
      if (settled && !suspect && facts.blockNumber < blockNumber) this.#tracked.delete(key);
  }

  /**
   * Confirms deposits that became final, reverts those that the chain shows to be gone, and restores those that it
   * contains after all. Confirmed deposits are checked again at the chain's own finality.
   */
  async settle(view: ChainView): Promise<void> {
    await inParallel(await this.#reverted.foundAgain(), (transfer) => this.intake.takeBack(transfer));
    const nowMs = performance.now();
    const due = [...this.#tracked.values()].filter((deposit) => isDue(deposit, view, nowMs));
    const blocks = seenBlocks(due);
    const untilMs = nowMs + LONGEST_PASS_MS;
    const final: Final[] = [];
    await inParallel(due, async (deposit) => {
      if (performance.now() > untilMs) return;
      await this.#orLater([deposit], async () => {
        const transfer = await this.#examine(deposit, view, blocks);
        if (transfer) final.push({ deposit, transfer });
      });
    });
    await inParallel([...Map.groupBy(final, ({ deposit }) => deposit.sessionId).values()], async (of) => {
      for (let at = 0; at < of.length; at += PER_COMMAND) await this.#confirm(of.slice(at, at + PER_COMMAND), view);
    });
  }

  /** Deposits that the providers dispute, or that their session refuses, must not block the others. */
  async #orLater(deposits: readonly Tracked[], task: () => Promise<void>): Promise<void> {
    try {
      await task();
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      const kind = error instanceof ChainUnavailable ? 'disputed' : 'parked';
      for (const deposit of deposits) {
        const { sessionId, facts } = deposit;
        deposit.notBeforeMs = performance.now() + DISPUTE_PAUSE_MS;
        this.#deps.observer?.onAnomaly?.({ kind, sessionId, depositKey: facts.depositKey, error });
      }
    }
  }

  /** Fetched once for all transfers of the block, and again after a failure. */
  #canonicalOf(seen: SeenBlock, blockNumber: number): Promise<Block | null> {
    seen.canonical ??= this.#deps.chain.blockAt(blockNumber).catch((error: unknown) => {
      seen.canonical = null;
      throw error;
    });
    return seen.canonical;
  }

  /** Returns the transfer of a deposit that has become final. */
  async #examine(deposit: Tracked, view: ChainView, blocks: ReadonlyMap<number, SeenBlock>): Promise<Transfer | null> {
    const { chain } = this.#deps;
    const { txHash, logIndex, blockNumber, together } = deposit.facts;
    const seen = must(blocks.get(blockNumber));
    if (together) return this.#examineTogether(deposit, view, seen);
    const transfer = await chain.transferAt(txHash, logIndex, seen.look);
    const facts = transfer && depositFactsOf(transfer, chain.settings);
    if (!transfer || !facts || !isSameMoney(facts, deposit.facts)) return this.#examineAbsent(deposit, view);
    const isWhereItWas = facts.blockNumber === blockNumber;
    const canonical = await (isWhereItWas ? this.#canonicalOf(seen, blockNumber) : chain.blockAt(facts.blockNumber));
    // Two providers are on different forks: wait until they agree.
    if (canonical?.hash !== facts.blockHash) return null;
    if (isMoved(deposit, facts) && (await this.#deps.deposits.move(deposit.sessionId, facts, view.headNumber)))
      deposit.status = 'detected';
    Object.assign(deposit, { facts, suspect: false, rewound: false, disproofs: 0, doubts: 0 });
    if (deposit.status === 'detected') return (await this.#isFinal(transfer, deposit.rule, view)) ? transfer : null;
    deposit.settled = await this.#isFinal(transfer, { kind: 'finalized' }, view);
    return null;
  }

  /** A block stands for all before it, so that the newest one tells of every transfer that was counted. */
  async #examineTogether(deposit: Tracked, view: ChainView, seen: SeenBlock): Promise<null> {
    const { blockNumber, blockHash } = deposit.facts;
    const canonical = await this.#canonicalOf(seen, blockNumber);
    if (canonical?.hash === blockHash) {
      const settled = blockNumber <= view.finalizedNumber;
      Object.assign(deposit, { suspect: false, rewound: false, disproofs: 0, doubts: 0, settled });
    } else if (canonical && deposit.disprovedIn !== view.look && !this.#deps.finalIsForever)
      await this.#disproved(deposit, 'reorg', view);
    return null;
  }

  /** The view comes from one provider. For a large amount, another one must have reached the same height. */
  async #isFinal(transfer: Transfer, rule: FinalityRule, view: ChainView): Promise<boolean> {
    return isFinalEnough(rule, transfer.block.number, view) && this.#deps.chain.agreeOnFinality(transfer, rule);
  }

  /** Final deposits of one session. */
  #confirm(final: readonly Final[], view: ChainView): Promise<void> {
    const { headNumber } = view;
    const deposits = final.map(({ deposit }) => deposit);
    return this.#orLater(deposits, async () => {
      const data = deposits.map(({ rule, facts: { depositKey, blockNumber, blockHash, blockTimeSec } }) => ({
        ...{ depositKey, rule, blockNumber, blockHash, blockTimeSec, headNumber },
      }));
      const { sessionId, facts } = must(deposits[0]);
      await this.#deps.deposits.confirm(sessionId, data, facts.network);
      for (const { deposit, transfer } of final) {
        deposit.status = 'final';
        deposit.settled = await this.#isFinal(transfer, { kind: 'finalized' }, view);
      }
    });
  }

  async #examineAbsent(deposit: Tracked, view: ChainView): Promise<null> {
    const { sessionId } = deposit;
    const { depositKey, blockNumber } = deposit.facts;
    // Blocks that do not exist yet or were not read may contain it. So may blocks of a chain that is not as deep as
    // when the transfer was last judged.
    if (
      view.headNumber < blockNumber ||
      !view.isReadToHead ||
      (deposit.status === 'final' && !isFinalEnough(deposit.rule, blockNumber, view))
    )
      return null;
    deposit.suspect = true;
    if (deposit.disprovedIn === view.look) return null;
    const reason = await disproofOf(this.#deps, deposit);
    if (reason !== null) return this.#disproved(deposit, reason, view);
    deposit.disproofs = 0;
    deposit.notBeforeMs =
      performance.now() + Math.min(LONGEST_DOUBT_PAUSE_MS, DISPUTE_PAUSE_MS * 2 ** Math.min(deposit.doubts, 8));
    deposit.doubts += 1;
    this.#deps.observer?.onAnomaly?.({ kind: 'withheld', sessionId, depositKey });
    return null;
  }

  async #disproved(deposit: Tracked, reason: Disproof, view: ChainView): Promise<null> {
    const { sessionId, facts } = deposit;
    deposit.disproofs += 1;
    deposit.disprovedIn = view.look;
    if (deposit.disproofs < DISPROOFS_NEEDED) return null;
    if (deposit.rewound && deposit.status === 'final') {
      this.#tracked.delete(facts.depositKey);
      this.#deps.observer?.onAnomaly?.({ kind: 'kept-final', sessionId, depositKey: facts.depositKey });
      return null;
    }
    await this.#revert(deposit, reason, view.headNumber);
    return null;
  }

  async #revert({ sessionId, facts, status }: Tracked, reason: Disproof, headNumber: number): Promise<void> {
    const { depositKey, network } = facts;
    await this.#deps.deposits.revert(sessionId, { depositKey, reason, headNumber }, network);
    this.#tracked.delete(depositKey);
    if (!facts.together) this.#reverted.add(facts);
    this.#deps.observer?.onReverted?.({ sessionId, depositKey, afterFinal: status === 'final' });
  }
}
