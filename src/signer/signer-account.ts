import type { PayoutRules } from '../ports/signer-protocol.ts';
import { type Limits } from './limits-in-force.ts';
import type { Journal } from './journal.ts';
import type { SigningWallet } from './signing-wallet.ts';

export interface SignerAccount {
  readonly wallet: SigningWallet;
  readonly journal: Journal;
  /** What the configuration allows. */
  readonly wanted: Limits;
  /** What is allowed: less, while a change that allows more is not approved. */
  readonly limits: Limits;
  /** With the limits in force. */
  readonly rules: PayoutRules;
}
