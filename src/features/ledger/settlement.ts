import type { MerchantId } from '../../domain/values/ids.ts';
import {
  merchantAccountOf,
  MERCHANT_ACCOUNTS,
  type FiatValue,
  type MerchantAccount,
} from '../../domain/money/ledger.ts';
import { signedAmountOf } from '../../domain/money/money.ts';
import type { Network } from '../../domain/networks/networks.ts';
import type { EntryRow } from '../../../projections/ledger/rows.ts';
import type { AccountBalance } from './balances.ts';

/** What the merchant is owed, by account. Credits are positive here, as the merchant sees them. */
export type Owed = Readonly<Record<MerchantAccount, bigint>>;

/**
 * A line of the settlement report: what one entry changed for the merchant, in one coin on one network. All lines of a
 * coin and network may be summed; a movement between the merchant's own accounts adds nothing to `total`.
 */
export interface SettlementLine {
  readonly entry: EntryRow;
  /** Null for a value without money. */
  readonly network: Network | null;
  readonly coin: string;
  readonly changed: Owed;
  readonly total: bigint;
  /** Only on one line of an entry. */
  readonly value: FiatValue | null;
}

const NOTHING_OWED: Owed = { payable: 0n, unapplied: 0n, 'refunds-reserved': 0n };

export const totalOf = (owed: Owed): bigint => MERCHANT_ACCOUNTS.reduce((sum, account) => sum + owed[account], 0n);

/** The report lines of an entry for one merchant; none for a memo without a value. */
export function settlementLinesOf(entry: EntryRow, merchantId: MerchantId): SettlementLine[] {
  const changes = new Map<string, { network: Network; coin: string; changed: Owed }>();
  for (const { account, network, coin, amount } of entry.lines) {
    const part = partOf(account, merchantId);
    if (part === null) continue;
    const key = `${network}/${coin}`;
    const { changed } = changes.get(key) ?? { changed: NOTHING_OWED };
    changes.set(key, { network, coin, changed: { ...changed, [part]: changed[part] - signedAmountOf(amount) } });
  }
  const value = entry.value ?? null;
  const lines = [...changes.values()].map(({ network, coin, changed }, index) => ({
    entry,
    network,
    coin,
    changed,
    total: totalOf(changed),
    value: index === 0 ? value : null,
  }));
  if (lines.length > 0 || value === null) return lines;
  return [{ entry, network: null, coin: entry.memo?.coin ?? '', changed: NOTHING_OWED, total: 0n, value }];
}

export interface OwedBalance {
  readonly network: Network;
  readonly coin: string;
  readonly owed: Owed;
}

/** Balances of a merchant's accounts by network and coin, as the merchant sees them. */
export function owedOf(balances: readonly AccountBalance[], merchantId: MerchantId): OwedBalance[] {
  const found = new Map<string, OwedBalance>();
  for (const { account, network, coin, units } of balances) {
    const part = partOf(account, merchantId);
    if (part === null) continue;
    const key = `${network}/${coin}`;
    const { owed } = found.get(key) ?? { owed: NOTHING_OWED };
    found.set(key, { network, coin, owed: { ...owed, [part]: owed[part] - units } });
  }
  return [...found.values()];
}

function partOf(account: string, merchantId: MerchantId): MerchantAccount | null {
  const merchant = merchantAccountOf(account);
  if (merchant?.merchantId !== merchantId) return null;
  return MERCHANT_ACCOUNTS.find((part) => part === merchant.part) ?? null;
}
