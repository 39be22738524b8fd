import { addressFamilyOf } from '../../domain/networks/networks.ts';
import type { OutgoingTransaction } from '../../ports/outgoing/transaction.ts';
import type { SignerRefusal } from '../../ports/outgoing/signer.ts';
import type { PayoutRules } from '../../ports/signer/protocol.ts';
import type { ChainView } from '../chains/chain-view.ts';
import { refusal } from '../exclusive.ts';
import type { JournalEntry, SignedEntry } from '../journal/journal.ts';
import type { LedgerAccounts } from '../journal/ledger-accounts.ts';
import type { SigningWallet } from '../keys/signing-wallet.ts';
import type { OwnMoney } from './own-money.ts';

/** Allowed, with the money that it takes from deposits, or the reason why not. */
export type Judged = { readonly ok: true; readonly takenFrom: SignedEntry['takenFrom'] } | SignerRefusal;

export interface PolicyParts {
  readonly wallet: SigningWallet;
  readonly rules: PayoutRules;
  /** The journal without and with the entries signed for the transaction itself. */
  readonly others: readonly JournalEntry[];
  readonly all: readonly JournalEntry[];
  readonly ledger: Pick<LedgerAccounts, 'refusal'>;
  readonly own: OwnMoney;
  /** The journal's own monotonic time. Unix milliseconds. */
  readonly nowMs: number;
}

/** The rules for one kind of transaction. */
export interface Policy {
  /** Why it may not be signed, from wallet, rules and journal alone; null if there is no objection. */
  refusal(order: OutgoingTransaction, parts: PolicyParts): SignerRefusal | null;
  /** Checks that need the chain, made last. Throws `ViewUnavailable`. */
  onChain?(order: OutgoingTransaction, parts: PolicyParts, view: ChainView): Promise<Judged>;
}

/**
 * Checks coverage first, so that nobody is asked to approve what the account of a merchant or of unknown senders does
 * not hold.
 */
export function coveredRefusal(
  refused: SignerRefusal | null,
  order: OutgoingTransaction,
  { ledger, others }: PolicyParts,
): SignerRefusal | null {
  return (refused === null || refused.code === 'approval' ? ledger.refusal(order, others) : null) ?? refused;
}

/** Stops payments when the signer was started with another wallet, until a person has looked. */
export function treasuryFault(
  { network, fromAddress }: OutgoingTransaction,
  wallet: SigningWallet,
): SignerRefusal | null {
  const own = fromAddress === wallet.treasury[addressFamilyOf(network)];
  return own ? null : refusal('stopped', 'other_treasury', 'the treasury is not an account of this wallet');
}
