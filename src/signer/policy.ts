import { addressFamilyOf } from '../domain/networks.ts';
import type { OutgoingTransaction } from '../ports/outgoing.ts';
import type { SignerRefusal } from '../ports/outgoing-signer.ts';
import type { PayoutRules } from '../ports/signer-protocol.ts';
import type { ChainView } from './chain-view.ts';
import { refusal } from './exclusive.ts';
import type { JournalEntry, SignedEntry } from './journal.ts';
import type { LedgerAccounts } from './ledger-accounts.ts';
import type { SigningWallet } from './signing-wallet.ts';

/** Allowed, with the money of deposits that it takes, or why not. */
export type Judged = { readonly ok: true; readonly takenFrom: SignedEntry['takenFrom'] } | SignerRefusal;

export interface PolicyParts {
  readonly wallet: SigningWallet;
  readonly rules: PayoutRules;
  /** The journal without what was signed for the transaction itself, and with it. */
  readonly others: readonly JournalEntry[];
  readonly all: readonly JournalEntry[];
  readonly ledger: Pick<LedgerAccounts, 'refusal'>;
  /** The journal's own time, which never falls. Unix milliseconds. */
  readonly nowMs: number;
}

/** What one kind of transaction is allowed. */
export interface Policy {
  /** Why it may not be signed, from wallet, rules and journal alone; null when nothing stands in the way. */
  refusal(order: OutgoingTransaction, parts: PolicyParts): SignerRefusal | null;
  /** What only the chain shows, asked last. Throws `ViewUnavailable`. */
  onChain?(order: OutgoingTransaction, parts: PolicyParts, view: ChainView): Promise<Judged>;
}

/** Nobody is asked to approve what the account of a merchant, or of unknown senders, does not hold. */
export function coveredRefusal(
  refused: SignerRefusal | null,
  order: OutgoingTransaction,
  { ledger, others }: PolicyParts,
): SignerRefusal | null {
  return (refused === null || refused.code === 'approval' ? ledger.refusal(order, others) : null) ?? refused;
}

/** Whoever started the signer with another wallet must look before anything is paid. */
export function treasuryFault(
  { network, fromAddress }: OutgoingTransaction,
  wallet: SigningWallet,
): SignerRefusal | null {
  const own = fromAddress === wallet.treasury[addressFamilyOf(network)];
  return own ? null : refusal('stopped', 'other_treasury', 'the treasury is not an account of this wallet');
}
