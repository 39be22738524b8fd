import type { Registry } from 'prom-client';
import type { Mode } from '../../domain/values/ids.ts';
import type { Network } from '../../domain/networks/networks.ts';
import type { WaitReason } from '../../ports/outgoing/transaction.ts';
import type { SourceOwnership } from '../../features/addresses/confirmation.process.ts';
import type { ClockVerdict } from '../../runtime/util/clock-check.ts';
import type { Comparison } from '../../features/treasury/comparisons.ts';
import type { AddressStock } from '../../features/addresses/pool.ts';
import { gaugesIn } from './gauges.ts';

/** The state of a rate provider. */
export interface RateProviderStatus {
  readonly provider: string;
  /** Null before the first answer. */
  readonly ageMs: number | null;
  readonly breaker: 'closed' | 'open';
}

/** One balance of the operator's own wallet; `gas` pays fees, `coin` pays refunds. */
export interface TreasuryBalance {
  readonly mode: Mode;
  readonly network: Network;
  readonly kind: 'coin' | 'gas';
  /** The coin, such as USDT or ETH. */
  readonly coin: string;
  /** Units of the coin; only for display and alarms, so a float suffices. */
  readonly amount: number;
}

/** The state of the books. */
export interface LedgerState {
  /** Debits less credits by mode and coin, in units: anything but zero is an alarm. */
  imbalances(): readonly { readonly mode: Mode; readonly coin: string; readonly amount: number }[];
}

export function reportRates(registry: Registry, status: () => readonly RateProviderStatus[], maxAgeSec: number): void {
  const gauge = gaugesIn(registry);
  gauge.by('quittance_rate_quote_age_seconds', "Age of a rate provider's newest quotes.", ['provider'], () =>
    status().map(({ provider, ageMs }) => [{ provider }, ageMs === null ? null : ageMs / 1000]),
  );
  gauge.by(
    'quittance_rate_provider_up',
    '1 while a rate provider answers, 0 while it is left alone after failures.',
    ['provider'],
    () => status().map(({ provider, breaker }) => [{ provider }, breaker === 'closed' ? 1 : 0]),
  );
  gauge('quittance_rate_quote_max_age_seconds', 'Older quotes are not used.', () => maxAgeSec);
}

export function reportAddresses(registry: Registry, stocks: () => readonly AddressStock[]): void {
  const gauge = (name: string, help: string, of: (stock: AddressStock) => number): void =>
    gaugesIn(registry).by(name, help, ['mode', 'family'], () =>
      stocks().map((stock) => [{ mode: stock.mode, family: stock.family }, of(stock)]),
    );
  gauge('quittance_address_stock', 'Collection addresses ready to be given out.', ({ available }) => available);
  gauge('quittance_address_stock_target', 'Collection addresses that are kept ready.', ({ target }) => target);
  gauge('quittance_address_pool_exhausted', '1 when an exported pool of addresses has run out.', ({ exhausted }) =>
    exhausted ? 1 : 0,
  );
}

/** Who owns the addresses that are assigned: see `ConfirmAddresses`. */
export function reportOwnership(registry: Registry, status: () => readonly SourceOwnership[]): void {
  gaugesIn(registry).by(
    'quittance_addresses_withheld',
    '1 while no address of a family is given out, since the signer calls them not its own (foreign) or has not answered (unasked).',
    ['mode', 'family', 'reason'],
    () =>
      status().flatMap(({ mode, family, ownership }) =>
        ['foreign', 'unasked'].map((reason) => [{ mode, family, reason }, ownership === reason ? 1 : 0] as const),
      ),
  );
}

export function reportClock(registry: Registry, verdict: () => ClockVerdict): void {
  const gauge = gaugesIn(registry);
  gauge(
    'quittance_clock_in_doubt',
    '1 while more servers and chains contradict the clock of this node than agree with it: nothing is created and nothing expires.',
    () => (verdict().isInDoubt ? 1 : 0),
  );
  gauge(
    'quittance_clock_offset_seconds',
    'How far the clock of this node is ahead of the median of the servers; negative if it is behind.',
    () => {
      const { offsetMs } = verdict();
      return offsetMs === null ? null : offsetMs / 1000;
    },
  );
}

export function reportSigner(registry: Registry, isAlive: () => boolean): void {
  gaugesIn(registry)(
    'quittance_signer_up',
    '1 while the signer of this process answers; absent where there is none.',
    () => (isAlive() ? 1 : 0),
  );
}

/** Balances are read elsewhere at their own pace; this only reports the latest values. */
export function reportTreasury(registry: Registry, balances: () => readonly TreasuryBalance[]): void {
  const report = (kind: TreasuryBalance['kind'], name: string, help: string): void =>
    gaugesIn(registry).by(name, help, ['mode', 'network', 'coin'], () =>
      balances()
        .filter((balance) => balance.kind === kind)
        .map(({ mode, network, coin, amount }) => [{ mode, network, coin }, amount]),
    );
  report('coin', 'quittance_treasury_balance_coins', 'Funds of the treasury for refunds, in units of the coin.');
  report(
    'gas',
    'quittance_treasury_gas_coins',
    "What the treasury holds to pay network fees from, in units of the network's own coin.",
  );
}

/** The state of a treasury for payouts. */
export interface TreasuryState {
  readonly mode: Mode;
  readonly network: Network;
  /** Why no payouts are made at all; null while they are. */
  readonly alarm: string | null;
  readonly waiting: readonly { readonly reason: WaitReason }[];
}

const WAIT_REASONS: readonly WaitReason[] = [
  'insufficient_funds',
  'insufficient_gas',
  'network_fee_too_high',
  'broadcast_refused',
  'not_shown',
  'chain_unavailable',
  'waiting_for_approval',
  'exceeds_account',
  'policy_limit',
  'payouts_stopped',
  'signer_unavailable',
  'deposit_not_final',
  'deposit_reverted',
  'unexpected_error',
  'sequence_busy',
];

export function reportPayouts(registry: Registry, status: () => readonly TreasuryState[]): void {
  const gauge = gaugesIn(registry);
  gauge.by(
    'quittance_refund_payouts_waiting',
    'Refund payouts that wait, by reason.',
    ['mode', 'network', 'reason'],
    () =>
      status().flatMap(({ mode, network, waiting }) =>
        WAIT_REASONS.map(
          (reason) => [{ mode, network, reason }, waiting.filter((payout) => payout.reason === reason).length] as const,
        ),
      ),
  );
  gauge.by(
    'quittance_treasury_alarm',
    '1 while the payouts of a treasury stand still for a reason that a person must look at.',
    ['mode', 'network'],
    () => status().map(({ mode, network, alarm }) => [{ mode, network }, alarm === null ? 0 : 1]),
  );
}

export function reportComparisons(registry: Registry, comparisons: () => readonly Comparison[]): void {
  const gauges = gaugesIn(registry);
  gauges.by(
    'quittance_books_comparison_overdue_seconds',
    'By how much the comparison of the books with the chain is overdue; 0 while it is not.',
    ['mode', 'network', 'kind'],
    () => comparisons().map(({ mode, network, kind, overdueSec }) => [{ mode, network, kind }, overdueSec]),
  );
  gauges.by(
    'quittance_books_comparison_failures',
    'Comparisons of the books with the chain that have failed in a row.',
    ['mode', 'network', 'kind'],
    () => comparisons().map(({ mode, network, kind, failures }) => [{ mode, network, kind }, failures]),
  );
}

/** `missing`: days of coins in the books without a rate, although sources should have one by then. */
export function reportBookRates(registry: Registry, missing: () => readonly { readonly coin: string }[]): void {
  gaugesIn(registry).by('quittance_book_rates_missing', 'Days without a rate for the books, by coin.', ['coin'], () =>
    [...Map.groupBy(missing(), ({ coin }) => coin)].map(([coin, days]) => [{ coin }, days.length]),
  );
}

export function reportLedger(registry: Registry, ledger: LedgerState): void {
  gaugesIn(registry).by(
    'quittance_ledger_imbalance_coins',
    'Debits less credits: anything but zero is an alarm.',
    ['mode', 'coin'],
    () => ledger.imbalances().map(({ mode, coin, amount }) => [{ mode, coin }, amount]),
  );
}
