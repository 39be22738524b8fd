import type { UrlRules } from '../adapters/webhook-http/url.ts';
import type { SandboxHome } from '../checkout/sandbox-home.ts';
import type { AdminCommands } from '../operator/server/commands.ts';
import type { LiveSettings } from '../operator/settings.ts';
import type { Config, RateProviderName } from '../config.ts';
import type { ExchangeWallets } from '../features/deposits/exchange-wallets.ts';
import type { Mode } from '../domain/values/ids.ts';
import type { NetworkSettings } from '../domain/networks/networks.ts';
import type { Logger } from '../observability/logger.ts';
import type { Metrics } from '../observability/metrics/metrics.ts';
import type { AccountChain } from '../ports/chain/account-chain.ts';
import type { AddressHistory } from '../ports/chain/address-safety.ts';
import type { CheckpointSigner } from '../ports/event-log/audit.ts';
import type { AddressDeriver, AddressOwner } from '../ports/chain/addresses.ts';
import type { Chain } from '../ports/chain/chain.ts';
import type { AcceptedRisk } from '../ports/signer/protocol.ts';
import type { Clock } from '../ports/clock.ts';
import type { PayerTransactions } from '../ports/chain/payer-transactions.ts';
import type { Random } from '../ports/random.ts';
import type { ContractCheck } from '../ports/chain/senders.ts';
import type { WebhookSender } from '../ports/webhooks/sender.ts';
import type { ClockCheck } from '../runtime/util/clock-check.ts';
import type { SealingKeys } from '../runtime/cryptography/sealing.ts';
import type { CanaryParts } from './canary/account.ts';
import type { Core } from './core.ts';
import type { PayoutParts } from './money/payouts.ts';
import type { TestWallet } from '../sandbox/test-wallet.ts';
import type { Roles } from '../settings/roles.ts';
import type { ReplacedChain } from './networks/solana.ts';
import type { Storage } from './storage/parts.ts';

/** What a profile supplies to the service: its opened adapters and its rules. */
export interface ServiceParts {
  readonly config: Config;
  readonly roles: Roles;
  /** Risks of live mode that its settings, or its signer's, take. */
  readonly acceptedRisks?: () => readonly AcceptedRisk[];
  readonly storage: Storage;
  readonly sealingKeys: SealingKeys;
  readonly clock: Clock;
  /** A clock check with earlier observations; absent: created with the service. */
  readonly clockCheck?: ClockCheck;
  readonly random: Random;
  readonly log: Logger;
  /** Created before the parts that report to it; absent: created at the start. */
  readonly metrics?: Metrics;
  readonly derivers: readonly AddressDeriver[];
  /** Access to the signer, to ask whether addresses are its own. Absent: nobody here can tell. */
  readonly addressOwner?: AddressOwner | null;
  readonly chains: readonly (Chain & AddressHistory)[];
  readonly solana?: readonly {
    readonly chain: AccountChain & AddressHistory & PayerTransactions;
    readonly replaced: ReplacedChain | null;
  }[];
  readonly networks: (mode: Mode) => readonly NetworkSettings[];
  /** For senders; closed with the service. */
  readonly contractChecks: readonly ContractCheck[];
  /** The profile's own settings that change at run time, such as its providers. */
  readonly liveSettings?: LiveSettings;
  /** Addresses that a sandbox treats as an exchange's. */
  readonly testExchanges?: ExchangeWallets;
  readonly rateProviders: readonly RateProviderName[];
  readonly webhookRules: UrlRules;
  /** Sends webhooks and is closed with the service; absent: over HTTP, by these rules. */
  readonly webhookSender?: WebhookSender;
  /** Absent: refunds are accepted and stay pending. */
  readonly payouts?: PayoutParts | null;
  /** Absent: no checkpoints are signed. */
  readonly checkpointSigner?: CheckpointSigner | null;
  /** Absent: no canary payments. */
  readonly canary?: CanaryParts | null;
  /** The chains are local. */
  readonly sandbox: boolean;
  /** The log was found damaged before anything else read it: nothing is written from the start. */
  readonly readOnly?: boolean;
  /** Null outside the sandbox. */
  readonly testWallet: ((core: Core) => TestWallet) | null;
  /** The content of a sandbox's `/`; null until everything runs. */
  readonly sandboxHome?: () => SandboxHome | null;
  readonly moreAdmin?: (core: Core) => AdminCommands;
}
