import type { SignerRefusal } from '../ports/outgoing/signer.ts';
import { ViewUnavailable } from './chains/chain-view.ts';
import { refusal } from './exclusive.ts';
import { JournalBroken } from './journal/journal.ts';

/** What may pass, or takes a person, as a refusal. Throws everything else. */
export function asRefusal(error: unknown): SignerRefusal {
  if (error instanceof ViewUnavailable) return refusal('later', 'chain_unavailable', error.message);
  if (error instanceof JournalBroken) return refusal('stopped', 'journal_broken', error.message);
  throw error;
}
