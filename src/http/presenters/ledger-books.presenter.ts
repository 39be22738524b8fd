import { formatAmount, signedAmountOf } from '../../domain/money/money.ts';
import { NETWORKS } from '../../domain/networks/networks.ts';
import { toSec } from '../../ports/clock.ts';
import type { EntryRow } from '../../../projections/ledger/rows.ts';
import type { TrialBalance } from '../../features/ledger/balances.ts';
import type { Worth } from '../../features/ledger/valuation/worth.ts';

/* The books as the operator sees them: all accounts, with separate columns for debits and credits. */

export function presentTrialBalance(
  { mode, asOf, entries, balances, sums, sealed }: TrialBalance,
  worth: Worth | null,
) {
  return {
    mode,
    as_of: asOf.throughMs === undefined ? asOf.day : new Date(asOf.throughMs).toISOString(),
    clock: asOf.clock,
    entries,
    balanced: sums.every(({ units }) => units === 0n),
    sealed,
    ...(worth && { worth_in: worth.currency, worth_at: worth.atSec }),
    accounts: balances.map((balance) => {
      const { account, network, coin, units } = balance;
      return { account, network, coin, ...columnsOf(units), ...(worth && { worth: worth.of(balance) }) };
    }),
    totals: sums.toSorted(byPlace).map(({ network, coin, units }) => {
      const own = balances.filter((balance) => balance.network === network && balance.coin === coin);
      const debits = own.reduce((sum, balance) => (balance.units > 0n ? sum + balance.units : sum), 0n);
      return {
        network,
        coin,
        debit: formatAmount(debits),
        credit: formatAmount(debits - units),
        difference: formatAmount(units),
      };
    }),
  };
}

export function presentEntryOfBooks(entry: EntryRow) {
  const { number, id, kind, recordedAtMs, chainTimeSec, days, lines, memo, value } = entry;
  return {
    entry: number,
    id,
    kind,
    recorded_at: toSec(recordedAtMs),
    recorded_day: days.recorded,
    chain_time: chainTimeSec ?? null,
    chain_day: days.chain,
    merchant_id: entry.merchantId ?? null,
    order_id: entry.orderId ?? null,
    session_id: entry.sessionId ?? null,
    refund_id: entry.refundId ?? null,
    move_id: entry.moveId ?? null,
    tx_hash: entry.txHash ?? null,
    block_number: entry.blockNumber ?? null,
    block_hash: entry.blockHash ?? null,
    reverses: entry.reverses ?? null,
    memo: memo ? { ...memo, amount: formatAmount(signedAmountOf(memo.amount)) } : null,
    value: value ?? null,
    lines: lines.map(({ account, network, coin, amount, balance, address }) => ({
      account,
      network,
      coin,
      ...columnsOf(signedAmountOf(amount)),
      balance: formatAmount(signedAmountOf(balance)),
      address: address ?? null,
    })),
  };
}

const columnsOf = (units: bigint) => ({
  debit: units > 0n ? formatAmount(units) : null,
  credit: units < 0n ? formatAmount(-units) : null,
});

/** In the usual order of networks, then by coin name: always the same. */
const byPlace = (one: TrialBalance['sums'][number], other: TrialBalance['sums'][number]): number =>
  NETWORKS.indexOf(one.network) - NETWORKS.indexOf(other.network) || (one.coin < other.coin ? -1 : 1);
