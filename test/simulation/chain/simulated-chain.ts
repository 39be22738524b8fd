import { hash } from 'node:crypto';
import type { Prng } from '../time/prng.ts';
import type { Scheduler } from '../time/scheduler.ts';
import {
  ZERO_ACCOUNT,
  type ChainBlock,
  type ChainView,
  type Executed,
  type Included,
  type Movement,
  type PoolTransaction,
} from './block.ts';

export interface ChainOptions {
  readonly name: string;
  readonly chainId: string;
  readonly blockSec: number;
  /** Blocks behind the head that are final. */
  readonly finality: number;
  /** Token contracts. */
  readonly tokens: readonly string[];
  /** What a unit of computing costs as long as nothing happens. */
  readonly usualPrice: bigint;
  /** Of the slots, how many have no block. */
  readonly skips: number;
}

const BLOCK_TRANSACTIONS = 200;
/** How far back a provider can lag. */
const HISTORY = 2_000;

/** What every chain of blocks has: accounts with balances, a pool of what waits, and forks. */
export abstract class SimulatedChain<Signed = unknown, Receipt = unknown> {
  readonly options: ChainOptions;
  price: bigint;
  /** To which it comes back. */
  lastingPrice: bigint;
  /** Whether blocks come. */
  isHalted = false;
  isPaused = false;
  readonly frozen = new Set<string>();
  /** Accounts with code beside the tokens. */
  readonly contracts = new Set<string>();
  readonly pool = new Map<string, PoolTransaction<Signed>>();
  /** Every transaction of an account of ours that a node ever took, by hash. */
  readonly submitted = new Map<string, PoolTransaction<Signed>>();
  /** Told of each transaction of an account of ours that a node takes. */
  readonly onSubmitted: ((transaction: PoolTransaction<unknown>) => void)[] = [];
  /** Payments that any block ever took. */
  paymentsLanded = 0;
  /** Told of each question that a provider is asked. */
  readonly onAsked: ((call: string, provider: object) => void)[] = [];
  readonly #scheduler: Scheduler;
  readonly #prng: Prng;
  #branch: ChainBlock<Signed, Receipt>[] = [];
  #history: { readonly atMs: number; readonly view: ChainView<ChainBlock<Signed, Receipt>> }[] = [];
  /** By key: at which heights any branch changed it, ascending. */
  readonly #touched = new Map<string, number[]>();
  readonly #blocksOf = new Map<string, ChainBlock<Signed, Receipt>[]>();
  #made = 0;

  constructor(options: ChainOptions, scheduler: Scheduler, prng: Prng) {
    this.options = options;
    this.price = options.usualPrice;
    this.lastingPrice = options.usualPrice;
    this.#scheduler = scheduler;
    this.#prng = prng;
    for (let block = 0; block <= options.finality + 2; block += 1)
      this.#mine(Math.floor(scheduler.nowMs / 1000 - (options.finality + 2 - block) * options.blockSec));
    scheduler.after(options.blockSec * 1000, null, () => this.#tick());
  }

  /** Digits that nothing had before, in the form of the chain's hashes. */
  protected abstract hashOf(digits: string): string;
  protected abstract blockHashOf(digits: string, number: number): string;
  /** The order in which a producer takes what accounts of ours handed in. */
  protected abstract inOrder(own: readonly PoolTransaction<Signed>[]): readonly PoolTransaction<Signed>[];
  /**
   * What it does and costs; null when the block cannot hold it (yet). Sets what its account holds then; its movements
   * are its business only where it says that it moved them.
   */
  protected abstract execute(
    transaction: PoolTransaction<Signed>,
    signed: Signed,
    block: ChainBlock<Signed, Receipt>,
  ): Executed<Receipt> | null;
  /** Of those for whom the model keeps no account of fees. */
  protected abstract executePayment(
    transaction: PoolTransaction<Signed>,
    block: ChainBlock<Signed, Receipt>,
  ): Executed<Receipt>;
  /** Of what a transaction moved, behind so many logs in its block. */
  protected abstract logIndexes(movements: readonly Movement[], receipt: Receipt, logsBefore: number): number[];
  /** When a block is made that takes the place of another one. */
  protected abstract remadeSec(timeSec: number): number;
  /** Whether no block can ever hold it. */
  protected abstract hasEnded(signed: Signed, parent: ChainBlock<Signed, Receipt>): boolean;

  get view(): ChainView<ChainBlock<Signed, Receipt>> {
    return { branch: this.#branch, height: this.#branch.length - 1 };
  }

  /** What somebody saw who is so far behind. */
  viewBefore(lagMs: number): ChainView<ChainBlock<Signed, Receipt>> {
    const atMs = this.#scheduler.nowMs - lagMs;
    return (
      (lagMs > 0 && this.#history.findLast((entry) => entry.atMs <= atMs)?.view) ||
      (lagMs > 0 ? this.#history[0]!.view : this.view)
    );
  }

  finalizedIn({ height }: { readonly height: number }): number {
    return Math.max(0, height - this.options.finality);
  }

  /** Of a balance (`token/account`, `native/account`) or whatever else the chain keeps of an account. */
  valueAt(key: string, { branch, height }: ChainView<ChainBlock<Signed, Receipt>>): bigint {
    const heights = this.#touched.get(key) ?? [];
    for (let at = heights.length - 1; at >= 0; at -= 1) {
      const value = heights[at]! <= height ? branch[heights[at]!]?.changes.get(key) : undefined;
      if (value !== undefined) return value;
    }
    return 0n;
  }

  blockOf(
    txHash: string,
    { branch, height }: ChainView<ChainBlock<Signed, Receipt>>,
  ): ChainBlock<Signed, Receipt> | null {
    return (
      this.#blocksOf.get(txHash)?.find((block) => block.number <= height && branch[block.number] === block) ?? null
    );
  }

  /** Whether a block of this hash, on any branch, held the transaction. */
  everHeld(txHash: string, blockHash: string): boolean {
    return this.#blocksOf.get(txHash)?.some(({ hash: held }) => held === blockHash) ?? false;
  }

  /** A transfer of somebody whose account is no concern of this model. Answers its hash. */
  pay(movement: Omit<Movement, 'kind'>): string {
    return this.#add('payment', { kind: 'transfer', ...movement });
  }

  /** Money from outside, such as the operator's funding. */
  give(account: string, asset: string, units: bigint): string {
    return this.#add('funding', { kind: 'mint', asset, from: ZERO_ACCOUNT, to: account, units });
  }

  #add(what: string, movement: Movement): string {
    const txHash = this.hashOf(this.#newDigits(what));
    this.pool.set(txHash, { txHash, signed: null, movements: [movement] });
    return txHash;
  }

  /** Nodes have taken it. */
  protected take(transaction: PoolTransaction<Signed>): string {
    const { txHash } = transaction;
    this.pool.set(txHash, transaction);
    this.submitted.set(txHash, transaction);
    for (const listener of this.onSubmitted) listener(transaction);
    return txHash;
  }

  /** Whom the chain names as the payer of a movement. */
  payerOf({ from }: Movement, _txHash: string): string {
    return from;
  }

  protected isKnown(txHash: string): boolean {
    return this.pool.has(txHash) || this.blockOf(txHash, this.view) !== null;
  }

  /** Nodes forget what waits; what was handed in again comes back. */
  forgetPool(isForgotten: (transaction: PoolTransaction<Signed>) => boolean): void {
    for (const transaction of [...this.pool.values()])
      if (isForgotten(transaction)) this.pool.delete(transaction.txHash);
  }

  /**
   * The newest blocks are replaced by one more than there were. `isLost`: a payment that does not come again. With
   * `laterSec` the others come back after that time, and what accounts of ours sent must be handed in again.
   */
  reorganise(depth: number, isLost: (transaction: PoolTransaction<Signed>) => boolean, laterSec = 0): void {
    const kept = Math.max(this.finalizedIn(this.view) + 1, this.#branch.length - depth);
    const dropped = this.#branch.slice(kept);
    if (dropped.length === 0) return;
    this.#branch = this.#branch.slice(0, kept);
    for (const { transaction } of dropped.flatMap(({ included }) => included)) {
      const isOwn = transaction.signed !== null;
      if (!isOwn && !isFunding(transaction) && isLost(transaction)) continue;
      const comesBack = (): unknown => this.pool.set(transaction.txHash, transaction);
      if (laterSec === 0 || isFunding(transaction)) comesBack();
      else if (!isOwn) this.#scheduler.after(laterSec * 1000, null, comesBack);
    }
    for (const block of dropped) this.#mine(this.remadeSec(block.timeSec));
    this.#mine(Math.floor(this.#scheduler.nowMs / 1000));
  }

  /** Whether a transfer would succeed now, for whoever estimates and for whoever executes. */
  wouldSucceed({ asset, from, to, units }: Movement): boolean {
    if (this.isPaused || this.frozen.has(from) || this.frozen.has(to) || !this.options.tokens.includes(asset))
      return false;
    return this.valueAt(`${asset}/${from}`, this.view) >= units;
  }

  protected set(key: string, value: bigint, block: ChainBlock<Signed, Receipt>): void {
    block.changes.set(key, value);
    const heights = this.#touched.get(key) ?? [];
    if (!heights.includes(block.number))
      this.#touched.set(
        key,
        [...heights, block.number].sort((one, other) => one - other),
      );
  }

  #tick(): void {
    if (!this.isHalted) this.#mine(Math.floor(this.#scheduler.nowMs / 1000));
    const missed = this.#prng.chance(0.02) ? 1 : 0;
    this.#scheduler.after(this.options.blockSec * 1000 * (1 + missed), null, () => this.#tick());
  }

  #mine(timeSec: number): void {
    const number = this.#branch.length;
    const parent = this.#branch.at(-1);
    const included: Included<Signed, Receipt>[] = [];
    const block: ChainBlock<Signed, Receipt> = {
      number,
      hash: this.blockHashOf(this.#newDigits('block'), number),
      parentHash: parent?.hash ?? this.hashOf('0'.repeat(64)),
      isSkipped: this.options.skips > 0 && this.#prng.chance(this.options.skips),
      timeSec: Math.max(timeSec, (parent?.timeSec ?? -Infinity) + this.#leastGapSec),
      minedMs: this.#scheduler.nowMs,
      price: this.price,
      included,
      changes: new Map(),
    };
    if (parent) this.forgetPool(({ signed }) => signed !== null && this.hasEnded(signed, parent));
    this.#branch.push(block);
    let logs = 0;
    for (const transaction of block.isSkipped ? [] : this.#ready()) {
      if (included.length >= BLOCK_TRANSACTIONS) break;
      const done = this.#include(transaction, block, logs);
      if (!done) continue;
      logs += done.movements.length;
      included.push(done);
      if (transaction.signed === null && !isFunding(transaction)) this.paymentsLanded += 1;
      this.pool.delete(transaction.txHash);
      this.#blocksOf.set(transaction.txHash, [...(this.#blocksOf.get(transaction.txHash) ?? []), block]);
    }
    this.#history.push({ atMs: this.#scheduler.nowMs, view: this.view });
    if (this.#history.length > HISTORY) this.#history = this.#history.slice(HISTORY / 2);
  }

  /** In the order in which a producer takes them: payments as they came, then those of accounts of ours. */
  #ready(): PoolTransaction<Signed>[] {
    const payments = [...this.pool.values()].filter(({ signed }) => signed === null);
    const own = this.inOrder([...this.pool.values()].filter(({ signed }) => signed !== null));
    // A reorganised block holds its payments in another order, and so under other log indexes.
    return [...(this.#prng.chance(0.3) ? payments.reverse() : payments), ...own];
  }

  /** Null when the block cannot hold it (yet). */
  #include(
    transaction: PoolTransaction<Signed>,
    block: ChainBlock<Signed, Receipt>,
    logs: number,
  ): Included<Signed, Receipt> | null {
    const { signed, movements } = transaction;
    const done = signed === null ? this.executePayment(transaction, block) : this.execute(transaction, signed, block);
    if (!done) return null;
    const took = done.succeeded ? movements : [];
    if (!done.hasMoved) for (const movement of took) if (movement.units > 0n) this.#move(movement, block);
    const tokens = took.filter(({ asset }) => asset !== 'native');
    return { transaction, ...done, movements: tokens, logIndexes: this.logIndexes(tokens, done.receipt, logs) };
  }

  #move({ kind, asset, from, to, units }: Movement, block: ChainBlock<Signed, Receipt>): void {
    // What payers hold is no concern of this model: only accounts that were given something can run out.
    if (kind === 'transfer' && this.#touched.has(`${asset}/${from}`))
      this.set(`${asset}/${from}`, most(0n, this.valueAt(`${asset}/${from}`, this.view) - units), block);
    this.set(`${asset}/${to}`, this.valueAt(`${asset}/${to}`, this.view) + units, block);
  }

  /** Blocks that come faster than seconds share them. */
  get #leastGapSec(): number {
    return this.options.blockSec < 1 ? 0 : 1;
  }

  #newDigits(what: string): string {
    this.#made += 1;
    return hash('sha256', `${this.options.name} ${what} ${this.#made} ${this.#prng.uint32()}`);
  }
}

/** What the operator brought is brought again. */
const isFunding = ({ movements }: PoolTransaction<unknown>): boolean => movements.some(({ kind }) => kind === 'mint');
const most = (one: bigint, other: bigint): bigint => (one > other ? one : other);
export const least = (one: bigint, other: bigint): bigint => (one < other ? one : other);
