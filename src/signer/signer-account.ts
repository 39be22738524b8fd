import { PayoutJournal } from './payout-journal.ts';
import type { SigningWallet } from './signing-wallet.ts';

export interface SignerAccount {
  readonly wallet: SigningWallet;
  readonly journal: PayoutJournal;
}
