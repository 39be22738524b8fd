import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Mode, MODES } from '../domain/values/ids.ts';
import { formatAmount } from '../domain/money/money.ts';
import type { Network } from '../domain/networks/networks.ts';
import { readJournal, type SignedEntry } from '../signer/journal/journal.ts';

/**
 * A payment that the signer signed and the restored event log lacks: it may have been paid, and must not be paid again.
 */
export interface LostPayment {
  readonly mode: Mode;
  readonly network: Network;
  /** For example `refund`. */
  readonly kind: string;
  /** Id of the move, or of the leg of a refund. */
  readonly id: string;
  readonly attempt: number;
  readonly coin: string;
  readonly amount: string;
  readonly to_address: string;
  readonly tx_hash: string;
  readonly signed_at: string;
}

export const PAYOUT_JOURNAL = /^payouts-(live|test)-[0-9a-f]+\.jsonl$/;

/** From the journals in a folder, by default all of them. Throws `JournalBroken`. */
export function lostPayments(
  folder: string,
  known: ReadonlySet<string>,
  journals: readonly string[] = readdirSync(folder),
): LostPayment[] {
  return journals.flatMap((name) => {
    const named = PAYOUT_JOURNAL.exec(name)?.[1];
    const mode = MODES.find((each) => each === named);
    if (mode === undefined) return [];
    const { entries } = readJournal(join(folder, name));
    return entries
      .filter((entry): entry is SignedEntry => entry.kind === 'signed' && !known.has(entry.hash))
      .map(({ network, purpose, id, attempt, coin, units, toAddress, txHash, atMs }) => ({
        mode,
        network,
        kind: purpose,
        id,
        attempt,
        coin,
        amount: formatAmount(BigInt(units)),
        to_address: toAddress,
        ...{ tx_hash: txHash, signed_at: new Date(atMs).toISOString() },
      }));
  });
}
