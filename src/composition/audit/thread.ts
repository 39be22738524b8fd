import { Worker } from 'node:worker_threads';
import { AuditTreeBehind, type AuditHead, type AuditState, type AuditTree } from '../../ports/event-log/audit.ts';
import type { AuditAnswers, AuditQuestion, AuditWorkerData, FromAudit, ToAudit } from './messages.ts';
import { threadEnvironment } from '../../runtime/util/thread-environment.ts';

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** The Merkle tree of the embedded profile, maintained by a thread that reads the log on a separate connection. */
export class AuditThread implements AuditTree {
  readonly #worker: Worker;
  readonly #onState: (state: AuditState) => void;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;
  #isGone = false;
  #state: AuditState = { size: 0, integrity: 'checking', fault: null };
  readonly #checked = Promise.withResolvers<AuditState>();

  /** `onState` is called for every change. If the thread dies there are no more, and `onError` receives the reason. */
  constructor(
    data: AuditWorkerData,
    on: { readonly state: (state: AuditState) => void; readonly error: (error: Error) => void },
  ) {
    this.#onState = on.state;
    this.#worker = new Worker(new URL('./worker.ts', import.meta.url), {
      name: 'audit',
      workerData: data,
      execArgv: [],
      env: threadEnvironment(),
    });
    this.#worker.on('message', (message: FromAudit) => this.#take(message));
    this.#worker.on('error', (error: Error) => {
      on.error(error);
      // A history that could not be read to its end has not been verified.
      if (this.#state.integrity === 'checking')
        this.#setState({ ...this.#state, integrity: 'damaged', fault: `the log cannot be checked: ${error.message}` });
    });
    this.#worker.on('exit', () => this.#end());
  }

  get state(): AuditState {
    return this.#state;
  }

  /** Resolves once everything that existed at the start has been read, a fault was found, or the thread has ended. */
  get checked(): Promise<AuditState> {
    return this.#checked.promise;
  }

  async head(since: number): Promise<AuditHead> {
    return this.#ask({ kind: 'head', since });
  }

  async inclusionProof(leaf: number, size: number): Promise<string[]> {
    return this.#ask({ kind: 'inclusion', leaf, size });
  }

  async consistencyProof(first: number, second: number): Promise<string[]> {
    return this.#ask({ kind: 'consistency', first, second });
  }

  /** Positions of the embedded store are gapless and start at 1. */
  async leafOf(position: string): Promise<number> {
    return Number(position) - 1;
  }

  async stop(): Promise<void> {
    if (!this.#isGone) await this.#ask({ kind: 'stop' }).catch(() => undefined);
    await this.#worker.terminate();
  }

  #take(message: FromAudit): void {
    if (message.kind === 'state') return this.#setState(message.state);
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (message.kind === 'answer') waiting?.resolve(message.value);
    else waiting?.reject(message.isBehind ? new AuditTreeBehind(message.message) : new Error(message.message));
  }

  #setState(state: AuditState): void {
    this.#state = state;
    this.#onState(state);
    if (state.integrity !== 'checking') this.#checked.resolve(state);
  }

  #ask<Kind extends keyof AuditAnswers>(question: AuditQuestion & { readonly kind: Kind }): Promise<AuditAnswers[Kind]>;
  #ask(question: AuditQuestion): Promise<unknown> {
    if (this.#isGone) return Promise.reject(new AuditTreeBehind('the thread of the audit has ended'));
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ ...question, id } satisfies ToAudit);
    });
  }

  #end(): void {
    this.#isGone = true;
    // Nothing verifies the log any more: it is not known to be sound, and payouts wait.
    if (this.#state.integrity === 'sound') this.#state = { ...this.#state, integrity: 'checking' };
    this.#checked.resolve(this.#state);
    for (const { reject } of this.#waiting.values()) reject(new AuditTreeBehind('the thread of the audit has ended'));
    this.#waiting.clear();
  }
}
