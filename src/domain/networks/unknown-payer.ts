/** Why the chain names nobody to whom a transfer could be paid back. */
export type UnknownPayer =
  | 'several_payers'
  /** Nobody's balance fell: the tokens were made, or stayed with one owner. */
  | 'nobody_paid'
  | 'account_closed'
  | 'account_handed_over'
  /** The node does not say whose account it was. */
  | 'owner_not_named'
  /** Transfers too small to be kept one by one. */
  | 'counted_together';

const WORDS: Readonly<Record<UnknownPayer, string>> = {
  several_payers: 'the chain does not name exactly one paying address',
  nobody_paid: "nobody's balance fell: the tokens were minted, or stayed with one owner",
  account_closed: 'the account that paid was closed in the same transaction',
  account_handed_over: 'the account that paid was handed to another owner in the same transaction',
  owner_not_named: 'the node does not say whose account paid',
  counted_together: 'it is the sum of many transfers below the dust limit',
};

/** `why` is absent for transfers of networks that know one reason only. */
export const unknownPayerWords = (why: UnknownPayer | undefined): string => WORDS[why ?? 'several_payers'];
