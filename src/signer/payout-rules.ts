import { amountOf, formatAmount, type Coin } from '../domain/money.ts';
import type { Network } from '../domain/networks.ts';
import type { PayoutLimits, PayoutRules } from '../ports/signer-protocol.ts';
import type { PayoutOrder, PayoutRefusal, PayoutSignature } from '../ports/payouts.ts';
import { hash, timingSafeEqual } from 'node:crypto';
import { bytesOf, refusal, standing } from './exclusive.ts';
import type { JournalEntry, MovedEntry, PayoutJournal, SignedEntry } from './payout-journal.ts';

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

export const signedOf = (entries: readonly JournalEntry[]): SignedEntry[] => entries.filter((entry): entry is SignedEntry => entry.kind === 'signed');

/** Whether an id names something of another kind or network: what is released or approved by its id must be one thing. */
export const isIdTaken = (entries: readonly JournalEntry[], legId: string, kind: 'signed' | 'moved', network: Network): boolean =>
  bytesOf(entries).some((entry) => entry.legId === legId && (entry.kind !== kind || entry.network !== network));

/** What an approval is for: another amount or payee needs another approval. */
export const termsOf = (order: PayoutOrder): string =>
  hash('sha256', JSON.stringify([order.mode, order.network, order.legId, order.coin, order.amount, order.toAddress]), 'hex');

/**
 * Caps, velocity and four eyes, from the journal alone, of which `entries` leaves out what the payload takes the place of. `nowMs` must be the journal's own time, which never falls, so
 * that a clock set back frees nothing. Null when nothing stands in the way.
 */
export function limitsRefusal(
  order: { readonly coin: Coin; readonly amount: string },
  /** What an approval of it is for. */
  terms: string,
  entries: readonly JournalEntry[],
  rules: PayoutRules,
  nowMs: number,
): PayoutRefusal | null {
  const limits = rules.limits[order.coin];
  if (!limits) return refusal('later', 'no_policy', `no limits are set for ${order.coin}, so none of it is paid out`);
  const units = amountOf(order.amount);
  if (units > amountOf(limits.perTransaction))
    return refusal('later', 'per_transaction_cap', `more than ${limits.perTransaction} ${order.coin} in one payout`);
  const paid = standing(entries).filter((entry) => (entry.takenFrom?.length ?? 0) > 0);
  const since = (ms: number): (SignedEntry | MovedEntry)[] => paid.filter((entry) => entry.atMs > nowMs - ms);
  if (since(HOUR_MS).length >= rules.payoutsPerHour) return refusal('later', 'velocity', `${rules.payoutsPerHour} payouts within an hour`);
  return (
    windowRefusal(order.coin, units, since(HOUR_MS), limits.perHour, 'hourly_cap') ??
    windowRefusal(order.coin, units, since(DAY_MS), limits.perDay, 'daily_cap') ??
    approvalRefusal(order, units, limits, terms, entries)
  );
}

function windowRefusal(coin: Coin, units: bigint, signed: readonly (SignedEntry | MovedEntry)[], cap: string, code: string): PayoutRefusal | null {
  const used = signed.filter((entry) => entry.coin === coin).reduce((total, entry) => total + BigInt(entry.units), 0n);
  return used + units <= amountOf(cap) ? null : refusal('later', code, `${formatAmount(used)} of ${cap} ${coin} are used`);
}

function approvalRefusal(
  order: { readonly coin: Coin; readonly amount: string },
  units: bigint,
  limits: PayoutLimits,
  terms: string,
  entries: readonly JournalEntry[],
): PayoutRefusal | null {
  if (units < amountOf(limits.approvalFrom)) return null;
  const approvers = new Set(entries.flatMap((entry) => (entry.kind === 'approved' && entry.terms === terms ? [entry.approver] : [])));
  return approvers.size >= 2 ? null : refusal('later', 'approval', `${approvers.size} of 2 approvals for ${order.amount} ${order.coin}`);
}

/** Money of each deposit that refunds and returns have taken and not given back, in 10^-18 units. */
export function takenByDeposit(entries: readonly JournalEntry[]): Map<string, bigint> {
  const released = new Set(entries.flatMap((entry) => (entry.kind === 'released' ? [entry.legId] : [])));
  const taken = new Map<string, bigint>();
  for (const entry of standing(entries)) {
    if (released.has(entry.legId)) continue;
    for (const { depositKey, units } of entry.takenFrom ?? []) taken.set(depositKey, (taken.get(depositKey) ?? 0n) + BigInt(units));
  }
  return taken;
}

export const signatureOf = (entry: SignedEntry | MovedEntry): PayoutSignature => ({
  ok: true,
  txHash: entry.txHash,
  signedBytes: entry.signedBytes,
  journal: { seq: entry.seq, hash: entry.hash },
});

/** The kill switch as the journal has it. */
export function isStopped(journal: PayoutJournal): boolean {
  return journal.entries.findLast((entry) => entry.kind === 'stopped' || entry.kind === 'resumed')?.kind === 'stopped';
}

/** Null when the secret is the approver's own. */
export function approverRefusal({ approvers }: PayoutRules, approver: string, secret: string): PayoutRefusal | null {
  const known = approvers.find(({ name }) => name === approver);
  const isTheirs = known !== undefined && timingSafeEqual(hash('sha256', secret, 'buffer'), Buffer.from(known.secretHash, 'hex'));
  return isTheirs ? null : refusal('denied', 'unknown_approver', 'no such approver, or not its secret');
}
