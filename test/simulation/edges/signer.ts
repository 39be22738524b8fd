import { outgoingCalls } from '../../../src/adapters/signer/outgoing-calls.ts';
import { SignerUnavailable } from '../../../src/adapters/signer/connection.ts';
import type { ApprovalSigner } from '../../../src/ports/approvals.ts';
import type { OutgoingSigner } from '../../../src/ports/outgoing-signer.ts';
import type { PayoutRules } from '../../../src/ports/signer-protocol.ts';
import { callMethod } from '../../../src/signer/methods.ts';
import { Outgoing } from '../../../src/signer/outgoing.ts';
import type { Wallet } from '../../../src/signer/wallet.ts';
import type { Prng } from '../time/prng.ts';
import { currentProcess, ModelProcess, within, type Scheduler } from '../time/scheduler.ts';

/** The signer's process beside its service: the whole of its methods, with its real journal on a disk in memory. */
export class SignerProcess {
  readonly process = new ModelProcess('signer');
  readonly #scheduler: Scheduler;
  readonly #prng: Prng;
  readonly #wallets: ReadonlyMap<'test', Wallet>;
  readonly #outgoing: Outgoing;

  constructor({
    scheduler,
    prng,
    wallet,
    rules,
  }: {
    scheduler: Scheduler;
    prng: Prng;
    wallet: Wallet;
    rules: PayoutRules;
  }) {
    this.#scheduler = scheduler;
    this.#prng = prng;
    this.#wallets = new Map([['test', wallet]]);
    this.#outgoing = within(this.process, () => new Outgoing(rules, this.#wallets));
  }

  /** What the current process asks it by. */
  calls(): OutgoingSigner & ApprovalSigner {
    return outgoingCalls({ call: (method, params) => this.#call(method, params) });
  }

  #call(method: string, params: unknown): Promise<unknown> {
    const caller = currentProcess();
    const sent = JSON.stringify(params);
    return new Promise((resolve, reject) => {
      const answer = (tell: () => void): void => void this.#scheduler.after(this.#delayMs(), caller, tell);
      this.#scheduler.after(this.#delayMs(), null, () => {
        if (this.process.isDead) return answer(() => reject(new SignerUnavailable('the signer is gone')));
        void within(this.process, () =>
          callMethod(method, JSON.parse(sent), { wallets: this.#wallets, outgoing: this.#outgoing, audit: null }),
        ).then(
          (result) => {
            const text = JSON.stringify(result);
            answer(() => resolve(JSON.parse(text)));
          },
          (error: unknown) => answer(() => reject(error instanceof Error ? error : new Error(String(error)))),
        );
      });
    });
  }

  #delayMs(): number {
    return 0.5 + this.#prng.fraction() * 2;
  }
}
