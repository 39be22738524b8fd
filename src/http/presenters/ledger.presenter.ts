import { merchantAccountOf, type FiatValue } from '../../domain/money/ledger.ts';
import type { MerchantId } from '../../domain/values/ids.ts';
import { formatAmount, signedAmountOf } from '../../domain/money/money.ts';
import { toSec } from '../../ports/clock.ts';
import type { EntryRow } from '../../../projections/ledger/rows.ts';
import type { AsOf } from '../../features/ledger/balances.ts';
import type { PlacedEntry } from '../../features/ledger/journal.ts';
import { totalOf, type Owed, type OwedBalance, type SettlementLine } from '../../features/ledger/settlement.ts';
import type { SettlementPage } from '../../features/ledger/merchant-ledger.ts';
import type {
  FiatValueBody,
  LedgerBalancesBody,
  LedgerEntryBody,
  OwedBalanceBody,
  SettlementLineBody,
  SettlementReportBody,
} from '../schemas/ledger.schema.ts';

/* The books in wire form, as their merchant sees them: what is owed to it is positive. */

export const presentBalances = ({ day, clock }: AsOf, balances: readonly OwedBalance[]): LedgerBalancesBody => ({
  as_of: day,
  clock,
  data: balances.map(presentOwed),
});

export function presentSettlement({
  range,
  opening,
  closing,
  lines,
  pagination,
}: SettlementPage): SettlementReportBody {
  const { from, to, clock } = range;
  return {
    from,
    to,
    clock,
    opening: opening.map(presentOwed),
    closing: closing.map(presentOwed),
    data: lines.map(presentLine),
    pagination,
  };
}

export function presentEntry({ place, entry }: PlacedEntry, merchantId: MerchantId): LedgerEntryBody {
  const lines = entry.lines.flatMap(({ account, network, coin, amount, balance }) => {
    const own = merchantAccountOf(account);
    if (own?.merchantId !== merchantId) return [];
    return [{ account: wireName(own.part), network, coin, amount: negated(amount), balance: negated(balance) }];
  });
  const { memo } = entry;
  return {
    number: place,
    ...entryFields(entry),
    memo: memo ? { ...memo, amount: formatAmount(signedAmountOf(memo.amount)) } : null,
    lines,
  };
}

const presentOwed = ({ network, coin, owed }: OwedBalance): OwedBalanceBody => ({
  network,
  coin,
  ...presentAmounts(owed),
});

const presentLine = ({ entry, network, coin, changed, value }: SettlementLine): SettlementLineBody => ({
  ...entryFields(entry),
  network,
  coin,
  ...presentAmounts(changed),
  value: presentValue(value),
});

const presentAmounts = (owed: Owed) => ({
  payable: formatAmount(owed.payable),
  unapplied: formatAmount(owed.unapplied),
  refunds_reserved: formatAmount(owed['refunds-reserved']),
  total: formatAmount(totalOf(owed)),
});

function entryFields(entry: EntryRow) {
  return {
    id: entry.id,
    kind: entry.kind,
    recorded_at: toSec(entry.recordedAtMs),
    recorded_day: entry.days.recorded,
    chain_time: entry.chainTimeSec ?? null,
    chain_day: entry.days.chain,
    order_id: entry.orderId ?? null,
    session_id: entry.sessionId ?? null,
    refund_id: entry.refundId ?? null,
    tx_hash: entry.txHash ?? null,
    log_index: entry.logIndex ?? null,
    block_number: entry.blockNumber ?? null,
    block_hash: entry.blockHash ?? null,
    reverses: entry.reverses ?? null,
    value: presentValue(entry.value ?? null),
  };
}

const presentValue = (value: FiatValue | null): FiatValueBody | null =>
  value && {
    currency: value.currency,
    at_locked_rate: value.atLockedRate,
    at_settlement_quote: value.atSettlementQuote,
    difference: value.difference,
  };

const wireName = (part: string): LedgerEntryBody['lines'][number]['account'] => part.replaceAll('-', '_');
const negated = (amount: string): string => formatAmount(-signedAmountOf(amount));
