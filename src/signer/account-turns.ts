import type { Mode } from '../domain/values/ids.ts';
import type { SignerRefusal } from '../ports/outgoing/signer.ts';
import { InTurn } from '../runtime/util/in-turn.ts';
import { asRefusal } from './as-refusal.ts';
import { refusal } from './exclusive.ts';
import type { SignerAccount } from './keys/signer-account.ts';

/** Who may use an account when. */
export class AccountTurns {
  readonly #accounts: ReadonlyMap<Mode, SignerAccount>;
  readonly #turns = new InTurn();

  constructor(accounts: ReadonlyMap<Mode, SignerAccount>) {
    this.#accounts = accounts;
  }

  /** One decision at a time: two requests must never see the same journal. */
  async inTurn<Result>(mode: Mode, task: (account: SignerAccount) => Promise<Result>): Promise<Result | SignerRefusal> {
    const account = this.#accounts.get(mode);
    if (!account) return noWallet(mode);
    return this.#turns.run(() => task(account)).catch(asRefusal);
  }

  /** For what must not wait behind requests that ask the chain. */
  async atOnce<Result>(mode: Mode, task: (account: SignerAccount) => Result): Promise<Result | SignerRefusal> {
    const account = this.#accounts.get(mode);
    if (!account) return noWallet(mode);
    try {
      return task(account);
    } catch (error) {
      return asRefusal(error);
    }
  }
}

const noWallet = (mode: Mode): SignerRefusal => refusal('later', 'no_wallet', `the signer holds no ${mode} keys`);
