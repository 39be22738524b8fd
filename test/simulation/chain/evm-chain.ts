import { hash } from 'node:crypto';
import { getAddress, Transaction } from 'ethers';
import type { Prng } from '../time/prng.ts';
import type { Scheduler } from '../time/scheduler.ts';
import { TRANSFER_CALL, type Movement, type PoolTransaction, type Included, type EvmBlock } from './evm-block.ts';

export interface EvmChainOptions {
  readonly name: string;
  readonly chainId: string;
  readonly blockSec: number;
  /** Blocks behind the head that are final. */
  readonly finality: number;
  /** Token contracts in lower case. */
  readonly tokens: readonly string[];
}

/** A head as it was at some moment: what a provider that lags still shows. */
export interface ChainView {
  readonly branch: readonly EvmBlock[];
  readonly height: number;
}

const GWEI = 10n ** 9n;
const TRANSFER_GAS = 52_000n;
const NATIVE_GAS = 21_000n;
const BLOCK_TRANSACTIONS = 200;
/** How far back a provider can lag. */
const HISTORY = 400;

/** An EVM chain: blocks with receipts, accounts with balances and numbers, a pool of what waits, and forks. */
export class EvmChain {
  readonly options: EvmChainOptions;
  baseFee = 10n * GWEI;
  /** Whether blocks come. */
  isHalted = false;
  isPaused = false;
  readonly frozen = new Set<string>();
  /** In lower case: accounts with code. */
  readonly contracts = new Set<string>();
  readonly pool = new Map<string, PoolTransaction>();
  /** Every transaction of an account of ours that a node ever took, by hash. */
  readonly submitted = new Map<string, PoolTransaction>();
  /** Told of each transaction of an account of ours that a node takes. */
  readonly onSubmitted: ((transaction: PoolTransaction) => void)[] = [];
  readonly #scheduler: Scheduler;
  readonly #prng: Prng;
  #branch: EvmBlock[] = [];
  #history: { readonly atMs: number; readonly view: ChainView }[] = [];
  /** By key: at which heights any branch changed it, ascending. */
  readonly #touched = new Map<string, number[]>();
  readonly #blocksOf = new Map<string, EvmBlock[]>();
  #made = 0;

  constructor(options: EvmChainOptions, scheduler: Scheduler, prng: Prng) {
    this.options = options;
    this.#scheduler = scheduler;
    this.#prng = prng;
    for (let block = 0; block <= options.finality + 2; block += 1)
      this.#mine(Math.floor(scheduler.nowMs / 1000) - (options.finality + 2 - block) * options.blockSec);
    scheduler.after(options.blockSec * 1000, null, () => this.#tick());
  }

  get view(): ChainView {
    return { branch: this.#branch, height: this.#branch.length - 1 };
  }

  /** What somebody saw who is so far behind. */
  viewBefore(lagMs: number): ChainView {
    const atMs = this.#scheduler.nowMs - lagMs;
    return (lagMs > 0 && this.#history.findLast((entry) => entry.atMs <= atMs)?.view) || (lagMs > 0 ? this.#history[0]!.view : this.view);
  }

  finalizedIn({ height }: ChainView): number {
    return Math.max(0, height - this.options.finality);
  }

  /** Of a balance (`token/account`, `native/account`) or of an account's number (`nonce/account`). */
  valueAt(key: string, { branch, height }: ChainView): bigint {
    const heights = this.#touched.get(key) ?? [];
    for (let at = heights.length - 1; at >= 0; at -= 1) {
      const value = heights[at]! <= height ? branch[heights[at]!]?.changes.get(key) : undefined;
      if (value !== undefined) return value;
    }
    return 0n;
  }

  blockOf(txHash: string, { branch, height }: ChainView): EvmBlock | null {
    return this.#blocksOf.get(txHash)?.find((block) => block.number <= height && branch[block.number] === block) ?? null;
  }

  /** A transfer of somebody whose account is no concern of this model. Answers its hash. */
  pay(movement: Omit<Movement, 'kind'>): string {
    const txHash = this.#newHash('payment');
    this.pool.set(txHash, { txHash, signed: null, movements: [{ kind: 'transfer', ...movement }], poolMs: this.#scheduler.nowMs });
    return txHash;
  }

  /** Money from outside, such as the operator's funding. */
  give(account: string, asset: string, units: bigint): string {
    const txHash = this.#newHash('funding');
    this.pool.set(txHash, {
      txHash,
      signed: null,
      movements: [{ kind: 'mint', asset, from: ZERO, to: account, units }],
      poolMs: this.#scheduler.nowMs,
    });
    return txHash;
  }

  /** What somebody hands in: taken or refused, as a node does. Throws with the node's words. */
  submit(signedBytes: string): string {
    const signed = Transaction.from(signedBytes);
    const txHash = signed.hash!.toLowerCase();
    if (String(signed.chainId) !== this.options.chainId || signed.from === null) throw new Error('invalid sender');
    if (this.pool.has(txHash) || this.blockOf(txHash, this.view)) throw new Error('already known');
    const account = signed.from.toLowerCase();
    if (BigInt(signed.nonce) < this.valueAt(`nonce/${account}`, this.view)) throw new Error('nonce too low');
    const rival = [...this.pool.values()].find((other) => other.signed?.from === signed.from && other.signed.nonce === signed.nonce);
    if (rival) {
      const dear = (fee: bigint): bigint => (fee * 110n) / 100n;
      if (signed.maxFeePerGas! < dear(rival.signed!.maxFeePerGas!) || signed.maxPriorityFeePerGas! < dear(rival.signed!.maxPriorityFeePerGas!))
        throw new Error('replacement transaction underpriced');
      this.pool.delete(rival.txHash);
    }
    const transaction = { txHash, signed, movements: [], poolMs: this.#scheduler.nowMs };
    this.pool.set(txHash, transaction);
    this.submitted.set(txHash, transaction);
    for (const listener of this.onSubmitted) listener(transaction);
    return txHash;
  }

  /** Nodes forget what waits; what was handed in again comes back. */
  forgetPool(isForgotten: (transaction: PoolTransaction) => boolean): void {
    for (const transaction of [...this.pool.values()]) if (isForgotten(transaction)) this.pool.delete(transaction.txHash);
  }

  /** The newest blocks are replaced by one more than there were. `isLost`: a payment that does not come again. */
  reorganise(depth: number, isLost: (transaction: PoolTransaction) => boolean): void {
    const kept = Math.max(this.finalizedIn(this.view) + 1, this.#branch.length - depth);
    const dropped = this.#branch.slice(kept);
    if (dropped.length === 0) return;
    this.#branch = this.#branch.slice(0, kept);
    for (const { transaction } of dropped.flatMap(({ included }) => included))
      if (transaction.signed !== null || isFunding(transaction) || !isLost(transaction)) this.pool.set(transaction.txHash, transaction);
    for (const block of dropped) this.#mine(block.timeSec);
    this.#mine(Math.floor(this.#scheduler.nowMs / 1000));
  }

  #tick(): void {
    if (!this.isHalted) this.#mine(Math.floor(this.#scheduler.nowMs / 1000));
    const missed = this.#prng.chance(0.02) ? 1 : 0;
    this.#scheduler.after(this.options.blockSec * 1000 * (1 + missed), null, () => this.#tick());
  }

  #mine(timeSec: number): void {
    const number = this.#branch.length;
    const parent = this.#branch.at(-1);
    const block: EvmBlock = {
      ...{ number, hash: this.#newHash('block'), parentHash: parent?.hash ?? `0x${'0'.repeat(64)}` },
      timeSec: Math.max(timeSec, (parent?.timeSec ?? -Infinity) + 1),
      minedMs: this.#scheduler.nowMs,
      baseFee: this.baseFee,
      included: [] as Included[],
      changes: new Map(),
    };
    this.#branch.push(block);
    let logs = 0;
    for (const transaction of this.#ready()) {
      if (block.included.length >= BLOCK_TRANSACTIONS) break;
      const included = this.#execute(transaction, block, logs);
      if (!included) continue;
      logs += included.movements.length;
      (block.included as Included[]).push(included);
      this.pool.delete(transaction.txHash);
      this.#blocksOf.set(transaction.txHash, [...(this.#blocksOf.get(transaction.txHash) ?? []), block]);
    }
    this.#history.push({ atMs: this.#scheduler.nowMs, view: this.view });
    if (this.#history.length > HISTORY) this.#history = this.#history.slice(HISTORY / 2);
  }

  /** In the order in which a producer takes them: payments as they came, an account's own by their numbers. */
  #ready(): PoolTransaction[] {
    const payments = [...this.pool.values()].filter(({ signed, notBeforeMs = 0 }) => signed === null && notBeforeMs <= this.#scheduler.nowMs);
    const own = [...this.pool.values()].filter(({ signed }) => signed !== null).sort((one, other) => one.signed!.nonce - other.signed!.nonce);
    // A reorganised block holds its payments in another order, and so under other log indexes.
    return [...(this.#prng.chance(0.3) ? payments.reverse() : payments), ...own];
  }

  /** Null when the block cannot hold it (yet). */
  #execute(transaction: PoolTransaction, block: EvmBlock, firstLog: number): Included | null {
    const { signed } = transaction;
    if (signed === null) {
      for (const movement of transaction.movements) this.#move(movement, block);
      const movements = transaction.movements.filter(({ kind }) => kind === 'transfer' || kind === 'mint').filter(({ asset }) => asset !== 'native');
      return { transaction, succeeded: true, movements, firstLog, gasUsed: 0n, gasPrice: 0n, from: movements[0]?.from ?? ZERO };
    }
    const account = signed.from!.toLowerCase();
    const isCall = signed.data.startsWith(TRANSFER_CALL);
    const gasUsed = isCall ? TRANSFER_GAS : NATIVE_GAS;
    const held = this.valueAt(`native/${account}`, this.view);
    if (BigInt(signed.nonce) !== this.valueAt(`nonce/${account}`, this.view) || signed.maxFeePerGas! < block.baseFee) return null;
    if (held < signed.gasLimit * signed.maxFeePerGas! + signed.value) return null;
    const tip = least(signed.maxPriorityFeePerGas!, signed.maxFeePerGas! - block.baseFee);
    const gasPrice = block.baseFee + tip;
    this.#set(`nonce/${account}`, BigInt(signed.nonce) + 1n, block);
    this.#set(`native/${account}`, held - gasUsed * gasPrice, block);
    const movement = isCall
      ? tokenTransferOf(signed, account)
      : { kind: 'transfer' as const, asset: 'native', from: account, to: signed.to!.toLowerCase(), units: signed.value };
    const succeeded = !isCall || this.#allows(movement);
    if (succeeded && movement.units > 0n) this.#move(movement, block);
    return { transaction, succeeded, movements: succeeded && isCall ? [movement] : [], firstLog, gasUsed, gasPrice, from: account };
  }

  #allows({ asset, from, to, units }: Movement): boolean {
    if (this.isPaused || this.frozen.has(from) || this.frozen.has(to) || !this.options.tokens.includes(asset)) return false;
    return this.valueAt(`${asset}/${from}`, this.view) >= units;
  }

  /** Whether a transfer would succeed now, for whoever estimates. */
  wouldSucceed(movement: Movement): boolean {
    return this.#allows(movement);
  }

  #move({ kind, asset, from, to, units }: Movement, block: EvmBlock): void {
    // What payers hold is no concern of this model: only accounts that were given something can run out.
    if (kind === 'transfer' && this.#touched.has(`${asset}/${from}`))
      this.#set(`${asset}/${from}`, most(0n, this.valueAt(`${asset}/${from}`, this.view) - units), block);
    this.#set(`${asset}/${to}`, this.valueAt(`${asset}/${to}`, this.view) + units, block);
  }

  #set(key: string, value: bigint, block: EvmBlock): void {
    block.changes.set(key, value);
    const heights = this.#touched.get(key) ?? [];
    if (!heights.includes(block.number))
      this.#touched.set(
        key,
        [...heights, block.number].sort((one, other) => one - other),
      );
  }

  #newHash(what: string): string {
    this.#made += 1;
    return `0x${hash('sha256', `${this.options.name} ${what} ${this.#made} ${this.#prng.uint32()}`)}`;
  }
}

const ZERO = `0x${'0'.repeat(40)}`;
/** What the operator brought is brought again. */
const isFunding = ({ movements }: PoolTransaction): boolean => movements.some(({ kind }) => kind === 'mint');
const most = (one: bigint, other: bigint): bigint => (one > other ? one : other);
const least = (one: bigint, other: bigint): bigint => (one < other ? one : other);

function tokenTransferOf({ to, data }: Transaction, from: string): Movement {
  return {
    ...{ kind: 'transfer', asset: to!.toLowerCase(), from, to: `0x${data.slice(34, 74).toLowerCase()}` },
    units: BigInt(`0x${data.slice(74)}`),
  };
}

export const checksummed = (account: string): string => getAddress(account);
