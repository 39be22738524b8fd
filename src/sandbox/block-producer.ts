import { randomInt } from 'node:crypto';
import type { Log } from '../ports/log.ts';
import { InTurn } from '../runtime/util/in-turn.ts';
import { AnvilNode, type AnvilSettings } from './anvil-node.ts';
import type { ChainStore, JournaledBlock } from './chain-store.ts';
import { RpcRefused, type Rpc } from './json-rpc.ts';
import { must } from '../domain/values/must.ts';

/** The pace of a chain. Empty blocks cost memory, so an idle chain slows down and a transaction wakes it. */
export interface Cadence {
  /** Between blocks under traffic, and between checks of the transaction pool. */
  readonly busyMs: number;
  /** Between blocks without traffic: payment deadlines are judged by block time, so time must advance. */
  readonly idleMs: number;
  /** Blocks at the busy pace after one with transactions: enough to make it final. */
  readonly busyBlocks: number;
  /** The node keeps about 18 KB per block, so after this many blocks it is restarted with a compacted chain. */
  readonly blocksPerRun: number;
}

interface MinedBlock {
  readonly number: string;
  readonly hash: string;
  readonly timestamp: string;
  readonly transactions: readonly { readonly hash: string }[];
}

type PoolTransactions = Readonly<Record<string, Readonly<Record<string, { readonly hash: string }>>>>;
interface PoolContent {
  readonly pending: PoolTransactions;
  readonly queued: PoolTransactions;
}

/** What an exclusive action may do with the chain while the producer waits. */
export interface ExclusiveChain {
  readonly rpc: Rpc;
  /** Makes one block of everything in the pool. */
  mine(): Promise<JournaledBlock>;
  /**
   * Replaces the newest block with an empty one and empties the pool. Returns the signed transactions (hex) of both, in
   * an order in which they can be sent again.
   */
  dropNewestBlock(): Promise<string[]>;
}

/** The longest replay after a kill. */
const SNAPSHOT_EVERY_BLOCKS = 200;
/** Block 0 is at a random time in the last hour, so that a new chain never equals the previous one. */
const GENESIS_SPREAD_SEC = 3_600;
const RESTART_ATTEMPTS = 20;
const RESTART_PAUSE_MS = 100;

const inNonceOrder = (transactions: PoolTransactions): string[] =>
  Object.values(transactions).flatMap((byNonce) =>
    Object.keys(byNonce)
      .sort((a, b) => Number(a) - Number(b))
      .map((nonce) => must(byNonce[nonce]).hash),
  );
const nowSec = (): number => Math.floor(Date.now() / 1000);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Makes every block of one chain, records it, and keeps its node running. Nothing else makes blocks, so the journal is
 * complete: after any termination, including SIGKILL, the same chain comes back with the same hashes.
 */
export class BlockProducer {
  readonly #settings: AnvilSettings;
  readonly #store: ChainStore;
  readonly #cadence: Cadence;
  readonly #log: Log;
  readonly #inclusions = new Map<string, () => void>();
  #node: AnvilNode;
  /** Every change of the chain runs in here, one after another. */
  readonly #work = new InTurn();
  #headTimeSec = 0;
  #blocksSinceTransaction = 0;
  #blocksSinceSnapshot = 0;
  #blocksInNode = 0;
  #minedAtMs = 0;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  private constructor(node: AnvilNode, settings: AnvilSettings, store: ChainStore, cadence: Cadence, log: Log) {
    this.#node = node;
    this.#settings = settings;
    this.#store = store;
    this.#cadence = cadence;
    this.#log = log;
  }

  /** Starts the node and continues the stored chain or creates a new one (`prepare` then runs once, before block 1). */
  static async start(
    settings: Omit<AnvilSettings, 'genesisTimeSec'>,
    store: ChainStore,
    cadence: Cadence,
    log: Log,
    prepare: (rpc: Rpc) => Promise<void>,
  ): Promise<BlockProducer> {
    const known = store.open();
    const genesisTimeSec = known ?? nowSec() - randomInt(GENESIS_SPREAD_SEC);
    if (known === null) store.begin(genesisTimeSec);
    const full = { ...settings, genesisTimeSec };
    const node = await AnvilNode.start(full, 0, known === null ? null : store.stateFile);
    const producer = new BlockProducer(node, full, store, cadence, log);
    try {
      if (known === null) await prepare(node.rpc);
      else await producer.#replay();
      await producer.#snapshot();
      const head = await node.rpc<MinedBlock>('eth_getBlockByNumber', ['latest', false]);
      producer.#headTimeSec = Number(head.timestamp);
      return producer;
    } catch (error) {
      await node.end();
      throw error;
    }
  }

  get rpcUrl(): string {
    return this.#node.url;
  }

  get rpc(): Rpc {
    return this.#node.rpc;
  }

  /** Starts making blocks on its own. */
  run(): void {
    this.#schedule(0);
  }

  /** Runs `action` while nothing else changes the chain, and saves the resulting chain. */
  exclusive<Result>(action: (chain: ExclusiveChain) => Promise<Result>): Promise<Result> {
    return this.#work.run(async () => {
      const chain: ExclusiveChain = {
        rpc: this.rpc,
        mine: () => this.#mine(),
        dropNewestBlock: () => this.#dropNewestBlock(),
      };
      try {
        return await action(chain);
      } finally {
        await this.#snapshot();
      }
    });
  }

  /** Resolves when a block contains the transaction. Register before it can be mined. */
  inclusionOf(txHash: string, timeoutMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#inclusions.delete(txHash);
        reject(new Error(`${txHash} was not taken into a block`));
      }, timeoutMs);
      this.#inclusions.set(txHash, () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  async close(): Promise<void> {
    if (this.#closed) return this.#work.ended();
    this.#closed = true;
    if (this.#timer) clearTimeout(this.#timer);
    await this.#work.run(async () => {
      await this.#snapshot().catch((error: unknown) =>
        this.#log.warn({ error: String(error) }, 'the last snapshot of a sandbox chain failed'),
      );
      await this.#node.end();
    });
  }

  #schedule(delayMs: number): void {
    if (this.#timer) clearTimeout(this.#timer);
    if (this.#closed) return;
    this.#timer = setTimeout(() => {
      this.#work
        .run(() => this.#tick())
        .catch((error: unknown) => this.#log.warn({ error: String(error) }, 'a sandbox chain could not make a block'))
        .finally(() => this.#schedule(this.#cadence.busyMs));
    }, delayMs);
  }

  async #tick(): Promise<void> {
    if (this.#closed) return;
    if (this.#node.hasEnded()) {
      this.#log.warn({}, 'a sandbox node ended by itself and is started again');
      await this.#revive();
    }
    const due =
      this.#blocksSinceTransaction < this.#cadence.busyBlocks || Date.now() - this.#minedAtMs >= this.#cadence.idleMs;
    if (due || (await this.#hasPending())) await this.#mine();
    if (this.#blocksInNode >= this.#cadence.blocksPerRun && this.#blocksSinceTransaction >= this.#cadence.busyBlocks)
      await this.#restart();
    else if (this.#blocksSinceSnapshot >= SNAPSHOT_EVERY_BLOCKS) await this.#snapshot();
  }

  async #hasPending(): Promise<boolean> {
    const { pending } = await this.rpc<{ pending: string }>('txpool_status');
    return Number(pending) > 0;
  }

  async #mine(): Promise<JournaledBlock> {
    const block = await this.#mineAt(Math.max(nowSec(), this.#headTimeSec));
    this.#store.append(block);
    this.#blocksSinceSnapshot += 1;
    return block;
  }

  async #mineAt(timeSec: number): Promise<JournaledBlock> {
    const [mined] = await this.rpc<readonly MinedBlock[]>('evm_mine_detailed', [{ timestamp: timeSec, blocks: 1 }]);
    const hashes = must(mined).transactions.map(({ hash }) => hash);
    const raw = await Promise.all(hashes.map((hash) => this.rpc<string>('eth_getRawTransactionByHash', [hash])));
    this.#headTimeSec = Number(must(mined).timestamp);
    this.#minedAtMs = Date.now();
    this.#blocksInNode += 1;
    this.#blocksSinceTransaction = hashes.length > 0 ? 0 : this.#blocksSinceTransaction + 1;
    for (const hash of hashes) {
      this.#inclusions.get(hash)?.();
      this.#inclusions.delete(hash);
    }
    return { number: Number(must(mined).number), hash: must(mined).hash, timeSec: this.#headTimeSec, raw };
  }

  async #dropNewestBlock(): Promise<string[]> {
    const dropped = await this.rpc<{ transactions: string[] }>('eth_getBlockByNumber', ['latest', false]);
    const pool = await this.rpc<PoolContent>('txpool_content');
    const hashes = [...dropped.transactions, ...[pool.pending, pool.queued].flatMap(inNonceOrder)];
    const raw = await Promise.all(hashes.map((hash) => this.rpc<string>('eth_getRawTransactionByHash', [hash])));
    // Pooled transactions were accepted under nonces that the reorganisation reverts, so the node would mine them out
    // of order.
    await this.rpc('anvil_dropAllTransactions');
    await this.rpc('anvil_reorg', [1, []]);
    const head = await this.rpc<MinedBlock>('eth_getBlockByNumber', ['latest', false]);
    this.#headTimeSec = Number(head.timestamp);
    await this.#snapshot();
    return raw;
  }

  /** Makes the blocks again that the snapshot does not contain yet. */
  async #replay(): Promise<void> {
    const saved = Number(await this.rpc<string>('eth_blockNumber'));
    const blocks = this.#store.blocksAfter(saved);
    for (const [i, block] of blocks.entries()) {
      if (await this.#remake(block)) continue;
      this.#log.warn({ lostBlocks: blocks.length - i }, 'the newest blocks of a sandbox chain could not be made again');
      return;
    }
  }

  /** False when the block came out differently: the chain was changed by means that leave no transaction. */
  async #remake(block: JournaledBlock): Promise<boolean> {
    try {
      for (const raw of block.raw) await this.rpc('eth_sendRawTransaction', [raw]);
    } catch (error) {
      if (error instanceof RpcRefused) return false;
      throw error;
    }
    const made = await this.#mineAt(block.timeSec);
    if (made.hash === block.hash) return true;
    await this.rpc('anvil_rollback', [1]);
    return false;
  }

  async #snapshot(): Promise<void> {
    await this.#store.writeSnapshot(await this.rpc<string>('anvil_dumpState'));
    this.#blocksSinceSnapshot = 0;
  }

  /** Same chain, same port, within a tenth of a second: clients see a refused connection and retry. */
  async #restart(): Promise<void> {
    await this.#snapshot();
    await this.#node.end();
    await this.#revive();
  }

  async #revive(): Promise<void> {
    this.#store.open();
    for (let attempt = 1; ; attempt += 1) {
      try {
        this.#node = await AnvilNode.start(this.#settings, this.#node.port, this.#store.stateFile);
        break;
      } catch (error) {
        if (attempt === RESTART_ATTEMPTS) throw error;
        await pause(RESTART_PAUSE_MS);
      }
    }
    this.#blocksInNode = 0;
    await this.#replay();
  }
}
