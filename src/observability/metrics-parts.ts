import { Gauge, type Registry } from 'prom-client';
import type { Mode } from '../domain/ids.ts';
import type { Network } from '../domain/networks.ts';
import type { WaitReason } from '../ports/outgoing.ts';
import type { SourceOwnership } from '../features/addresses/confirmation.process.ts';
import type { ClockVerdict } from '../runtime/util/clock-check.ts';
import type { AddressStock } from '../features/addresses/pool.ts';

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
  const registers = [registry];
  const labelNames = ['provider'] as const;
  new Gauge({
    name: 'quittance_rate_quote_age_seconds',
    help: "Age of a rate provider's newest quotes.",
    labelNames,
    registers,
    collect() {
      for (const { provider, ageMs } of status()) if (ageMs !== null) this.set({ provider }, ageMs / 1000);
    },
  });
  new Gauge({
    name: 'quittance_rate_provider_up',
    help: '1 while a rate provider answers, 0 while it is left alone after failures.',
    labelNames,
    registers,
    collect() {
      for (const { provider, breaker } of status()) this.set({ provider }, breaker === 'closed' ? 1 : 0);
    },
  });
  new Gauge({ name: 'quittance_rate_quote_max_age_seconds', help: 'Older quotes are not used.', registers }).set(
    maxAgeSec,
  );
}

export function reportAddresses(registry: Registry, stocks: () => readonly AddressStock[]): void {
  const gauge = (name: string, help: string, of: (stock: AddressStock) => number): void => {
    new Gauge({
      name,
      help,
      labelNames: ['mode', 'family'],
      registers: [registry],
      collect() {
        for (const stock of stocks()) this.set({ mode: stock.mode, family: stock.family }, of(stock));
      },
    });
  };
  gauge('quittance_address_stock', 'Collection addresses ready to be given out.', ({ available }) => available);
  gauge('quittance_address_stock_target', 'Collection addresses that are kept ready.', ({ target }) => target);
  gauge('quittance_address_pool_exhausted', '1 when an exported pool of addresses has run out.', ({ exhausted }) =>
    exhausted ? 1 : 0,
  );
}

/** Who owns the addresses that are assigned: see `ConfirmAddresses`. */
export function reportOwnership(registry: Registry, status: () => readonly SourceOwnership[]): void {
  new Gauge({
    name: 'quittance_addresses_withheld',
    help: '1 while no address of a family is given out, since the signer calls them not its own (foreign) or has not answered (unasked).',
    labelNames: ['mode', 'family', 'reason'],
    registers: [registry],
    collect() {
      for (const { mode, family, ownership } of status())
        for (const reason of ['foreign', 'unasked']) this.set({ mode, family, reason }, ownership === reason ? 1 : 0);
    },
  });
}

export function reportClock(registry: Registry, verdict: () => ClockVerdict): void {
  const registers = [registry];
  new Gauge({
    name: 'quittance_clock_in_doubt',
    help: '1 while more servers and chains contradict the clock of this node than agree with it: nothing is created and nothing expires.',
    registers,
    collect() {
      this.set(verdict().isInDoubt ? 1 : 0);
    },
  });
  new Gauge({
    name: 'quittance_clock_offset_seconds',
    help: 'How far the clock of this node is ahead of the middle of the servers that it asks; below zero: behind.',
    registers,
    collect() {
      const { offsetMs } = verdict();
      if (offsetMs !== null) this.set(offsetMs / 1000);
    },
  });
}

export function reportSigner(registry: Registry, isAlive: () => boolean): void {
  new Gauge({
    name: 'quittance_signer_up',
    help: '1 while the signer of this process answers; absent where there is none.',
    registers: [registry],
    collect() {
      this.set(isAlive() ? 1 : 0);
    },
  });
}

/** Balances are read elsewhere at their own pace; this only reports the latest values. */
export function reportTreasury(registry: Registry, balances: () => readonly TreasuryBalance[]): void {
  const report = (kind: TreasuryBalance['kind'], name: string, help: string): void => {
    new Gauge({
      name,
      help,
      labelNames: ['mode', 'network', 'coin'],
      registers: [registry],
      collect() {
        this.reset();
        for (const balance of balances()) {
          if (balance.kind === kind)
            this.set({ mode: balance.mode, network: balance.network, coin: balance.coin }, balance.amount);
        }
      },
    });
  };
  report(
    'coin',
    'quittance_treasury_balance_coins',
    'What the treasury holds to pay refunds from, in units of the coin.',
  );
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
  'chain_unavailable',
  'waiting_for_approval',
  'policy_limit',
  'payouts_stopped',
  'signer_unavailable',
  'deposit_not_final',
  'deposit_reverted',
  'unexpected_error',
  'sequence_busy',
];

export function reportPayouts(registry: Registry, status: () => readonly TreasuryState[]): void {
  const registers = [registry];
  new Gauge({
    name: 'quittance_refund_payouts_waiting',
    help: 'Payouts of refunds that cannot go on, by what holds them up.',
    labelNames: ['mode', 'network', 'reason'],
    registers,
    collect() {
      // Another process may pay by now: a former value here would be a false alarm.
      this.reset();
      for (const { mode, network, waiting } of status()) {
        for (const reason of WAIT_REASONS)
          this.set({ mode, network, reason }, waiting.filter((payout) => payout.reason === reason).length);
      }
    },
  });
  new Gauge({
    name: 'quittance_treasury_alarm',
    help: '1 while the payouts of a treasury stand still for a reason that a person must look at.',
    labelNames: ['mode', 'network'],
    registers,
    collect() {
      this.reset();
      for (const { mode, network, alarm } of status()) this.set({ mode, network }, alarm === null ? 0 : 1);
    },
  });
}

/** `missing`: days of coins in the books without a rate, although sources should have one by then. */
export function reportBookRates(registry: Registry, missing: () => readonly { readonly coin: string }[]): void {
  new Gauge({
    name: 'quittance_book_rates_missing',
    help: 'Days without a rate for the books, by coin.',
    labelNames: ['coin'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { coin } of missing()) this.inc({ coin });
    },
  });
}

export function reportLedger(registry: Registry, ledger: LedgerState): void {
  const registers = [registry];
  new Gauge({
    name: 'quittance_ledger_imbalance_coins',
    help: 'Debits less credits: anything but zero is an alarm.',
    labelNames: ['mode', 'coin'],
    registers,
    collect() {
      for (const { mode, coin, amount } of ledger.imbalances()) this.set({ mode, coin }, amount);
    },
  });
}
