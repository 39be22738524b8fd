import type { KeyRestrictions } from '../api-keys.ts';
import type { ApiKeyId, MerchantId, Mode } from '../values/ids.ts';
import type { Coin } from '../money/money.ts';
import type { Network } from '../networks/networks.ts';
import type { NotificationField, NotificationType } from '../notifications/types.ts';

/* The storage format of the `merchant-<id>` streams. */

export interface MerchantRegistered {
  readonly type: 'MerchantRegistered';
  readonly data: { readonly merchantId: MerchantId; readonly name: string; readonly mode: Mode };
}

export interface ApiKeyIssued {
  readonly type: 'ApiKeyIssued';
  readonly data: {
    readonly merchantId: MerchantId;
    readonly keyId: ApiKeyId;
    readonly mode: Mode;
    /** SHA-256 (hex) of the API key. */
    readonly keyHash: string;
    /** `sk_test_` or `sk_live_` and the last four characters, for people. */
    readonly hint: string;
    /** The API secret, AES-256-GCM under the master key; additional data: merchant, key id, version, purpose. */
    readonly sealedSecret: string;
    /** Absent: no restrictions. */
    readonly restrictions?: KeyRestrictions;
  };
}

/** Replaces all restrictions of the key. */
export interface ApiKeyRestricted {
  readonly type: 'ApiKeyRestricted';
  readonly data: { readonly merchantId: MerchantId; readonly keyId: ApiKeyId; readonly restrictions: KeyRestrictions };
}

/** The day the key was last used; written at most once a day. */
export interface ApiKeyUsed {
  readonly type: 'ApiKeyUsed';
  readonly data: { readonly merchantId: MerchantId; readonly keyId: ApiKeyId; readonly atSec: number };
}

export interface ApiKeyRevoked {
  readonly type: 'ApiKeyRevoked';
  readonly data: { readonly merchantId: MerchantId; readonly keyId: ApiKeyId };
}

export interface WebhookEndpointSet {
  readonly type: 'WebhookEndpointSet';
  readonly data: {
    readonly merchantId: MerchantId;
    readonly endpointId: string;
    /** Null: the endpoint has no URL. */
    readonly url: string | null;
    /** Present when a secret was issued with it. */
    readonly sealedSecret: string | null;
    /** Durable redelivery after the five quick retries (design, "webhook retries"). */
    readonly durableRedelivery: boolean;
    /** The event types it is sent. */
    readonly events: readonly NotificationType[];
    /** Optional fields sent in addition to the standard ones. */
    readonly fields: readonly NotificationField[];
    /** Nothing is sent until the endpoint is enabled again. */
    readonly disabled: boolean;
    /** Whether each request also carries a Standard Webhooks signature. */
    readonly standardWebhooks: boolean;
  };
}

/**
 * `issued`: the new secret signs the additional header. `activated`: it signs the main header and the old one is gone.
 */
export interface WebhookSecretRotated {
  readonly type: 'WebhookSecretRotated';
  readonly data: {
    readonly merchantId: MerchantId;
    readonly endpointId: string;
    readonly step: 'issued' | 'activated';
    readonly sealedSecret: string | null;
    readonly activatesAtSec: number | null;
  };
}

export interface WebhookEndpointSuspended {
  readonly type: 'WebhookEndpointSuspended';
  readonly data: {
    readonly merchantId: MerchantId;
    readonly endpointId: string;
    readonly reason: 'only_failures' | 'gone';
  };
}

export interface WebhookEndpointResumed {
  readonly type: 'WebhookEndpointResumed';
  readonly data: { readonly merchantId: MerchantId; readonly endpointId: string };
}

export interface DomainAdded {
  readonly type: 'DomainAdded';
  readonly data: {
    readonly merchantId: MerchantId;
    readonly domainId: string;
    readonly host: string;
    readonly shopName: string;
  };
}

export interface DomainRemoved {
  readonly type: 'DomainRemoved';
  readonly data: { readonly merchantId: MerchantId; readonly domainId: string };
}

/** Changes only the settings that are given. */
export interface PolicySet {
  readonly type: 'PolicySet';
  readonly data: { readonly merchantId: MerchantId; readonly policy: Partial<MerchantPolicy> };
}

/** The shop's logo on payment pages; null removes it. */
export interface LogoSet {
  readonly type: 'LogoSet';
  readonly data: { readonly merchantId: MerchantId; readonly logo: Logo | null };
}

/** Encoded anew by the service from the pixels of the upload. */
export interface Logo {
  /** A PNG file, base64. */
  readonly png: string;
  readonly width: number;
  readonly height: number;
}

/**
 * The destination of settlements on a network; two operators agreed to it, and the signer's journal holds their
 * approvals.
 */
export interface SettlementAddressSet {
  readonly type: 'SettlementAddressSet';
  readonly data: {
    readonly merchantId: MerchantId;
    readonly network: Network;
    readonly address: string;
    readonly approvers: readonly string[];
  };
}

/** A change that may have to wait before it takes effect, as requested. */
export type GuardedChange =
  | {
      readonly kind: 'webhook_endpoint';
      readonly endpointId: string;
      /** Absent settings stay as they are. */
      readonly set: Partial<Omit<WebhookEndpointSet['data'], 'merchantId' | 'endpointId' | 'sealedSecret'>>;
    }
  | { readonly kind: 'policy'; readonly policy: Partial<MerchantPolicy> }
  | {
      readonly kind: 'settlement_address';
      readonly network: Network;
      readonly address: string;
      readonly approvers: readonly string[];
    }
  | { readonly kind: 'change_delay'; readonly minutes: number | null };

/** Nothing has changed yet: the change takes effect at its time unless it is withdrawn. */
export interface MerchantChangeScheduled {
  readonly type: 'MerchantChangeScheduled';
  readonly data: {
    readonly merchantId: MerchantId;
    readonly changeId: string;
    readonly change: GuardedChange;
    readonly requestedBy: string;
    readonly requestedAtSec: number;
    readonly takesEffectAtSec: number;
  };
}

export interface MerchantChangeWithdrawn {
  readonly type: 'MerchantChangeWithdrawn';
  readonly data: { readonly merchantId: MerchantId; readonly changeId: string };
}

/** The waiting time is over: whatever changed is in the events before this one. */
export interface MerchantChangeApplied {
  readonly type: 'MerchantChangeApplied';
  /** `refusal`: why the change is no longer possible; null when it took effect. */
  readonly data: { readonly merchantId: MerchantId; readonly changeId: string; readonly refusal: string | null };
}

/** How long changes of the merchant's settings wait; null: the installation's default. */
export interface ChangeDelaySet {
  readonly type: 'ChangeDelaySet';
  readonly data: { readonly merchantId: MerchantId; readonly minutes: number | null };
}

export interface MerchantPolicy {
  readonly settlementCoin: Coin;
  /** Networks offered to payers, in the order shown. */
  readonly networks: readonly Network[];
  /** Whether payers may pay orders in other currencies with either coin; absent: the settlement coin only. */
  readonly offerBothCoins?: boolean;
  /** The issuer has discontinued USDC on TRON, so it is off unless enabled. */
  readonly offerTronUsdc: boolean;
  /** Units of the coin by which a payment may fall short. */
  readonly tolerance: string;
  /**
   * Percent of the amount due by which a payment may fall short; `tolerance` above zero caps it. Absent or null: no
   * percentage.
   */
  readonly tolerancePercent?: string | null;
  readonly sessionTtlSec: number | null;
  /** Ethereum: below this many units `ethereumConfirmations` suffice; from this amount on, `finalized` is required. */
  readonly ethereumFinalizedFrom: string;
  readonly ethereumConfirmations: number;
  /** The operator's fee on paid orders, in hundredths of a percent; absent or 0: no fee. */
  readonly serviceFeeBasisPoints?: number;
  /** How payers reach the shop: an e-mail address or an https URL; absent or null: none. */
  readonly contact?: string | null;
}

export type MerchantEvent =
  | MerchantRegistered
  | ApiKeyIssued
  | ApiKeyRestricted
  | ApiKeyUsed
  | ApiKeyRevoked
  | WebhookEndpointSet
  | WebhookSecretRotated
  | WebhookEndpointSuspended
  | WebhookEndpointResumed
  | DomainAdded
  | DomainRemoved
  | PolicySet
  | LogoSet
  | SettlementAddressSet
  | MerchantChangeScheduled
  | MerchantChangeWithdrawn
  | MerchantChangeApplied
  | ChangeDelaySet;
