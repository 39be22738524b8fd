import { unfixed, type Unfixed } from '../unfixed-fault.ts';

const POSTINGS = 'projections/ledger/postings.ts';

/** The ledger, and its comparison with the chains. */
export const BOOKS_FAULTS: readonly Unfixed[] = [
  unfixed(
    'a sweep on its way counts as money from outside',
    '--focus sweep --network ethereum --profile embedded',
    'src/features/treasury/reconcile-look.ts',
    'return most(booked, onChain - arriving);',
    'return most(onChain, arriving - arriving);',
  ),
  unfixed(
    'books are compared through a provider that lags',
    '--focus lagMs --focus sweep --network bsc --profile embedded',
    'src/features/treasury/reconcile-look.ts',
    'const atLeast = await deps.newestBooked(chain);',
    'const atLeast = 0;',
  ),
  unfixed(
    'a difference that changes from look to look counts',
    '--focus deep --focus aimed --focus sweep --network ethereum --profile embedded',
    'src/features/treasury/settled-look.ts',
    'return isSameDifference(before, last) && (looks.length >= LOOKS || !hasDifference(last));',
    'return looks.length >= LOOKS || !hasDifference(last);',
    'three looks, twenty seconds apart, must all differ from the books and from each other: providers that lack the newest booked block are skipped, and only forks in quick succession do that',
  ),
  unfixed(
    'the fee of a refund is not booked',
    '--focus sweep --network bsc --profile embedded',
    POSTINGS,
    '...payout(books, leg, 1n), ...fee(leg, networkFee, 1n)]',
    '...payout(books, leg, 1n)]',
  ),
  unfixed(
    'the fee of a refund that moved nothing is not booked',
    '--focus paused --focus aimed --focus sweep --network bsc --profile embedded',
    POSTINGS,
    "...reservation(books, leg, -1n), ...fee(leg, networkFee ?? '0', 1n)]",
    '...reservation(books, leg, -1n)]',
  ),
  unfixed(
    'the fee of a sweep is not booked',
    '--focus sweep --network bsc --profile embedded',
    'projections/ledger/treasury-postings.ts',
    "...transfer(kind, data), ...fee(kind, data, data.networkFee, kind === 'native_coin_returned' ? SUSPENSE : NETWORK_FEES)]",
    '...transfer(kind, data)]',
  ),
  unfixed(
    'money that a reorganisation took stays in the books',
    '--focus deep --network ethereum --profile embedded',
    POSTINGS,
    'DepositReverted: reverted,',
    'DepositReverted: nothing,',
  ),
  unfixed(
    'the fee of gas for a sweep is booked where the gas went',
    '--focus sweep --network ethereum --profile embedded',
    'projections/ledger/treasury-postings.ts',
    "kind === 'sweep' && feeAddress === fromAddress ?",
    "kind === 'sweep' || kind === 'gas_top_up' ?",
  ),
];
