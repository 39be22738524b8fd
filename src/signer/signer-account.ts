import type { PayoutRules } from '../ports/signer-protocol.ts';
import { type Limits } from './limits-in-force.ts';
import type { Journal } from './journal.ts';
import type { SigningWallet } from './signing-wallet.ts';

export interface SignerAccount {
  readonly wallet: SigningWallet;
  readonly journal: Journal;
  /** The configured limits. */
  readonly wanted: Limits;
  /** The limits in force; stricter while a looser configuration is not approved. */
  readonly limits: Limits;
  /** With the limits in force. */
  readonly rules: PayoutRules;
}
