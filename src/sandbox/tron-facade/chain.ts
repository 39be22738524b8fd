import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BlockClock } from './block-clock.ts';
import type { EvmNode } from './evm-node.ts';
import { foundChain, asIssuer, type FacadeContracts, type FacadeGenesis } from './genesis.ts';
import type { FacadeJournal, FacadeReceipt, JournalEntry, SealedTransaction } from './journal.ts';
import { bytesOfHex, hexOf, sha256 } from './tron-codec.ts';
import { refusalOf, type BroadcastCode } from './transaction-rules.ts';
import { runTransaction } from './transaction-execution.ts';
import { decodeRaw, transactionId, type RawTransaction } from './tron-transaction.ts';
import type { FacadeBlock } from './block.ts';
import { InTurn } from '../../runtime/util/in-turn.ts';
import { must } from '../../domain/values/must.ts';

export interface Broadcast {
  readonly txId: string;
  readonly code: 'SUCCESS' | BroadcastCode;
  readonly message: string;
}

/** Blocks until a transaction is solid: two thirds of the 27 producers must have built on it. */
const SOLIDIFIED_LAG = 19;
const SNAPSHOT_EVERY = 100;
/**
 * Blocks built on a transaction before a fork replaces them, enough for any watcher to see it, and blocks until the
 * fork includes it.
 */
const FORK_SHOWN_BLOCKS = 12;
const FORK_MOVED_BLOCKS = 2;
const POLL_MS = 20;

/** The chain behind the facade: blocks by the clock, transactions executed by a real EVM, one at a time. */
export class FacadeChain {
  readonly contracts: FacadeContracts;
  readonly clock: BlockClock;
  readonly evm: EvmNode;
  /** Number of read-only calls that the node breaks off next, as a busy one does. */
  brokenOffCalls = 0;
  readonly #genesis: FacadeGenesis;
  readonly #chainId: number;
  readonly #journal: FacadeJournal;
  readonly #byBlock = new Map<number, SealedTransaction[]>();
  readonly #byId = new Map<string, SealedTransaction>();
  readonly #forks: { fromNumber: number; salt: string }[] = [];
  readonly #turns = new InTurn();

  private constructor(parts: {
    evm: EvmNode;
    clock: BlockClock;
    genesis: FacadeGenesis;
    chainId: number;
    journal: FacadeJournal;
    contracts: FacadeContracts;
  }) {
    this.evm = parts.evm;
    this.clock = parts.clock;
    this.#genesis = parts.genesis;
    this.#chainId = parts.chainId;
    this.#journal = parts.journal;
    this.contracts = parts.contracts;
  }

  /** Creates the chain, or brings the EVM to the end of the journal. */
  static async open(parts: {
    evm: EvmNode;
    clock: BlockClock;
    genesis: FacadeGenesis;
    chainId: number;
    journal: FacadeJournal;
  }): Promise<FacadeChain> {
    const contracts = await foundChain(parts.evm, parts.genesis);
    const chain = new FacadeChain({ ...parts, contracts });
    const snapshot = parts.journal.readSnapshot();
    if (snapshot !== null) await parts.evm.rpc('anvil_loadState', snapshot.state);
    for (const entry of parts.journal.entries) chain.#index(entry);
    for (const entry of parts.journal.entries.slice(snapshot?.entries ?? 0)) await chain.#replay(entry);
    return chain;
  }

  get solidified(): number {
    return Math.max(0, this.clock.head() - SOLIDIFIED_LAG);
  }

  /** Null above the head. */
  block(number: number): FacadeBlock | null {
    if (number < 0 || number > this.clock.head()) return null;
    const transactions = this.#byBlock.get(number) ?? [];
    const parentId = number === 0 ? '00'.repeat(32) : this.#idOf(number - 1);
    return { number, id: this.#idOf(number), parentId, timeMs: this.clock.timeMsOf(number), transactions };
  }

  /** Null while it is not in a block. */
  transaction(txId: string): SealedTransaction | null {
    const sealed = this.#byId.get(txId);
    return sealed !== undefined && sealed.blockNumber <= this.clock.head() ? sealed : null;
  }

  /** Checks and executes signed bytes; they become part of the next block. */
  async broadcast(rawHex: string, signatures: readonly string[]): Promise<Broadcast> {
    return this.#turns.run(async () => {
      const answer = await this.#broadcastNow(rawHex, signatures);
      if (this.#journal.entriesSinceSnapshot >= SNAPSHOT_EVERY) await this.#snapshot();
      return answer;
    });
  }

  /** Calls a token on behalf of its issuer: freezing, pausing. */
  async issue(to: string, data: string): Promise<void> {
    await this.#turns.run(async () => {
      await asIssuer(this.evm, to, data);
      this.#journal.append({ kind: 'issuer', to, data });
    });
  }

  /** Resolves once the block with that number exists; makes blocks when the clock is manual. */
  async reached(number: number): Promise<void> {
    while (this.clock.head() < number) {
      if (this.clock.manual) this.clock.mine(1);
      else await sleep(POLL_MS);
    }
  }

  /** Resolves once the transaction's block exists. */
  async included(txId: string): Promise<void> {
    const sealed = this.#byId.get(txId);
    if (sealed === undefined) throw new Error(`${txId} was never accepted`);
    await this.reached(sealed.blockNumber);
  }

  /**
   * Executes the transaction, shows some blocks on top of it, then replaces them all with blocks without it. With
   * `again` the new chain includes it in a later block under the same id.
   */
  async broadcastAndFork(rawHex: string, signatures: readonly string[], again: boolean): Promise<Broadcast> {
    return this.#turns.run(async () => {
      const before = await this.evm.rpc<string>('evm_snapshot');
      const answer = await this.#broadcastNow(rawHex, signatures);
      if (answer.code !== 'SUCCESS') return answer;
      const sealed = must(this.#byId.get(answer.txId));
      const fromNumber = sealed.blockNumber;
      await this.reached(fromNumber + FORK_SHOWN_BLOCKS);
      await this.evm.rpc('evm_revert', before);
      const info = again ? await this.#run(rawHex, signatures) : null;
      this.#record({ kind: 'fork', fromNumber, salt: hexOf(randomBytes(8)) });
      if (info !== null)
        this.#record({ kind: 'transaction', ...sealed, info, blockNumber: fromNumber + FORK_MOVED_BLOCKS });
      return answer;
    });
  }

  async close(): Promise<void> {
    await this.#turns.run(async () => {
      if (this.#journal.entriesSinceSnapshot > 0) await this.#snapshot();
    });
    await this.evm.close();
  }

  /** The bytes of the block's number, then a digest of its contents; the first block ends with the chain id. */
  #idOf(number: number): string {
    const salts = this.#forks.filter((fork) => fork.fromNumber <= number).map((fork) => fork.salt);
    const content = [
      this.#genesis.seed,
      String(number),
      ...salts,
      ...(this.#byBlock.get(number) ?? []).map((sealed) => sealed.txId),
    ];
    const id = number.toString(16).padStart(16, '0') + hexOf(sha256(Buffer.from(content.join('|')))).slice(16);
    return number === 0 ? id.slice(0, 56) + this.#chainId.toString(16).padStart(8, '0') : id;
  }

  async #broadcastNow(rawHex: string, signatures: readonly string[]): Promise<Broadcast> {
    const txId = transactionId(rawHex);
    let raw: RawTransaction;
    try {
      raw = decodeRaw(rawHex);
    } catch (error) {
      return { txId, code: 'OTHER_ERROR', message: error instanceof Error ? error.message : 'malformed transaction' };
    }
    const sizeBytes = sizeOf(rawHex, signatures);
    const refusal = await refusalOf({
      raw,
      txId,
      signatures,
      sizeBytes,
      known: this.#byId.has(txId),
      headNumber: this.clock.head(),
      block: (number) => this.block(number),
      evm: this.evm,
    });
    if (refusal !== null) return { txId, ...refusal };
    const info = await this.#run(rawHex, signatures);
    this.#record({ kind: 'transaction', blockNumber: this.clock.head() + 1, txId, rawHex, signatures, info });
    return { txId, code: 'SUCCESS', message: '' };
  }

  #record(entry: JournalEntry): void {
    this.#journal.append(entry);
    this.#index(entry);
    this.clock.hurry();
  }

  #index(entry: JournalEntry): void {
    if (entry.kind === 'transaction') {
      const { kind: _, ...sealed } = entry;
      this.#byId.set(sealed.txId, sealed);
      this.#byBlock.set(sealed.blockNumber, [...(this.#byBlock.get(sealed.blockNumber) ?? []), sealed]);
    } else if (entry.kind === 'fork') {
      this.#forks.push(entry);
      for (const sealed of this.#byId.values()) {
        if (sealed.blockNumber < entry.fromNumber) continue;
        this.#byId.delete(sealed.txId);
        this.#byBlock.delete(sealed.blockNumber);
      }
    }
  }

  /** Brings the EVM's state up to date; what a later fork dropped is not executed again. */
  async #replay(entry: JournalEntry): Promise<void> {
    if (entry.kind === 'issuer') await asIssuer(this.evm, entry.to, entry.data);
    if (entry.kind !== 'transaction') return;
    const living = this.#byId.get(entry.txId);
    if (living?.blockNumber !== entry.blockNumber) return;
    await this.#run(entry.rawHex, entry.signatures);
  }

  #run(rawHex: string, signatures: readonly string[]): Promise<FacadeReceipt> {
    return runTransaction(this.evm, decodeRaw(rawHex), transactionId(rawHex), sizeOf(rawHex, signatures));
  }

  async #snapshot(): Promise<void> {
    this.#journal.writeSnapshot(await this.evm.rpc<string>('anvil_dumpState'));
  }
}

/** Bytes of the serialised transaction: `raw_data` and signatures with their tags. */
const sizeOf = (rawHex: string, signatures: readonly string[]): number =>
  bytesOfHex(rawHex).length + signatures.length * 67;
