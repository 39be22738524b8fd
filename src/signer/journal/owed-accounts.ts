import type { SessionEvent } from '../../domain/events/session-events.ts';
import type { TransferEvent } from '../../domain/events/transfer-events.ts';
import { merchantAccountOf, SUSPENSE, UNMATCHED, type Posting } from '../../domain/money/ledger.ts';
import type { MerchantId, Mode } from '../../domain/values/ids.ts';
import type { OutgoingKind } from '../../ports/outgoing/transaction.ts';

/* Accounts of the books that belong to others, by mode, owner, network and coin. */

/** `owner`: a merchant, an account of others, or an address. */
export const accountKey = (
  mode: Mode,
  owner: string,
  { network, coin }: Pick<Posting, 'network'> & { readonly coin: string },
): string => `${mode}/${owner}/${network}/${coin}`;

/** Whose account pays a move, and its name in words; null if it names nobody. */
export function ownerOf(kind: OutgoingKind, merchantId: MerchantId | null) {
  if (kind === 'return') return { owner: UNMATCHED, name: 'unmatched transfers' };
  if (kind === 'native_return') return { owner: SUSPENSE, name: 'unknown senders' };
  return merchantId && { owner: merchantId, name: 'the merchant' };
}

/** The account of a merchant, of unmatched transfers or of unknown senders in this line; null for others. */
export function ownedAccountOf(mode: Mode, posting: Posting): string | null {
  if (posting.account === SUSPENSE || posting.account === UNMATCHED) return accountKey(mode, posting.account, posting);
  const merchant = merchantAccountOf(posting.account);
  return merchant?.part === 'payable' ? accountKey(mode, merchant.merchantId, posting) : null;
}

/** Which transfers are in the account of unmatched ones: what paid an order is returned to nobody. */
export class UnmatchedTransfers {
  readonly #keys = new Set<string>();

  follow(mode: Mode, event: SessionEvent | TransferEvent): void {
    switch (event.type) {
      case 'TransferRecorded':
        if (event.data.origin.kind !== 'session') this.#keys.add(keyOf(mode, event.data));
        return;
      case 'DepositSetAside':
      case 'TransferCreditReversed':
        this.#keys.add(keyOf(mode, event.data));
        return;
      case 'DepositPutBack':
      case 'TransferCredited':
        this.#keys.delete(keyOf(mode, event.data));
        return;
      default:
    }
  }

  has(mode: Mode, deposit: { readonly depositKey: string }): boolean {
    return this.#keys.has(keyOf(mode, deposit));
  }
}

const keyOf = (mode: Mode, { depositKey }: { readonly depositKey: string }): string => `${mode}/${depositKey}`;
