import { setTimeout as sleep } from 'node:timers/promises';
import { AuditTreeBehind, type AuditHead, type AuditState, type AuditTree } from '../../ports/event-log/audit.ts';
import type { Log } from '../../ports/log.ts';
import { HistoryDiffers, type StoreAudit } from './store-audit.ts';
import { InTurn } from '../util/in-turn.ts';

export interface StoreAuditTreeOptions {
  /** Starts an audit as late in the log as possible; `isWhole` is false if it relies on stored tiles. */
  readonly begin: () => Promise<{ readonly audit: StoreAudit; readonly isWhole: boolean }>;
  /** Starts an audit with the first event. */
  readonly beginAnew: () => StoreAudit;
  /** Whether old events are reread continuously at a low rate. */
  readonly rechecks: boolean;
  readonly onDamaged: (message: string) => void;
  readonly log: Log;
  /** Interval of polling the log. Default 1,000. */
  readonly everyMs?: number;
}

const EVERY_MS = 1_000;
/** 512 events a second, so a million in about half an hour. */
const RECHECKED_TILES = 2;

/** The Merkle tree over a log on servers: reads its history once, then follows it. */
export class StoreAuditTree implements AuditTree {
  readonly #options: StoreAuditTreeOptions;
  readonly #closing = new AbortController();
  #audit: StoreAudit | null = null;
  #integrity: AuditState['integrity'] = 'checking';
  #fault: string | null = null;
  readonly #turns = new InTurn();
  #running: Promise<void> = Promise.resolve();
  #nextRecheck = 0;

  constructor(options: StoreAuditTreeOptions) {
    this.#options = options;
  }

  get state(): AuditState {
    return { size: this.#audit?.size ?? 0, integrity: this.#integrity, fault: this.#fault };
  }

  /** The tree while its history is sound; null before and after. */
  get sound(): StoreAudit | null {
    return this.#integrity === 'sound' ? this.#audit : null;
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#closing.abort();
    await this.#running;
    await this.#turns.ended();
  }

  async head(since: number): Promise<AuditHead> {
    const audit = this.#known();
    await this.#follow();
    return audit.head(since);
  }

  async inclusionProof(leaf: number, size: number): Promise<string[]> {
    return this.#proved(size, (audit) => audit.inclusionProof(leaf, size));
  }

  async consistencyProof(first: number, second: number): Promise<string[]> {
    return this.#proved(second, (audit) => audit.consistencyProof(first, second));
  }

  leafOf(position: string): Promise<number> {
    return this.#watched(() => this.#known().leafOf(position));
  }

  async #proved(size: number, prove: (audit: StoreAudit) => Promise<readonly Buffer[]>): Promise<string[]> {
    const audit = this.#known();
    if (size > audit.size) await this.#follow();
    try {
      return (await this.#watched(() => prove(audit))).map((node) => node.toString('base64'));
    } catch (error) {
      if (error instanceof RangeError) throw new AuditTreeBehind(error.message);
      throw error;
    }
  }

  #known(): StoreAudit {
    if (!this.#audit || this.#integrity === 'checking') throw new AuditTreeBehind('the history is still being read');
    return this.#audit;
  }

  async #run(): Promise<void> {
    while (!this.#closing.signal.aborted && this.#integrity !== 'damaged') {
      try {
        if (this.#integrity === 'checking') await this.#readHistory();
        else await this.#look();
      } catch (error) {
        if (!(error instanceof HistoryDiffers))
          this.#options.log.warn({ err: error }, 'the event log cannot be read for the audit now');
      }
      await sleep(this.#options.everyMs ?? EVERY_MS, undefined, { signal: this.#closing.signal, ref: false }).catch(
        () => undefined,
      );
    }
  }

  async #readHistory(): Promise<void> {
    const { begin, beginAnew, log } = this.#options;
    if (!this.#audit) {
      const { audit, isWhole } = await begin();
      this.#audit = audit;
      if (!isWhole && !(await this.#isTrustworthy(audit))) {
        log.warn({}, 'the saved parts of the tree do not match the event log: it is read from the beginning');
        this.#audit = beginAnew();
      }
    }
    const audit = this.#audit;
    await this.#watched(() => this.#readToEnd(audit));
    if (!this.#closing.signal.aborted) this.#integrity = 'sound';
  }

  async #isTrustworthy(audit: StoreAudit): Promise<boolean> {
    try {
      await this.#readToEnd(audit);
      return true;
    } catch (error) {
      if (error instanceof HistoryDiffers) return false;
      this.#audit = null;
      throw error;
    }
  }

  async #readToEnd(audit: StoreAudit): Promise<void> {
    while (!this.#closing.signal.aborted) if ((await audit.take()) === 0) return audit.assertReachesSigned();
  }

  async #look(): Promise<void> {
    await this.#follow();
    if (!this.#options.rechecks) return;
    for (let tile = 0; tile < RECHECKED_TILES; tile += 1) await this.#recheck();
  }

  async #recheck(): Promise<void> {
    const audit = this.#known();
    if (audit.tiles === 0) return;
    this.#nextRecheck %= audit.tiles;
    await this.#watched(() => audit.recheck(this.#nextRecheck));
    this.#nextRecheck += 1;
  }

  /** Adds new events; calls are sequential. */
  #follow(): Promise<void> {
    return this.#turns.run(() =>
      this.#watched(async () => {
        const audit = this.sound;
        while (audit && !this.#closing.signal.aborted && (await audit.take()) > 0);
      }),
    );
  }

  /** Any difference found by the task ends the trust in the log. */
  async #watched<Value>(task: () => Promise<Value>): Promise<Value> {
    try {
      return await task();
    } catch (error) {
      if (error instanceof HistoryDiffers && this.#integrity !== 'damaged') {
        this.#integrity = 'damaged';
        this.#fault = error.message;
        this.#options.onDamaged(error.message);
      }
      throw error;
    }
  }
}
