import { SignerUnavailable, type SignerCaller } from '../../../src/adapters/signer/connection.ts';
import { signerCalls } from '../../../src/adapters/signer/signer-calls.ts';
import type { ApprovalSigner } from '../../../src/ports/signer/approvals.ts';
import type { OutgoingSigner, Signature, SignerVerdict, SigningRequest } from '../../../src/ports/outgoing/signer.ts';
import type { PayoutRules } from '../../../src/ports/signer/protocol.ts';
import type { OutgoingTransaction } from '../../../src/ports/outgoing/transaction.ts';
import { MethodRefused } from '../../../src/signer/method.ts';
import { callMethod } from '../../../src/signer/methods.ts';
import { Outgoing } from '../../../src/signer/outgoing.ts';
import type { Wallet } from '../../../src/signer/keys/wallet.ts';
import type { Prng } from '../time/prng.ts';
import type { SignerWatch } from './signer-watch.ts';
import { currentProcess, ModelProcess, within, type Scheduler } from '../time/scheduler.ts';

/** Whoever holds the worker and asks for more than the service does. */
export interface Attacker {
  /** What is asked before the request itself. */
  forge(request: SigningRequest): readonly SigningRequest[];
  answered(forged: SigningRequest, answer: string): void;
  /** Payments that landed, whose money the signer is asked to give free. */
  frees(): readonly OutgoingTransaction[];
  freed(order: OutgoingTransaction, answer: string): void;
  /** What the signer did although it was stopped. */
  stopped(what: string): void;
}

/** The signer's process beside its service: the whole of its methods, with its real journal on a disk in memory. */
export class SignerProcess {
  readonly process = new ModelProcess('signer');
  readonly #scheduler: Scheduler;
  readonly #prng: Prng;
  readonly #wallets: ReadonlyMap<'test', Wallet>;
  readonly #outgoing: Outgoing;
  readonly #attacker: Attacker;
  readonly #watched: SignerWatch;

  constructor({
    scheduler,
    prng,
    wallet,
    rules,
    attacker,
    watched,
  }: {
    scheduler: Scheduler;
    prng: Prng;
    wallet: Wallet;
    rules: PayoutRules;
    attacker: Attacker;
    watched: SignerWatch;
  }) {
    this.#scheduler = scheduler;
    this.#prng = prng;
    this.#wallets = new Map([['test', wallet]]);
    this.#attacker = attacker;
    this.#watched = watched;
    this.#outgoing = within(this.process, () => new Outgoing(rules, this.#wallets));
  }

  /** What the current process asks it by. */
  calls(): OutgoingSigner & ApprovalSigner {
    return signerCalls({ call: this.#call });
  }

  readonly #call: SignerCaller['call'] = (method, params) => {
    const caller = currentProcess();
    const sent = JSON.stringify(params);
    return new Promise((resolve, reject) => {
      const answer = (tell: () => void): void => void this.#scheduler.after(this.#delayMs(), caller, tell);
      this.#scheduler.after(this.#delayMs(), null, () => {
        if (this.process.isDead) return answer(() => reject(new SignerUnavailable('the signer is gone')));
        void within(this.process, () => this.#answer(method, sent)).then(
          (result) => {
            const text = JSON.stringify(result);
            answer(() => resolve(JSON.parse(text)));
          },
          (error: unknown) => answer(() => reject(error instanceof Error ? error : new Error(String(error)))),
        );
      });
    });
  };

  async #answer(method: string, params: string): Promise<unknown> {
    const ask = (asked: unknown, name = method): Promise<unknown> =>
      callMethod(name, asked, { wallets: this.#wallets, outgoing: this.#outgoing, audit: null });
    for (const order of method === 'sign' ? this.#attacker.frees() : []) {
      const answer = (await ask({ order }, 'release')) as SignerVerdict;
      this.#attacker.freed(order, answer.ok ? 'released' : answer.code);
    }
    const forgeries = method === 'sign' ? this.#attacker.forge(JSON.parse(params) as SigningRequest) : [];
    for (const forged of forgeries)
      await ask(forged).then(
        (answer) => {
          const said = answer as Signature;
          this.#attacker.answered(forged, said.ok ? 'signed' : said.code);
        },
        (error: unknown) => {
          if (!(error instanceof MethodRefused)) throw error;
          this.#attacker.answered(forged, error.code);
        },
      );
    return this.#watched.during(method, JSON.parse(params), ask, (what) => this.#attacker.stopped(what));
  }

  #delayMs(): number {
    return 0.5 + this.#prng.fraction() * 2;
  }
}
