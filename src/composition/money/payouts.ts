import { EvmOutgoing } from '../../adapters/evm/outgoing.ts';
import { createRpcPool } from '../../adapters/rpc/pool.ts';
import { SolanaOutgoing } from '../../adapters/solana/outgoing.ts';
import { TronOutgoing } from '../../adapters/tron/outgoing.ts';
import { type Config, InvalidConfig } from '../../config.ts';
import type { Mode } from '../../domain/values/ids.ts';
import { least } from '../../domain/money/money.ts';
import { gwei, nativeLimitsOf, type NativeLimitsChange } from '../../domain/networks/native-limits.ts';
import { addressFamilyOf, NETWORKS, type Network } from '../../domain/networks/networks.ts';
import { recordOf } from '../../domain/values/record-of.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Clock } from '../../ports/clock.ts';
import type { EventStore } from '../../ports/event-log/event-store.ts';
import type { ApprovalSigner } from '../../ports/signer/approvals.ts';
import type { OutgoingChain } from '../../ports/outgoing/chain.ts';
import type { OutgoingSigner, TreasuryAddresses } from '../../ports/outgoing/signer.ts';
import type { Random } from '../../ports/random.ts';
import type { Rates } from '../../ports/rates/rates.ts';
import type { ReadModel } from '../../ports/read-model/read-model.ts';
import type { RpcObserver } from '../../ports/chain/rpc-pool.ts';
import type { PayoutLimits, PayoutNetwork, PayoutRules } from '../../ports/signer/protocol.ts';
import type { JournalCheck } from '../../features/payouts/journal-check.ts';
import { PayRefunds } from '../../features/payouts/refunds/refunds.process.ts';
import type { WholeRows } from '../../runtime/projections/whole-rows.ts';
import type { UnbookedMoney } from '../../features/treasury/reconcile-unbooked.ts';
import type { TreasuryHandler } from '../../features/shared/handlers/treasury-handler.ts';
import { journalDirectory } from '../../settings/journal-directory.ts';
import { demoApprovers } from '../../key-tools/approver-key.ts';
import { indexKey } from '../../features/addresses/address-index.ts';
import type { Core } from '../core.ts';
import { reached, type NetworkAccess } from '../../settings/network-access.ts';

/** What outgoing money needs in addition to the core. */
export interface PayoutParts {
  readonly signer: OutgoingSigner & ApprovalSigner;
  /** Chains for one term; closed when it ends. */
  readonly chains: () => readonly OutgoingChain[];
  readonly addresses: ReadonlyMap<Mode, TreasuryAddresses>;
  readonly sandbox: boolean;
}

export interface PayoutDeps {
  readonly config: Config;
  readonly core: Core;
  readonly store: EventStore;
  readonly readModel: ReadModel;
  readonly wholeBooks: WholeRows;
  readonly proveBooks: () => Promise<boolean>;
  readonly rates: Rates;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** False while money must not leave. */
  readonly mayPay: () => boolean;
  /** Called for money at one of our addresses that the books lack. */
  readonly onUnbooked: (mode: Mode, network: Network, money: UnbookedMoney) => void;
  /** No other process appends to the store. */
  readonly soleWriter: boolean;
}

const SANDBOX_POLL_MS = 200;
const SANDBOX_BUMP_SEC = 15;
const POLL_MS = { ethereum: 6_000, bsc: 2_000, tron: 3_000, solana: 1_500 } as const satisfies Record<Network, number>;
/** Refunds on Ethereum are complete after 12 blocks and watched until finality. */
const ETHEREUM_DEPTH = 12;
/** Longer than a chain needs to restore a transfer after a reorganisation that it resolves by itself. */
const DEPOSIT_GRACE_MS = { sandbox: 30_000, production: 15 * 60_000 } as const;
export const depositGraceMsOf = (sandbox: boolean): number => DEPOSIT_GRACE_MS[sandbox ? 'sandbox' : 'production'];
const GWEI = 10n ** 9n;
const FALLBACK_TIP = { ethereum: GWEI, bsc: GWEI / 20n } as const;

/** Interval between two rounds of the same treasury. */
export const pollMsOf =
  (sandbox: boolean) =>
  (network: Network): number =>
    sandbox ? SANDBOX_POLL_MS : POLL_MS[network];

/** Starts paying refunds. */
export async function startPayouts(
  parts: PayoutParts,
  chains: readonly OutgoingChain[],
  deps: PayoutDeps & { readonly treasuries: TreasuryHandler; readonly journalCheck: JournalCheck },
): Promise<PayRefunds> {
  const { core, clock, log } = deps;
  const payouts = new PayRefunds({
    ...deps,
    chains,
    signer: parts.signer,
    addresses: parts.addresses,
    sessions: core.sessionHandler,
    isOurs: (mode, network, address) =>
      (core.addressIndexes.get(indexKey(mode, addressFamilyOf(network)))?.sessionOf(address) ?? null) !== null,
    valuation: (currency, coin) => deps.rates.valuation(currency, coin, clock.nowMs()),
    pollMs: pollMsOf(parts.sandbox),
    depositGraceMs: depositGraceMsOf(parts.sandbox),
    log,
  });
  await payouts.start();
  return payouts;
}

/** The outgoing chain of a network. */
export function payoutChain(
  access: NetworkAccess,
  options: {
    readonly sandbox: boolean;
    readonly maxGasGwei: number;
    readonly nativeLimits?: NativeLimitsChange;
    readonly bumpAfterSec?: number;
    readonly observer?: RpcObserver;
  },
): OutgoingChain {
  const { observer } = options;
  const { settings } = access;
  // Nothing is drafted that the signer would refuse.
  const limits = nativeLimitsOf(settings.network, options.nativeLimits);
  const pool = createRpcPool({ ...reached(access), ...(observer && { observer }) });
  switch (settings.network) {
    case 'ethereum':
    case 'bsc':
      return new EvmOutgoing({
        settings,
        pool,
        depth: settings.network === 'ethereum' ? ETHEREUM_DEPTH : null,
        maxFeePerGas: least(BigInt(options.maxGasGwei) * GWEI, gwei(limits.maxGasPriceGwei)),
        maxPriorityFeePerGas: gwei(limits.maxPriorityFeeGwei),
        fallbackTip: FALLBACK_TIP[settings.network],
        bumpAfterMs: (options.bumpAfterSec ?? SANDBOX_BUMP_SEC) * 1000,
      });
    case 'tron':
      return new TronOutgoing({ settings, pool, lifetimeMs: options.sandbox ? 30_000 : 600_000 });
    case 'solana':
      return new SolanaOutgoing({
        settings,
        pool,
        maxPrice: Number(limits.maxPriorityFeeMicroLamports),
        bumpAfterMs: (options.bumpAfterSec ?? SANDBOX_BUMP_SEC) * 1000,
      });
  }
}

const networkOf = ({ settings: { mode, network, chainId, tokens }, urls, headers }: NetworkAccess): PayoutNetwork => ({
  mode,
  network,
  chainId,
  tokens,
  urls,
  ...(headers && { headers }),
});

/** Limits that no test reaches by accident. */
const SANDBOX_LIMITS: PayoutLimits = {
  perTransaction: '999999999999',
  perHour: '999999999999',
  perDay: '999999999999',
  approvalFrom: '999999999999',
};

const SANDBOX_NATIVE: NativeLimitsChange = recordOf(NETWORKS, () => ({
  perTransaction: '1000000',
  perHour: '1000000',
  perDay: '1000000',
}));

const SANDBOX_OUTWARD = { perTransaction: '999999999999', perDay: '999999999999' };

export function sandboxPayoutRules(config: Config, networks: readonly NetworkAccess[]): PayoutRules {
  const limits = config.PAYOUT_LIMITS ?? { USDT: SANDBOX_LIMITS, USDC: SANDBOX_LIMITS };
  return {
    journalDirectory: journalDirectory(config),
    networks: networks.map(networkOf),
    limits,
    payoutsPerHour: config.PAYOUTS_PER_HOUR ?? 1_000_000,
    treasuryLimits: config.TREASURY_LIMITS ?? { USDT: SANDBOX_OUTWARD, USDC: SANDBOX_OUTWARD },
    nativeLimits: config.NATIVE_LIMITS ?? SANDBOX_NATIVE,
    withdrawalAddresses: config.WITHDRAWAL_ADDRESSES ?? {},
    approvers: config.PAYOUT_APPROVERS ?? demoApprovers(config.DATA_DIR),
  };
}

/** Null if payouts are not configured: refunds are accepted and stay pending. Throws `InvalidConfig`. */
export function productionPayoutRules(config: Config, networks: readonly NetworkAccess[]): PayoutRules | null {
  if (config.PAYOUT_LIMITS === undefined) return null;
  if (config.SIGNER_JOURNAL_DIR === undefined)
    throw new InvalidConfig(
      'SIGNER_JOURNAL_DIR is missing: where the signer keeps its journal, outside DATA_DIR and its backups',
    );
  if (`${config.SIGNER_JOURNAL_DIR}/`.startsWith(`${config.DATA_DIR}/`))
    throw new InvalidConfig('SIGNER_JOURNAL_DIR must be outside DATA_DIR: one backup must never contain both');
  return {
    journalDirectory: config.SIGNER_JOURNAL_DIR,
    networks: networks.map(networkOf),
    limits: config.PAYOUT_LIMITS,
    payoutsPerHour: config.PAYOUTS_PER_HOUR ?? 60,
    treasuryLimits: config.TREASURY_LIMITS ?? {},
    nativeLimits: config.NATIVE_LIMITS ?? {},
    withdrawalAddresses: config.WITHDRAWAL_ADDRESSES ?? {},
    approvers: config.PAYOUT_APPROVERS ?? [],
  };
}
