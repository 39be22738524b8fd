import type { DepositFacts, FinalityRule } from '../../../domain/events/session-events.ts';
import { isFinalEnough } from '../../../domain/networks/finality.ts';
import type { SessionId } from '../../../domain/values/ids.ts';
import {
  ChainUnavailable,
  type Block,
  type BlockLook,
  type Disproof,
  type Transfer,
} from '../../../ports/chain/chain.ts';
import { StoreUnavailable } from '../../../ports/event-log/event-store.ts';
import { depositFactsOf, isSameMoney, type ChainView } from './facts.ts';
import { RevertedDeposits } from './reverted.ts';
import type { DepositTrackingDeps, PendingDeposit } from './types.ts';
import { must } from '../../../domain/values/must.ts';

interface Tracked {
  readonly sessionId: SessionId;
  /** Updated when the transfer moves to another block. */
  facts: DepositFacts;
  readonly rule: FinalityRule;
  status: 'detected' | 'final';
  /**
   * The chain itself finalised its block after the confirmation. Only a reorganisation beyond finality makes it
   * unsettled again.
   */
  settled: boolean;
  /** Its block left the chain: check it at once. */
  suspect: boolean;
  /** Sandbox: the chain was rewound, so losing this deposit raises no alarm. */
  rewound: boolean;
  /** Consecutive checks in which the chain showed that it cannot contain the transfer. */
  disproofs: number;
  /** The check in which that was last shown. */
  disprovedIn: number | null;
  /** Consecutive checks in which the transfer was missing although nothing on the chain explains it. */
  doubts: number;
  /** Not checked before this time (`performance.now()`), because its providers disagreed or its session refused it. */
  notBeforeMs: number;
}

const NEW = {
  settled: false,
  suspect: false,
  rewound: false,
  disproofs: 0,
  disprovedIn: null,
  doubts: 0,
  notBeforeMs: 0,
} as const;

/**
 * Consecutive checks that must show a transfer gone before it is reverted, so that a provider on a short-lived fork
 * cannot undo a payment.
 */
const DISPROOFS_NEEDED = 2;
const DISPUTE_PAUSE_MS = 5_000;
const LONGEST_DOUBT_PAUSE_MS = 60_000;
/** Number of concurrent commands and look-ups, which share the cost of a commit. */
const CONCURRENCY = 128;
/** From this many transfers in one block, the whole block is read. */
const WHOLE_BLOCK_FROM = 4;
/** Time limit of one pass. The rest waits for the next pass, so that block data does not get stale. */
const LONGEST_PASS_MS = 1_000;

/** A block during one pass, read once for all its transfers. */
interface SeenBlock {
  readonly look: BlockLook | undefined;
  canonical: Promise<Block | null> | null;
}

/** The deposits that the chain may still revert: seen, waiting for finality, or only recently final. */
export class TrackedDeposits {
  readonly #deps: DepositTrackingDeps;
  readonly #tracked = new Map<string, Tracked>();
  /** Transfers whose command failed for a reason of its own. */
  readonly #parked = new Map<string, Transfer>();
  readonly #reverted: RevertedDeposits;

  constructor(deps: DepositTrackingDeps) {
    this.#deps = deps;
    this.#reverted = new RevertedDeposits(deps.chain);
  }

  get unsettled(): number {
    let count = this.#parked.size;
    for (const deposit of this.#tracked.values()) if (!deposit.settled) count += 1;
    return count;
  }

  /**
   * The oldest block with a transfer that is not yet final in the event log; infinity if there is none. The durable
   * cursor stays below it, so that a restart reads those blocks again and nothing about them needs to be stored.
   */
  get oldestUndecided(): number {
    let oldest = this.oldestParked?.number ?? Infinity;
    for (const { status, facts } of this.#tracked.values())
      if (status === 'detected') oldest = Math.min(oldest, facts.blockNumber);
    return oldest;
  }

  /** The oldest block with a transfer that no session has accepted yet. */
  get oldestParked(): Transfer['block'] | null {
    return [...this.#parked.values()].map(({ block }) => block).sort((a, b) => a.number - b.number)[0] ?? null;
  }

  /** Adds the deposits that an earlier run left pending. */
  restore(pending: readonly PendingDeposit[], rewound: boolean): void {
    for (const { sessionId, facts, rule, status, revertedForSec } of pending) {
      // For deposits already tracked, memory is more recent than rows that may lag.
      if (this.#tracked.has(facts.depositKey)) continue;
      if (status === 'reverted') this.#reverted.add(facts, revertedForSec);
      else this.#tracked.set(facts.depositKey, { ...NEW, sessionId, facts, rule, status, suspect: rewound, rewound });
    }
  }

  /** Resolves once every transfer is accepted by its session, or parked. Returns the keys that are new to this run. */
  async observe(transfers: readonly Transfer[]): Promise<string[]> {
    const fresh: string[] = [];
    await inParallel([...this.#parked.values(), ...transfers], async (transfer) => {
      const facts = depositFactsOf(transfer, this.#deps.chain.settings);
      try {
        if (await this.#observeOne(facts)) fresh.push(facts.depositKey);
        this.#parked.delete(facts.depositKey);
      } catch (error) {
        if (error instanceof StoreUnavailable) throw error;
        if (!this.#parked.has(facts.depositKey)) this.#tellParked(facts, error);
        this.#parked.set(facts.depositKey, transfer);
      }
    });
    return fresh;
  }

  async #observeOne(facts: DepositFacts): Promise<boolean> {
    const known = this.#tracked.get(facts.depositKey);
    if (known && isSameMoney(known.facts, facts)) {
      // Records its current block. A suspect stays one until its transfer has been read again.
      if (isMoved(known, facts)) known.suspect = true;
      else known.facts = facts;
      return false;
    }
    const sessionId = this.#deps.addresses.sessionOf(facts.toAddress);
    if (sessionId === null) return false;
    if (known) {
      const reason = await this.#disproofOf(known);
      if (reason === null)
        throw new Error(
          `${facts.depositKey} is reported as different money than recorded, although nothing shows the recorded money to be gone`,
        );
      await this.#revert(known, reason, facts.blockNumber);
    }
    await this.#deps.deposits.record(sessionId, facts);
    this.#reverted.delete(facts.depositKey);
    const rule = await this.#deps.finalityRuleOf(sessionId, facts.network);
    this.#tracked.set(facts.depositKey, { ...NEW, sessionId, facts, rule, status: 'detected' });
    return true;
  }

  /** The chain dropped the blocks above this height: every deposit there must be confirmed again. */
  suspectAbove(blockNumber: number, rewound: boolean): void {
    for (const deposit of this.#tracked.values()) {
      if (deposit.facts.blockNumber <= blockNumber) continue;
      deposit.suspect = true;
      deposit.rewound ||= rewound;
    }
    for (const [key, { block }] of this.#parked) if (block.number > blockNumber) this.#parked.delete(key);
  }

  /** Deposits in these blocks that are missing from `keys`, without suspects, which are in doubt anyway. */
  missingIn(fromBlock: number, toBlock: number, keys: ReadonlySet<string>): DepositFacts[] {
    const missing: DepositFacts[] = [];
    for (const { facts, suspect } of this.#tracked.values()) {
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
    await inParallel(await this.#reverted.foundAgain(), (transfer) => this.#takeBack(transfer));
    const nowMs = performance.now();
    const due = [...this.#tracked.values()].filter((deposit) => isDue(deposit, view, nowMs));
    const blocks = seenBlocks(due);
    const untilMs = nowMs + LONGEST_PASS_MS;
    await inParallel(due, async (deposit) => {
      if (performance.now() > untilMs) return;
      try {
        await this.#examine(deposit, view, blocks);
      } catch (error) {
        // A transfer that the providers dispute, or that its session refuses, must not block the others.
        if (error instanceof StoreUnavailable) throw error;
        deposit.notBeforeMs = performance.now() + DISPUTE_PAUSE_MS;
        const kind = error instanceof ChainUnavailable ? 'disputed' : 'parked';
        const { sessionId, facts } = deposit;
        this.#deps.observer?.onAnomaly?.({ kind, sessionId, depositKey: facts.depositKey, error });
      }
    });
  }

  /** Fetched once for all transfers of the block, and again after a failure. */
  #canonicalOf(seen: SeenBlock, blockNumber: number): Promise<Block | null> {
    seen.canonical ??= this.#deps.chain.blockAt(blockNumber).catch((error: unknown) => {
      seen.canonical = null;
      throw error;
    });
    return seen.canonical;
  }

  async #examine(deposit: Tracked, view: ChainView, blocks: ReadonlyMap<number, SeenBlock>): Promise<void> {
    const { chain } = this.#deps;
    const { txHash, logIndex, blockNumber } = deposit.facts;
    const seen = must(blocks.get(blockNumber));
    const transfer = await chain.transferAt(txHash, logIndex, seen.look);
    const facts = transfer && depositFactsOf(transfer, chain.settings);
    if (!transfer || !facts || !isSameMoney(facts, deposit.facts)) return this.#examineAbsent(deposit, view);
    const isWhereItWas = facts.blockNumber === blockNumber;
    const canonical = await (isWhereItWas ? this.#canonicalOf(seen, blockNumber) : chain.blockAt(facts.blockNumber));
    // Two providers are on different forks: wait until they agree.
    if (canonical?.hash !== facts.blockHash) return;
    if (isMoved(deposit, facts) && (await this.#deps.deposits.move(deposit.sessionId, facts, view.headNumber)))
      deposit.status = 'detected';
    Object.assign(deposit, { facts, suspect: false, rewound: false, disproofs: 0, doubts: 0 });
    if (deposit.status === 'detected' && (await this.#isFinal(transfer, deposit.rule, view)))
      await this.#confirm(deposit, view);
    deposit.settled = deposit.status === 'final' && (await this.#isFinal(transfer, { kind: 'finalized' }, view));
  }

  /** The view comes from one provider. For a large amount, another one must have reached the same height. */
  async #isFinal(transfer: Transfer, rule: FinalityRule, view: ChainView): Promise<boolean> {
    return isFinalEnough(rule, transfer.block.number, view) && this.#deps.chain.agreeOnFinality(transfer, rule);
  }

  async #confirm(deposit: Tracked, view: ChainView): Promise<void> {
    const { depositKey, blockNumber, blockHash, blockTimeSec, network } = deposit.facts;
    const data = { depositKey, rule: deposit.rule, blockNumber, blockHash, blockTimeSec, headNumber: view.headNumber };
    await this.#deps.deposits.confirm(deposit.sessionId, data, network);
    deposit.status = 'final';
  }

  async #examineAbsent(deposit: Tracked, view: ChainView): Promise<void> {
    const { sessionId } = deposit;
    const { depositKey, blockNumber } = deposit.facts;
    // Blocks that do not exist yet or were not read may contain it. So may blocks of a chain that is not as deep as
    // when the transfer was last judged.
    if (
      view.headNumber < blockNumber ||
      !view.isReadToHead ||
      (deposit.status === 'final' && !isFinalEnough(deposit.rule, blockNumber, view))
    )
      return;
    deposit.suspect = true;
    if (deposit.disprovedIn === view.look) return;
    const reason = await this.#disproofOf(deposit);
    if (reason === null) {
      deposit.disproofs = 0;
      deposit.notBeforeMs =
        performance.now() + Math.min(LONGEST_DOUBT_PAUSE_MS, DISPUTE_PAUSE_MS * 2 ** Math.min(deposit.doubts, 8));
      deposit.doubts += 1;
      this.#deps.observer?.onAnomaly?.({ kind: 'withheld', sessionId, depositKey });
      return;
    }
    deposit.disproofs += 1;
    deposit.disprovedIn = view.look;
    if (deposit.disproofs < DISPROOFS_NEEDED) return;
    if (deposit.rewound && deposit.status === 'final') {
      this.#tracked.delete(depositKey);
      this.#deps.observer?.onAnomaly?.({ kind: 'kept-final', sessionId, depositKey });
      return;
    }
    await this.#revert(deposit, reason, view.headNumber);
  }

  async #disproofOf({ status, facts }: Tracked): Promise<Disproof | null> {
    return status === 'final' && this.#deps.finalIsForever ? null : this.#deps.chain.disprove(facts);
  }

  async #revert({ sessionId, facts, status }: Tracked, reason: Disproof, headNumber: number): Promise<void> {
    const { depositKey, network } = facts;
    await this.#deps.deposits.revert(sessionId, { depositKey, reason, headNumber }, network);
    this.#tracked.delete(depositKey);
    this.#reverted.add(facts);
    this.#deps.observer?.onReverted?.({ sessionId, depositKey, afterFinal: status === 'final' });
  }

  /** Restores a reverted deposit. If its session refuses, nothing waits for it; it is tried again later. */
  async #takeBack(transfer: Transfer): Promise<void> {
    const facts = depositFactsOf(transfer, this.#deps.chain.settings);
    const { depositKey, toAddress } = facts;
    const sessionId = this.#deps.addresses.sessionOf(toAddress);
    try {
      if (await this.#observeOne(facts)) this.#deps.observer?.onAnomaly?.({ kind: 'returned', sessionId, depositKey });
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

/** Whether it is in another block than recorded, where it may count differently. */
const isMoved = ({ status, facts }: Tracked, now: DepositFacts): boolean =>
  status === 'final' && facts.blockHash !== now.blockHash;

function isDue(
  { suspect, settled, status, rule, facts, notBeforeMs }: Tracked,
  view: ChainView,
  nowMs: number,
): boolean {
  if (nowMs < notBeforeMs) return false;
  if (suspect) return true;
  if (settled) return false;
  return status === 'detected'
    ? isFinalEnough(rule, facts.blockNumber, view)
    : facts.blockNumber <= view.finalizedNumber;
}

function seenBlocks(due: readonly Tracked[]): Map<number, SeenBlock> {
  const counts = new Map<number, number>();
  for (const { facts } of due) counts.set(facts.blockNumber, (counts.get(facts.blockNumber) ?? 0) + 1);
  return new Map(
    [...counts].map(([blockNumber, count]) => [
      blockNumber,
      { look: count < WHOLE_BLOCK_FROM ? undefined : { blockNumber }, canonical: null },
    ]),
  );
}

/**
 * Runs the tasks in list order with bounded concurrency. Rejects once the tasks that started alongside the failed one
 * have ended.
 */
async function inParallel<Item>(items: readonly Item[], task: (item: Item) => Promise<void>): Promise<void> {
  for (let at = 0; at < items.length; at += CONCURRENCY) {
    const results = await Promise.allSettled(items.slice(at, at + CONCURRENCY).map(task));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
  }
}
