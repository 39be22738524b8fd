import { amountOf, COINS, formatAmount, type Coin } from '../../domain/money/money.ts';
import type { Network } from '../../domain/networks/networks.ts';
import type { OutgoingTransaction } from '../../ports/outgoing/transaction.ts';
import type { PayoutRules } from '../../ports/signer/protocol.ts';
import type { Signature, SignerRefusal, UsedCap } from '../../ports/outgoing/signer.ts';
import { missingApprovals } from '../approvals/count.ts';
import { openOutflows } from '../approvals/text.ts';
import { bytesOf, refusal, standing } from '../exclusive.ts';
import type { Journal, JournalEntry, SignedEntry } from '../journal/journal.ts';

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** Whether the id belongs to another kind or network. An id that is released or approved must be unambiguous. */
export const isIdTaken = (entries: readonly JournalEntry[], { id, kind, network }: OutgoingTransaction): boolean =>
  bytesOf(entries).some((entry) => entry.id === id && (entry.purpose !== kind || entry.network !== network));

/**
 * Caps, velocity and four eyes, from the journal alone; `entries` must omit what the payload replaces. `nowMs` must be
 * the journal's own time, which never decreases, so that setting the clock back frees nothing. Null if nothing stands
 * in the way.
 */
export function limitsRefusal(
  order: { readonly coin: Coin; readonly amount: string },
  /** The terms that an approval may refer to. */
  terms: readonly string[],
  entries: readonly JournalEntry[],
  rules: PayoutRules,
  nowMs: number,
): SignerRefusal | null {
  const limits = rules.limits[order.coin];
  if (!limits) return refusal('later', 'no_policy', `no limits are set for ${order.coin}, so payouts in it are denied`);
  const units = amountOf(order.amount);
  if (units > amountOf(limits.perTransaction))
    return refusal('later', 'per_transaction_cap', `more than ${limits.perTransaction} ${order.coin} in one payout`);
  const since = (ms: number): SignedEntry[] => paidSince(entries, nowMs - ms);
  if (since(HOUR_MS).length >= rules.payoutsPerHour)
    return refusal('later', 'velocity', `${rules.payoutsPerHour} payouts within an hour`);
  return (
    windowRefusal(order.coin, units, since(HOUR_MS), limits.perHour, 'hourly_cap') ??
    windowRefusal(order.coin, units, since(DAY_MS), limits.perDay, 'daily_cap') ??
    (units < amountOf(limits.approvalFrom)
      ? null
      : missingApprovals(entries, terms, `approvals for ${order.amount} ${order.coin}`, rules))
  );
}

const paidSince = (entries: readonly JournalEntry[], sinceMs: number): SignedEntry[] =>
  standing(entries).filter((entry) => entry.takenFrom.length > 0 && entry.atMs > sinceMs);

const sumOf = (coin: Coin, signed: readonly SignedEntry[]): bigint =>
  signed.filter((entry) => entry.coin === coin).reduce((total, entry) => total + BigInt(entry.units), 0n);

/** For display: the caps of each coin and their current use. */
export function usedCaps(entries: readonly JournalEntry[], limits: PayoutRules['limits'], nowMs: number): UsedCap[] {
  const [inHour, inDay] = [paidSince(entries, nowMs - HOUR_MS), paidSince(entries, nowMs - DAY_MS)];
  return COINS.flatMap((coin) => {
    const of = limits[coin];
    return of
      ? [{ coin, ...of, usedInHour: formatAmount(sumOf(coin, inHour)), usedInDay: formatAmount(sumOf(coin, inDay)) }]
      : [];
  });
}

function windowRefusal(
  coin: Coin,
  units: bigint,
  signed: readonly SignedEntry[],
  cap: string,
  code: string,
): SignerRefusal | null {
  const used = sumOf(coin, signed);
  return used + units <= amountOf(cap)
    ? null
    : refusal('later', code, `${formatAmount(used)} of ${cap} ${coin} are used`);
}

/** Money of each deposit, by its place, that refunds and returns have taken and not given back, in 10^-18 units. */
export function takenByPlace(entries: readonly JournalEntry[]): Map<string, bigint> {
  const released = new Set(entries.flatMap((entry) => (entry.kind === 'released' ? [entry.id] : [])));
  const taken = new Map<string, bigint>();
  for (const entry of standing(entries)) {
    if (released.has(entry.id)) continue;
    for (const { place, units } of entry.takenFrom) taken.set(place, (taken.get(place) ?? 0n) + BigInt(units));
  }
  return taken;
}

export const signatureOf = (entry: Pick<SignedEntry, 'txHash' | 'signedBytes' | 'seq' | 'hash'>): Signature => ({
  ok: true,
  txHash: entry.txHash,
  signedBytes: entry.signedBytes,
  journal: { seq: entry.seq, hash: entry.hash },
});

/** Why nothing at all is signed on the network; null if signing is not stopped. */
export function stopRefusal(journal: Journal, network: Network): SignerRefusal | null {
  if (isStopped(journal)) return refusal('later', 'kill_switch', 'the kill switch is on');
  const open = openOutflows(journal.entries, network).length;
  return open === 0
    ? null
    : refusal(
        'later',
        'unknown_outflow',
        `${open} unknown outflows of ${network} are not yet acknowledged by two approvers`,
      );
}

/** The kill switch as the journal has it. */
export function isStopped(journal: Journal): boolean {
  return journal.entries.findLast((entry) => entry.kind === 'stopped' || entry.kind === 'resumed')?.kind === 'stopped';
}
