import type { TransactionDraft } from '../../domain/events/transaction-draft.ts';
import { amountOf, formatAmount } from '../../domain/money/money.ts';
import { mostNative } from '../../domain/networks/native-cost.ts';
import {
  gwei,
  nativeLimitsOf,
  type NativeLimits,
  type NativeLimitsChange,
} from '../../domain/networks/native-limits.ts';
import { NATIVE_COIN, type Network } from '../../domain/networks/networks.ts';
import type { OutgoingTransaction } from '../../ports/outgoing/transaction.ts';
import type { SignerRefusal } from '../../ports/outgoing/signer.ts';
import type { JournalEntry, SignedEntry } from '../journal/journal.ts';
import { bytesOf, isEvm, isReleased, refusal } from '../exclusive.ts';
import { DAY_MS, HOUR_MS } from './limits.ts';

/* Limits on native coin, computed from the transactions' own bytes. */

/** Why the fees of a draft are too high, whoever pays them; null if they are within bounds. */
export function feeRefusal(
  draft: TransactionDraft,
  network: Network,
  change: NativeLimitsChange | undefined,
): SignerRefusal | null {
  const limits = nativeLimitsOf(network, change);
  if (isEvm(draft)) {
    const [price, tip] = [BigInt(draft.maxFeePerGas), BigInt(draft.maxPriorityFeePerGas)];
    if (tip > price) return refusal('denied', 'wrong_draft', 'the priority fee is above the whole fee');
    if (price > gwei(limits.maxGasPriceGwei)) return tooDear(`${limits.maxGasPriceGwei} gwei per unit of gas`);
    return tip > gwei(limits.maxPriorityFeeGwei) ? tooDear(`${limits.maxPriorityFeeGwei} gwei of priority fee`) : null;
  }
  const price = 'computeUnitPrice' in draft ? draft.computeUnitPrice : undefined;
  if (price === undefined || BigInt(price) <= BigInt(limits.maxPriorityFeeMicroLamports)) return null;
  return tooDear(`${limits.maxPriorityFeeMicroLamports} micro-lamports per compute unit`);
}

const tooDear = (limit: string): SignerRefusal =>
  refusal('later', 'network_fee_too_high', `the draft pays more than ${limit}`);

export interface NativeParts {
  readonly network: Network;
  readonly entries: readonly JournalEntry[];
  readonly limits: NativeLimitsChange | undefined;
  /** The journal's own monotonic time. */
  readonly nowMs: number;
}

/** Caps on native coin over everything that the treasury pays for; null if the draft stays within all of them. */
export function nativeRefusal(draft: TransactionDraft, parts: NativeParts): SignerRefusal | null {
  const limits = nativeLimitsOf(parts.network, parts.limits);
  const most = mostNative(draft);
  if (most > amountOf(limits.perTransaction)) {
    const coin = NATIVE_COIN[parts.network];
    return refusal(
      'later',
      'native_per_transaction_cap',
      `${formatAmount(most)} ${coin} could be spent, more than ${limits.perTransaction} per transaction`,
    );
  }
  return windowsRefusal(most, exclusiveKey(draft), limits, parts);
}

/** Whether there is room for another transaction of the last one's size; checked before anything is drafted. */
export function nativeRoomRefusal(parts: NativeParts): SignerRefusal | null {
  const last = paidByTreasury(parts).at(-1);
  return windowsRefusal(last ? mostNative(last.draft) : 0n, null, nativeLimitsOf(parts.network, parts.limits), parts);
}

function windowsRefusal(
  most: bigint,
  own: string | null,
  limits: NativeLimits,
  parts: NativeParts,
): SignerRefusal | null {
  const windows = [
    [HOUR_MS, limits.perHour, 'native_hourly_cap'],
    [DAY_MS, limits.perDay, 'native_daily_cap'],
  ] as const;
  for (const [windowMs, cap, code] of windows) {
    const used = usedNative(most, own, parts, windowMs);
    if (used > amountOf(cap))
      return refusal(
        'later',
        code,
        `${formatAmount(used)} ${NATIVE_COIN[parts.network]} could then be spent, more than the cap of ${cap}`,
      );
  }
  return null;
}

/**
 * Use including the new transaction. Of transactions that exclude each other the most expensive counts; all others
 * count as landed.
 */
function usedNative(most: bigint, own: string | null, parts: NativeParts, windowMs: number): bigint {
  let counted = own === null ? most : 0n;
  const exclusive = new Map<string, bigint>(own === null ? [] : [[own, most]]);
  for (const entry of paidByTreasury(parts)) {
    if (entry.atMs <= parts.nowMs - windowMs) continue;
    const key = exclusiveKey(entry.draft);
    const isUnmade = entry.draft.kind === 'solana-nonce-account' && isReleased(parts.entries, entry.id);
    const units = mostNative(isUnmade ? { ...entry.draft, lamports: '0' } : entry.draft);
    if (key === null) counted += units;
    else if (units > (exclusive.get(key) ?? -1n)) exclusive.set(key, units);
  }
  return [...exclusive.values()].reduce((total, units) => total + units, counted);
}

/** On Solana the treasury also pays for sweeps; elsewhere their fees come out of top-ups. */
export const isPaidByTreasury = ({ kind, network }: Pick<OutgoingTransaction, 'kind' | 'network'>): boolean =>
  kind !== 'sweep' || network === 'solana';

const paidByTreasury = ({ network, entries }: NativeParts): SignedEntry[] =>
  bytesOf(entries).filter((entry) => entry.network === network && isPaidByTreasury({ kind: entry.purpose, network }));

/** Of all transactions of the treasury with one nonce at most one lands. */
const exclusiveKey = (draft: TransactionDraft): string | null => {
  if (draft.kind === 'solana') return `${draft.nonceIndex} ${draft.nonce}`;
  return 'nonce' in draft ? String(draft.nonce) : null;
};
