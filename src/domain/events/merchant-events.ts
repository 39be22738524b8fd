import type { KeyRestrictions } from '../api-keys.ts';
import type { EvidenceKind } from '../claims.ts';
import type { ApiKeyId, MerchantId, Mode } from '../ids.ts';
import type { Coin } from '../money.ts';
import type { Network } from '../networks.ts';
import type { NotificationField, NotificationType } from '../notification-types.ts';

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
    /** Absent: none. */
    readonly restrictions?: KeyRestrictions;
  };
}

/** All that holds the key back from now on. */
export interface ApiKeyRestricted {
  readonly type: 'ApiKeyRestricted';
  readonly data: { readonly merchantId: MerchantId; readonly keyId: ApiKeyId; readonly restrictions: KeyRestrictions };
}

/** Written once a day at most: the day on which it was last used. */
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
    /** Null: there is nowhere to send to. */
    readonly url: string | null;
    /** Present when a secret was issued with it. */
    readonly sealedSecret: string | null;
    /** Durable redelivery after the five quick retries (design, "webhook retries"). */
    readonly durableRedelivery: boolean;
    /** What is told. */
    readonly events: readonly NotificationType[];
    /** What is said of it beside what is always said. */
    readonly fields: readonly NotificationField[];
    /** Nothing is sent until it is switched on again. */
    readonly disabled: boolean;
    /** Whether each request is signed after Standard Webhooks, too. */
    readonly standardWebhooks: boolean;
  };
}

/** `issued`: the new secret signs the additional header. `activated`: it signs the main one and the old is gone. */
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

/** Only the settings given are changed. */
export interface PolicySet {
  readonly type: 'PolicySet';
  readonly data: { readonly merchantId: MerchantId; readonly policy: Partial<MerchantPolicy> };
}

/** The shop's picture for payers; null takes it away. */
export interface LogoSet {
  readonly type: 'LogoSet';
  readonly data: { readonly merchantId: MerchantId; readonly logo: Logo | null };
}

/** Made by the service from the pixels of what was uploaded. */
export interface Logo {
  /** A PNG file, base64. */
  readonly png: string;
  readonly width: number;
  readonly height: number;
}

/** Where settlements of a network go; two operators agreed to it, and the signer's journal holds their approvals. */
export interface SettlementAddressSet {
  readonly type: 'SettlementAddressSet';
  readonly data: {
    readonly merchantId: MerchantId;
    readonly network: Network;
    readonly address: string;
    readonly approvers: readonly string[];
  };
}

/** A change that may wait before it takes effect, as it was asked for. */
export type GuardedChange =
  | {
      readonly kind: 'webhook_endpoint';
      readonly endpointId: string;
      /** What is absent stays. */
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

/** Nothing changed yet: it takes effect at its time unless it is withdrawn. */
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

/** Its time has come: what it changed, if anything, stands in the events before this one. */
export interface MerchantChangeApplied {
  readonly type: 'MerchantChangeApplied';
  /** `refusal`: why it is not possible any more; null when it is in force. */
  readonly data: { readonly merchantId: MerchantId; readonly changeId: string; readonly refusal: string | null };
}

/** How long changes of the merchant's settings wait; null: as the installation says. */
export interface ChangeDelaySet {
  readonly type: 'ChangeDelaySet';
  readonly data: { readonly merchantId: MerchantId; readonly minutes: number | null };
}

export interface MerchantPolicy {
  readonly settlementCoin: Coin;
  /** Networks offered to payers, in the order shown. */
  readonly networks: readonly Network[];
  /** Whether payers may pay orders in other currencies in either coin; absent: in the settlement coin alone. */
  readonly offerBothCoins?: boolean;
  /** USDC on TRON is discontinued by its issuer: off unless switched on. */
  readonly offerTronUsdc: boolean;
  /** Units of the coin a payment may be short. */
  readonly tolerance: string;
  /**
   * Percent of what is due that a payment may be short, with `tolerance` as its cap where that is above zero; absent or
   * null: no share.
   */
  readonly tolerancePercent?: string | null;
  readonly sessionTtlSec: number | null;
  /** Ethereum: below this many units `ethereumConfirmations` suffice, from it on `finalized` is needed. */
  readonly ethereumFinalizedFrom: string;
  readonly ethereumConfirmations: number;
  /** What the operator keeps of paid orders, in hundredths of a percent; absent or 0: nothing. */
  readonly serviceFeeBasisPoints?: number;
  /** Where payers reach the shop: an e-mail address or an https URL; absent or null: nowhere. */
  readonly contact?: string | null;
  /** What the merchant takes as evidence for a refund to another than who paid; absent or empty: nothing. */
  readonly refundClaims?: readonly EvidenceKind[];
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
