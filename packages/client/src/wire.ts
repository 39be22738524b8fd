/* What goes over the wire, made from the schemas of the service by scripts/client-wire-types.ts. */

export interface AlternativeCoin {
  /** One unit of the merchant currency is this many units of this coin. */
  readonly exchange_rate: string;
  /** The stablecoin. `USDT`: Tether USD; `USDC`: USD Coin. */
  readonly target_currency: 'USDT' | 'USDC';
  /** Units of this coin the payer pays. */
  readonly target_amount_total: string;
  /** When the rate of this coin was locked. */
  readonly rate_locked_at: number;
  /** How it can be paid in this coin. */
  readonly payment_options: readonly PaymentOption[];
}

export interface AuditCheckpoint {
  /** Names the log. */
  readonly origin: string;
  /** Number of events that the checkpoint covers. */
  readonly size: number;
  /** Base64. */
  readonly root_hash: string;
  /** The signed note (C2SP tlog-checkpoint). Keep it as it is. */
  readonly checkpoint: string;
  /** When it was signed, Unix seconds. */
  readonly created: number;
}

export interface CancelledPaymentSession {
  /** Id of the payment session. */
  readonly id: string;
  /** Total of the order, decimal string in its currency. */
  readonly amount_total: string;
  /** Merchant currency, lower case. */
  readonly currency: string;
  /** Whether to fulfil the order. `unpaid`: not enough is final on chain; `paid`: enough is final on chain. */
  readonly payment_status: 'unpaid' | 'paid';
  /** When it was created, Unix seconds. */
  readonly created: number;
  /** Until when it may be paid, Unix seconds; the time of the cancellation once it is cancelled. */
  readonly expires_at: number;
  /** Payment page. */
  readonly url: string;
  /** Tax within `amount_total`, as given at the create. */
  readonly tax_amount?: string;
  /** Shipping within `amount_total`, as given at the create. */
  readonly shipping_amount?: string;
  /** With conversion only: one unit of the merchant currency is this many units of the coin. */
  readonly exchange_rate?: string;
  /** With conversion only: the coin the payer pays, `USDT` or `USDC`. */
  readonly target_currency?: 'USDT' | 'USDC';
  /** With conversion only: units of the coin the payer pays. */
  readonly target_amount_total?: string;
  /** With conversion only: when the rate was locked. */
  readonly rate_locked_at?: number;
  /** Only where the payer may choose the coin (`offer_both_coins`) and nothing decided yet: the session in the other coin. Once the first money counts this is gone, and the fields of the session are those of the coin that came. */
  readonly alternative?: AlternativeCoin;
  /** Your order id, as you gave it at the create. */
  readonly order_id: string;
  /** Where the session stands. `open`: it waits for money; `processing`: money in time was seen and is not final yet; `paid`: enough is final; `expired`: the deadline passed without enough money; `failed`: a payment that would have sufficed was seen and is lost for good; `cancelled`: you cancelled it. */
  readonly status: 'open' | 'processing' | 'paid' | 'expired' | 'failed' | 'cancelled';
  /** The coin that the session is paid in: `USDT` or `USDC`. */
  readonly settlement_currency: 'USDT' | 'USDC';
  /** Final on-time money of the settlement coin that you hold: neither refunded nor reserved for a refund. */
  readonly received: string;
  /** Seen on time but not final yet. */
  readonly pending: string;
  /** Of `received`, what is beyond what was due; zero until the session is paid. */
  readonly excess: string;
  /** Units of the settlement coin that refunds have paid out. */
  readonly refunded: string;
  /** Of the settlement coin: what a refund that names no deposit may take, late and surplus money included. Neither dust nor money without a single payer. */
  readonly refundable: string;
  /** The same of each coin; money in another coin is refunded by naming it. */
  readonly refundable_amounts: readonly RefundableAmount[];
  /** True when final money left the chain again. */
  readonly reversed: boolean;
  /** True when an on-time payment was found after the session had expired. */
  readonly after_expiry: boolean;
  /** When enough was final, Unix seconds. */
  readonly paid_at?: number;
  /** The attempt before this one to have the order paid. */
  readonly supersedes?: string;
  /** The attempt after this one, which the payment page leads to. */
  readonly superseded_by?: string;
  /** The registered domain given at the create. */
  readonly merchant_domain_id?: string;
  /** How it can be paid, one entry per network, in the order shown to the payer. */
  readonly payment_options: readonly PaymentOption[];
  /** Every transfer to the session. */
  readonly deposits: readonly Deposit[];
}

export interface ChangeMerchant {
  /** Coin that orders in other currencies are paid in. */
  readonly settlement_currency?: string;
  /** Networks offered to payers, in the order shown. */
  readonly networks?: readonly ('ethereum' | 'bsc' | 'tron' | 'solana')[];
  /** Whether payers choose the coin of orders in other currencies, unless `target_currency` names it: the first money that counts decides. */
  readonly offer_both_coins?: boolean;
  /** Whether USDC is offered on TRON, where its issuer no longer supports it. */
  readonly offer_tron_usdc?: boolean;
  /** Units of the coin a payment may be short, and never more than the share of what is due that the operator allows: 5 percent by default. */
  readonly tolerance?: string;
  /** Percent of what is due that a payment may be short, with at most two decimals and never more than the operator allows; `tolerance`, where it is above zero, is its cap, and at `0` it has no other than the operator's. Null: no share, `tolerance` alone counts. */
  readonly tolerance_percent?: string | null;
  /** Where payers reach the shop, an e-mail address or an https URL; the payment page links to it. Null: nowhere. */
  readonly contact?: string | null;
  /** Evidence that you take for a refund to another than who paid; empty: none. The installation may take less. */
  readonly refund_claims?: readonly ('signature' | 'test_payment' | 'no_sender')[];
  /** Null: the installation default. */
  readonly session_ttl_seconds?: number | null;
  /** From this many units on, payments on Ethereum wait for finality; at most what the operator allows. */
  readonly ethereum_finalized_from?: string;
  /** Blocks below that amount. */
  readonly ethereum_confirmations?: number;
  /** Where you are told what happened; only what is given is changed. */
  readonly webhook?: {
    /** https URL; null stops deliveries. */
    readonly url?: string | null;
    /** Whether failed deliveries are tried again for 72 hours. */
    readonly durable_redelivery?: boolean;
    /** What each event says of its object beside what is always there. */
    readonly fields?: readonly ('received' | 'due' | 'excess' | 'network' | 'tx_hash' | 'failure_reason')[];
    /** Whether each request is signed after Standard Webhooks, too (`webhook-id`, `webhook-timestamp`, `webhook-signature`). */
    readonly standard_webhooks?: boolean;
    /** What you are told at your default endpoint; the six outcomes are, named or not. */
    readonly events?: readonly ('payment.completed' | 'payment.failed' | 'payment.expired' | 'payment.cancelled' | 'refund.succeeded' | 'refund.failed' | 'payment.processing' | 'payment.partially_paid' | 'payment.overpaid' | 'payment.late' | 'payment.wrong_coin' | 'payment.reversed' | 'payment.restored' | 'refund.created' | 'claim.created' | 'claim.rejected')[];
  };
  /** Picture of the shop for payment pages: a PNG file in base64, at most 128 KiB and 1024 pixels a side, not interlaced. It is made anew from its pixels, at most 320 by 80. Null: none. */
  readonly logo?: string | null;
  /** The whole list: hosts not named are removed. */
  readonly domains?: readonly {
    /** Host name of a shop of yours, where its return URLs must be. */
    readonly host: string;
    /** Name of the shop, as the payment page shows it. */
    readonly name: string;
  }[];
}

export interface ChangeWebhookEndpoint {
  /** https URL, on port 443 or 8443. */
  readonly url?: string;
  /** What it is told; the default endpoint is told the six outcomes, named or not. */
  readonly events?: readonly ('payment.completed' | 'payment.failed' | 'payment.expired' | 'payment.cancelled' | 'refund.succeeded' | 'refund.failed' | 'payment.processing' | 'payment.partially_paid' | 'payment.overpaid' | 'payment.late' | 'payment.wrong_coin' | 'payment.reversed' | 'payment.restored' | 'refund.created' | 'claim.created' | 'claim.rejected')[];
  /** Whether failed deliveries are tried again for 72 hours. */
  readonly durable_redelivery?: boolean;
  /** What each event says of its object beside what is always there. */
  readonly fields?: readonly ('received' | 'due' | 'excess' | 'network' | 'tx_hash' | 'failure_reason')[];
  /** Whether each request is signed after Standard Webhooks, too (`webhook-id`, `webhook-timestamp`, `webhook-signature`). */
  readonly standard_webhooks?: boolean;
  /** Whether it is switched off: nothing is sent. The default endpoint is told later what happened meanwhile, a further one is not. */
  readonly disabled?: boolean;
}

export interface Claim {
  /** Id of the claim. */
  readonly id: string;
  /** Id of the payment session. */
  readonly session_id: string;
  /** The deposit that is claimed. */
  readonly transaction_id: string;
  /** The network. `ethereum`: Ethereum; `bsc`: BNB Smart Chain; `tron`: TRON; `solana`: Solana. */
  readonly network: 'ethereum' | 'bsc' | 'tron' | 'solana';
  /** The stablecoin. `USDT`: Tether USD; `USDC`: USD Coin. */
  readonly coin: 'USDT' | 'USDC';
  /** Of the deposit, decimal string in units of the coin. */
  readonly amount: string;
  /** Who sent the deposit; null when the chain names no single sender. */
  readonly from_address: string | null;
  /** Who is to be paid instead. */
  readonly payee: string;
  /** How the payer proves that the payment is theirs. `signature`: the key that paid signed the terms; the signer verifies it again; `test_payment`: another payment from the same sender, of an amount that the service chose; two approvers must agree; `no_sender`: none, for money whose sender the chain does not name, such as minted money; two approvers must agree. */
  readonly evidence: 'signature' | 'test_payment' | 'no_sender';
  /** Whether the evidence is there; a test payment may still be on its way. */
  readonly proven: boolean;
  /** Units of the coin that must arrive from the sender of the deposit, exactly; null for other evidence. */
  readonly test_payment: string | null;
  /** Where it stands. `open`: you have not decided; `approved`: a refund names it; `refund_id` says how that stands; `rejected`: turned down, or withdrawn in time. */
  readonly status: 'open' | 'approved' | 'rejected';
  /** The payer's own words; null without. */
  readonly reason: string | null;
  /** When it was filed, Unix seconds. */
  readonly created: number;
  /** The refund that approved it; null before. */
  readonly refund_id: string | null;
  /** When its refund may be paid, and until a minute before it can be rejected. Unix seconds; null before. */
  readonly payable_from: number | null;
  /** When it was rejected. Unix seconds; null before. */
  readonly rejected_at: number | null;
  /** Why it was rejected, as given; null without. */
  readonly rejection_reason: string | null;
}

export interface ClaimEvent {
  /** Event id; deduplicate by it. */
  readonly id: string;
  /** What happened. `claim.created`: a payer claimed a payment and named another address for its refund; `claim.rejected`: a claim was turned down, or its approval withdrawn. */
  readonly type: 'claim.created' | 'claim.rejected';
  /** When it was decided, Unix seconds. */
  readonly created_at: number;
  /** What the event is about. */
  readonly data: {
    /** What the event is about. */
    readonly object: {
      /** Id of the payment session. */
      readonly session_id: string;
      /** Your order id, as you gave it at the create. */
      readonly order_id: string;
      /** Id of the claim. */
      readonly claim_id: string;
      /** Where the claim stands. `open`: a payer claimed a payment and named another address for its refund; `rejected`: a claim was turned down, or its approval withdrawn. */
      readonly status: 'open' | 'rejected';
      /** The address that the payer named. */
      readonly payee: string;
      /** How the payer proves that the payment is theirs. `signature`: the key that paid signed the terms; the signer verifies it again; `test_payment`: another payment from the same sender, of an amount that the service chose; two approvers must agree; `no_sender`: none, for money whose sender the chain does not name, such as minted money; two approvers must agree. */
      readonly evidence: 'signature' | 'test_payment' | 'no_sender';
      /** The deposit that is claimed. */
      readonly transfer: {
        /** Units of the coin. */
        readonly amount: string;
        /** The stablecoin. `USDT`: Tether USD; `USDC`: USD Coin. */
        readonly currency: 'USDT' | 'USDC';
        /** The network. `ethereum`: Ethereum; `bsc`: BNB Smart Chain; `tron`: TRON; `solana`: Solana. */
        readonly network: 'ethereum' | 'bsc' | 'tron' | 'solana';
        /** Hash of the transaction in the network's own form. */
        readonly tx_hash: string;
      };
      /** Always `api`. */
      readonly source: 'api';
      /** Where the endpoint asked for it: the network of the transfer; null without one. */
      readonly network?: 'ethereum' | 'bsc' | 'tron' | 'solana' | null;
      /** Where the endpoint asked for it: the transaction; null without one. */
      readonly tx_hash?: string | null;
      readonly [further: string]: unknown;
    };
  };
}

export interface CoveredRange {
  /** The network. `ethereum`: Ethereum; `bsc`: BNB Smart Chain; `tron`: TRON; `solana`: Solana. */
  readonly network: 'ethereum' | 'bsc' | 'tron' | 'solana';
  /** First block that was read. */
  readonly from_block: number;
  /** Last block that was read. */
  readonly to_block: number;
  /** Time of the last block, Unix seconds. */
  readonly to_time: number;
  /** Who answered: names of the providers that were asked. */
  readonly providers: readonly string[];
  /** Blocks in between that no recorded reading covers. */
  readonly gaps: readonly {
    /** First block that is missing. */
    readonly from_block: number;
    /** Last block that is missing. */
    readonly to_block: number;
  }[];
}

export interface CreatePaymentSession {
  /** The order's total, tax and shipping included; at most the currency's ISO 4217 decimals (6 for coins). */
  readonly amount: string;
  /** Currency of the order: an ISO 4217 code or a coin, in any case. */
  readonly currency: string;
  /** Your order id, unique per merchant and mode. */
  readonly order_id: string;
  /** A domain registered for the merchant. */
  readonly merchant_domain_id?: string;
  /** What the order is; the payer reads it. */
  readonly description?: string;
  /** What is sold, as the payer is shown it. */
  readonly line_items?: readonly LineItem[];
  /** Tax within `amount`, decimal string. */
  readonly tax_amount?: string;
  /** Shipping within `amount`, decimal string. */
  readonly shipping_amount?: string;
  /** Where the payment page sends the payer after the payment: an https URL. */
  readonly success_url?: string;
  /** Where the payment page sends a payer who gives up: an https URL. */
  readonly cancel_url?: string;
  /** Key-value pairs that come back with the session. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Seconds that this session may be paid; by default the merchant's `session_ttl_seconds`. */
  readonly expires_in?: number;
  /** A session of the same order that expired, failed or was cancelled: this one is another attempt to have the order paid. */
  readonly supersedes?: string;
  /** Settlement coin; by default the order's own coin, else the merchant's policy. */
  readonly target_currency?: string;
}

export interface CreateRefund {
  /** The session whose money goes back. */
  readonly session_id: string;
  /** Units of the coin paid, or of the order's currency, which is always converted at the locked rate. Absent: all that is left, of the deposit named or of the settlement coin. */
  readonly amount?: {
    /** Decimal string in normal form, above zero. */
    readonly value: string;
    /** ISO 4217 code or coin, in any case. */
    readonly currency: string;
  };
  /** The deposit to refund, as the session and `/v1/transactions` show it. Absent: first whoever paid the order, never dust. */
  readonly transaction_id?: string;
  /** The claim of a payer that this approves: then the refund of its deposit goes to the payee whom it names. */
  readonly claim_id?: string;
  /** Why, for your own records. */
  readonly reason?: string;
  /** Set after `sender_not_acknowledged`: the payer was asked and can receive at the paying address. */
  readonly acknowledge_sender?: boolean;
}

export interface CreateWebhookEndpoint {
  /** https URL, on port 443 or 8443. */
  readonly url: string;
  /** What it is told. */
  readonly events: readonly ('payment.completed' | 'payment.failed' | 'payment.expired' | 'payment.cancelled' | 'refund.succeeded' | 'refund.failed' | 'payment.processing' | 'payment.partially_paid' | 'payment.overpaid' | 'payment.late' | 'payment.wrong_coin' | 'payment.reversed' | 'payment.restored' | 'refund.created' | 'claim.created' | 'claim.rejected')[];
  /** Whether failed deliveries are tried again for 72 hours. */
  readonly durable_redelivery?: boolean;
  /** What each event says of its object beside what is always there. */
  readonly fields?: readonly ('received' | 'due' | 'excess' | 'network' | 'tx_hash' | 'failure_reason')[];
  /** Whether each request is signed after Standard Webhooks, too (`webhook-id`, `webhook-timestamp`, `webhook-signature`). */
  readonly standard_webhooks?: boolean;
}

export interface DeliveryAttempt {
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  /** When it began, Unix seconds. */
  readonly started_at: number;
  /** How long it took, in milliseconds. */
  readonly duration_ms: number;
  /** HTTP status of the receiver's answer. */
  readonly status: number | null;
  /** Why it counts as failed, in a word such as `timeout`; null when it was delivered. */
  readonly failure: string | null;
  /** More about the failure, for people; null without. */
  readonly detail: string | null;
  /** IP address the attempt went to. */
  readonly address: string | null;
  /** Nonce that was sent and signed. */
  readonly nonce: string;
  /** Why it was made. `automatic`: the first attempt or one of the five retries; `durable`: one of the later retries of durable redelivery; `manual`: somebody asked for it. */
  readonly trigger: 'automatic' | 'durable' | 'manual';
  /** The first 4 KB of the receiver's answer as text, while it is kept. */
  readonly answer: string | null;
}

export interface Deposit {
  /** Its id in `/v1/transactions`, to refund this very deposit. */
  readonly transaction_id: string;
  /** The network. `ethereum`: Ethereum; `bsc`: BNB Smart Chain; `tron`: TRON; `solana`: Solana. */
  readonly network: 'ethereum' | 'bsc' | 'tron' | 'solana';
  /** The stablecoin. `USDT`: Tether USD; `USDC`: USD Coin. */
  readonly coin: 'USDT' | 'USDC';
  /** Units of the coin that arrived. */
  readonly amount: string;
  /** Where it stands on chain. `detected`: seen in a block that can still go away; `final`: it cannot go away any more; `reverted`: its block left the chain, and it with it; `failed`: it was seen and never became final. */
  readonly status: 'detected' | 'final' | 'reverted' | 'failed';
  /** What the money counts as. `on_time`: it pays the session; `late`: it came after the deadline and pays nothing; `wrong_coin`: it is of another coin and pays nothing; `wrong_network`: it came on a network that the session does not offer and pays nothing; `dust`: it is too little to change anything. */
  readonly kind: 'on_time' | 'late' | 'wrong_coin' | 'wrong_network' | 'dust';
  /** Address that paid; null where the chain names no single one. */
  readonly from_address: string | null;
  /** Who paid, once that could be told: a refund to a contract or an exchange may be lost. */
  readonly sender: Sender | null;
  /** Collection address that received. */
  readonly to_address: string;
  /** Hash of the transaction in the network's own form. */
  readonly tx_hash: string;
  /** Which of the transfers of the transaction it is. */
  readonly log_index: number;
  /** Block (on Solana: slot) that holds the transaction. */
  readonly block_number: number;
  /** Time of the block, Unix seconds. */
  readonly block_time: number;
  /** The transaction at a block explorer; null where the network has none, as in the sandbox. */
  readonly explorer_url: string | null;
  /** What a refund that names it may take; "0.00" without a single payer. */
  readonly refundable: string;
}

export interface Error {
  /** What is wrong. */
  readonly error: {
    /** Stable name of the error. `invalid_request`: The body, a field, a header or a query parameter is malformed. `param` names it; `unknown_field`: The body holds a field that this operation does not know. `param` names it; `session_expired`: The session has expired or was cancelled; `session_already_paid`: The session is paid and cannot be cancelled; `session_not_paid`: No final money was received for the session, so there is nothing to refund; `refund_exceeds_paid`: The refund is larger than what is left to refund; `payer_ambiguous`: The chain names no single payer of the money that is left, such as one that a bridge minted, so no refund can go back to it; `sender_not_acknowledged`: The payer is a contract or an exchange, where a refund may be lost; `authentication_failed`: Key, timestamp, nonce or signature is missing or wrong; `signature_version_required`: The request was signed with version 1, and the key takes version 2 only; `insufficient_scope`: The key is restricted and lacks the scope that the operation needs. `message` names it; `address_not_allowed`: The key may be used from certain addresses only, and the request came from another one; `not_found`: No such resource, or the caller has no access to it; `method_not_allowed`: The path exists but not with this method; `request_timeout`: The body did not arrive in time. Nothing was stored; `order_id_conflict`: The `order_id` is taken by a session with another body; `idempotency_conflict`: The `Idempotency-Key` was used with another request; `conflict`: Another request changed the same resource at the same time; `body_too_large`: The body is over 256 KiB; `unsupported_media_type`: The body is not plain `application/json` in UTF-8, or it is compressed; `rate_limited`: Too many requests with this key, or without a valid one from this address; `internal_error`: The service failed. Nothing is known about the request; `addresses_unconfirmed`: Whoever holds the keys has not confirmed that the collection addresses are its own, so none is shown. Nothing was stored; `clock_in_doubt`: The service's clock contradicts the chains and servers around it, so no deadline can be set. Nothing was stored; `rate_unavailable`: No usable exchange rate. Nothing was stored; `service_unavailable`: The service cannot take the request now. Nothing was stored. Lists answer so while they are made anew: none is shown in part; `read_only`: The service is read-only while its records are checked. */
    readonly code: 'invalid_request' | 'unknown_field' | 'session_expired' | 'session_already_paid' | 'session_not_paid' | 'refund_exceeds_paid' | 'payer_ambiguous' | 'sender_not_acknowledged' | 'authentication_failed' | 'signature_version_required' | 'insufficient_scope' | 'address_not_allowed' | 'not_found' | 'method_not_allowed' | 'request_timeout' | 'order_id_conflict' | 'idempotency_conflict' | 'conflict' | 'body_too_large' | 'unsupported_media_type' | 'rate_limited' | 'internal_error' | 'addresses_unconfirmed' | 'clock_in_doubt' | 'rate_unavailable' | 'service_unavailable' | 'read_only';
    /** For people; may change. */
    readonly message: string;
    /** The field, header or query parameter at fault. */
    readonly param?: string;
    /** Quote it when you ask for help. */
    readonly request_id: string;
    /** Where the code is explained, with what to do about it. Absent only where the request was not readable as HTTP. */
    readonly doc_url?: string;
  };
}

export interface EventFeed {
  /** Events, oldest first, as they were sent. */
  readonly data: readonly WebhookEvent[];
  /** Where this page stands in the feed. */
  readonly pagination: {
    /** Events per page at most. */
    readonly page_size: number;
    /** Whether more events wait behind this page. */
    readonly has_more: boolean;
    /** Keep it: it goes on after the last event read, also when there are no more yet. */
    readonly next_cursor: string;
  };
}

export interface LedgerBalance {
  /** The network. `ethereum`: Ethereum; `bsc`: BNB Smart Chain; `tron`: TRON; `solana`: Solana. */
  readonly network: 'ethereum' | 'bsc' | 'tron' | 'solana';
  /** The coin, such as `USDT`. */
  readonly coin: string;
  /** Of paid orders: yours. */
  readonly payable: string;
  /** Money that pays no order: too little, too much, late, or of another coin. */
  readonly unapplied: string;
  /** Refunds accepted and not yet paid out. */
  readonly refunds_reserved: string;
  /** All three together. */
  readonly total: string;
}

export interface LedgerBalances {
  /** Null for now. */
  readonly as_of: string | null;
  /** By which time days are told. `recorded`: when the service wrote the fact down; `chain`: the time of its block. */
  readonly clock: 'recorded' | 'chain';
  /** What you are owed, per network and coin. */
  readonly data: readonly LedgerBalance[];
}

export interface LedgerEntry {
  /** From 1, without gaps, in the order of recording. */
  readonly number: number;
  /** Id of the event that the entry is made of; several entries may share it, such as a payment and its service fee. */
  readonly id: string;
  /** What happened: deposit_seen, deposit_lost, deposit, deposit_reversed, payment, payment_restored, service_fee, service_fee_reversed, refund_reserved, refund_paid, refund_unpaid, refund_released, refund_valued, settlement, transfer_set_aside, transfer_put_back, transfer_credited, transfer_credit_reversed, adjustment; more may follow. */
  readonly kind: string;
  /** Unix time in seconds. */
  readonly recorded_at: number;
  /** Day of the books by the time of recording. */
  readonly recorded_day: string;
  /** Block time; null when the fact is not one of a chain. */
  readonly chain_time: number | null;
  /** Day of the books by block time; that of a later period when its own was closed. */
  readonly chain_day: string;
  /** Your order id, as you gave it at the create. */
  readonly order_id: string | null;
  /** Id of the payment session. */
  readonly session_id: string | null;
  /** Id of the refund. */
  readonly refund_id: string | null;
  /** Hash of the transaction in the network's own form. */
  readonly tx_hash: string | null;
  /** Which of the transfers of the transaction it is. */
  readonly log_index: number | null;
  /** Block (on Solana: slot) that holds the transaction. */
  readonly block_number: number | null;
  /** Hash of that block. */
  readonly block_hash: string | null;
  /** Id of the entry that this one takes back; of `service_fee_reversed`: its `service_fee`. */
  readonly reverses: string | null;
  /** What it is worth in the currency of the order; null without conversion. */
  readonly value: LedgerFiatValue | null;
  /** An amount that moves no account, such as a transfer that is seen and not final. */
  readonly memo: {
    /** The network. `ethereum`: Ethereum; `bsc`: BNB Smart Chain; `tron`: TRON; `solana`: Solana. */
    readonly network: 'ethereum' | 'bsc' | 'tron' | 'solana' | null;
    /** The coin, such as `USDT`. */
    readonly coin: string;
    /** Units of the coin. */
    readonly amount: string;
  } | null;
  /** What it changes; the sum is zero unless money came or went. */
  readonly lines: readonly {
    /** The account that it moves. `payable`: of paid orders, yours; `unapplied`: money that pays no order; `refunds_reserved`: refunds accepted and not yet paid out. */
    readonly account: 'payable' | 'unapplied' | 'refunds_reserved';
    /** The network. `ethereum`: Ethereum; `bsc`: BNB Smart Chain; `tron`: TRON; `solana`: Solana. */
    readonly network: 'ethereum' | 'bsc' | 'tron' | 'solana';
    /** The coin, such as `USDT`. */
    readonly coin: string;
    /** Above zero: you are owed more. */
    readonly amount: string;
    /** Of the account in this coin on this network after the line, in the order of recording. */
    readonly balance: string;
  }[];
}

/** What it is worth in the currency of the order. */
export interface LedgerFiatValue {
  /** Currency of the order. */
  readonly currency: string;
  /** What the coin is worth at the rate of the session. */
  readonly at_locked_rate: string;
  /** Null when there was no quote. */
  readonly at_settlement_quote: string | null;
  /** At the settlement quote less at the locked rate. */
  readonly difference: string | null;
}

export interface LedgerSettlementLine {
  /** Id of the event that the entry is made of; several entries may share it, such as a payment and its service fee. */
  readonly id: string;
  /** What happened: deposit_seen, deposit_lost, deposit, deposit_reversed, payment, payment_restored, service_fee, service_fee_reversed, refund_reserved, refund_paid, refund_unpaid, refund_released, refund_valued, settlement, transfer_set_aside, transfer_put_back, transfer_credited, transfer_credit_reversed, adjustment; more may follow. */
  readonly kind: string;
  /** Unix time in seconds. */
  readonly recorded_at: number;
  /** Day of the books by the time of recording. */
  readonly recorded_day: string;
  /** Block time; null when the fact is not one of a chain. */
  readonly chain_time: number | null;
  /** Day of the books by block time; that of a later period when its own was closed. */
  readonly chain_day: string;
  /** Your order id, as you gave it at the create. */
  readonly order_id: string | null;
  /** Id of the payment session. */
  readonly session_id: string | null;
  /** Id of the refund. */
  readonly refund_id: string | null;
  /** Hash of the transaction in the network's own form. */
  readonly tx_hash: string | null;
  /** Which of the transfers of the transaction it is. */
  readonly log_index: number | null;
  /** Block (on Solana: slot) that holds the transaction. */
  readonly block_number: number | null;
  /** Hash of that block. */
  readonly block_hash: string | null;
  /** Id of the entry that this one takes back; of `service_fee_reversed`: its `service_fee`. */
  readonly reverses: string | null;
  /** What it is worth in the currency of the order; null without conversion. */
  readonly value: LedgerFiatValue | null;
  /** The network. `ethereum`: Ethereum; `bsc`: BNB Smart Chain; `tron`: TRON; `solana`: Solana. */
  readonly network: 'ethereum' | 'bsc' | 'tron' | 'solana' | null;
  /** The coin, such as `USDT`. */
  readonly coin: string;
  /** Of paid orders: yours. */
  readonly payable: string;
  /** Money that pays no order: too little, too much, late, or of another coin. */
  readonly unapplied: string;
  /** Refunds accepted and not yet paid out. */
  readonly refunds_reserved: string;
  /** All three together. */
  readonly total: string;
}

export interface LedgerSettlementReport {
  /** First day, as asked for; null for the beginning. */
  readonly from: string | null;
  /** Last day, as asked for; null for now. */
  readonly to: string | null;
  /** By which time days are told. `recorded`: when the service wrote the fact down; `chain`: the time of its block. */
  readonly clock: 'recorded' | 'chain';
  /** Before the first day. */
  readonly opening: readonly LedgerBalance[];
  /** After the last day: opening plus every line of every page. */
  readonly closing: readonly LedgerBalance[];
  /** Every line of the days, oldest first. */
  readonly data: readonly LedgerSettlementLine[];
  readonly pagination: Pagination;
}

export interface LineItem {
  /** What one unit costs and what it is. */
  readonly price_data: {
    /** Currency of the price. */
    readonly currency: string;
    /** Unit price, decimal string. */
    readonly unit_amount: string;
    /** What is sold. */
    readonly product_data: {
      /** Name of the product, as the payer reads it. */
      readonly name: string;
      /** What the product is, in a sentence. */
      readonly description?: string;
    };
  };
  /** How many units; 1 when absent. */
  readonly quantity?: number;
}

export interface LoggedRequest {
  /** The `request_id` of the answer. */
  readonly id: string;
  /** When it came, Unix seconds. */
  readonly at: number;
  /** How long its answer took, in milliseconds. */
  readonly duration_ms: number;
  /** HTTP method. */
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** Name of the operation in the OpenAPI document; `unmatched` where there is none. */
  readonly operation: string;
  /** The API key that it named. */
  readonly key_id: string;
  /** HTTP status of the answer. */
  readonly status: number;
  /** The code of the error; null when it succeeded. */
  readonly error_code: string | null;
  /** The field, header or query parameter at fault; null without. */
  readonly param: string | null;
  /** Of a 401 with a key of the test mode: the check that failed, such as `timestamp` or `signature`; else null. */
  readonly authentication_fault: string | null;
}

export interface Merchant {
  /** Id of the merchant. */
  readonly id: string;
  /** Name of the merchant. */
  readonly name: string;
  /** Which money it is about. `live`: real money; `test`: the sandbox. */
  readonly mode: 'live' | 'test';
  /** Coin that orders in other currencies are paid in: `USDT` or `USDC`. */
  readonly settlement_currency: 'USDT' | 'USDC';
  /** Networks offered to payers, in the order shown. */
  readonly networks: readonly ('ethereum' | 'bsc' | 'tron' | 'solana')[];
  /** Whether payers choose the coin of orders in other currencies, unless `target_currency` names it: the first money that counts decides. */
  readonly offer_both_coins: boolean;
  /** Whether USDC is offered on TRON, where its issuer no longer supports it. */
  readonly offer_tron_usdc: boolean;
  /** Units of the coin that a payment may be short; the cap of `tolerance_percent` where there is one and this is above zero. */
  readonly tolerance: string;
  /** Percent of what is due that a payment may be short; null without a share. */
  readonly tolerance_percent: string | null;
  /** Where payers reach the shop; null for nowhere. */
  readonly contact: string | null;
  /** Evidence that you take for a refund to another than who paid. */
  readonly refund_claims: readonly ('signature' | 'test_payment' | 'no_sender')[];
  /** Seconds that a session may be paid; null for the default of the installation. */
  readonly session_ttl_seconds: number | null;
  /** From this many units on, payments on Ethereum wait for finality. */
  readonly ethereum_finalized_from: string;
  /** Blocks that payments on Ethereum wait for below that amount. */
  readonly ethereum_confirmations: number;
  /** Picture of the shop as payment pages show it; null without one. */
  readonly logo: {
    /** Pixels. */
    readonly width: number;
    /** Pixels. */
    readonly height: number;
    /** Size of the picture as it is served. */
    readonly bytes: number;
  } | null;
  /** Your default endpoint; null before one was set. */
  readonly webhook: WebhookEndpoint | null;
  /** Your registered domains. */
  readonly domains: readonly {
    /** The `merchant_domain_id` of a create. */
    readonly id: string;
    /** Host name of a shop of yours, where its return URLs must be. */
    readonly host: string;
    /** Name of the shop, as the payment page shows it. */
    readonly name: string;
  }[];
  /** How many minutes a change of webhook URLs, policy or settlement addresses waits before it takes effect. */
  readonly change_delay_minutes: number;
  /** Such changes that wait; what is above is still in force. */
  readonly pending_changes: readonly PendingChange[];
}

export interface MonthStatement {
  /** Always `StatementIssued`. */
  readonly type: string;
  /** `test` or `live`. */
  readonly mode: string;
  /** The month, such as `2026-10` (UTC, by the time of recording). */
  readonly period: string;
  /** You. */
  readonly merchant_id: string | null;
  /** Id of the event that sealed the month. */
  readonly closing: string;
  /** Id of the last event in the month. */
  readonly through_event: string;
  /** Your accounts, by network and coin. */
  readonly accounts: readonly {
    /** Name of the account in the books, such as `liabilities:merchants:<your id>:payable`. */
    readonly account: string;
    /** The network. `ethereum`: Ethereum; `bsc`: BNB Smart Chain; `tron`: TRON; `solana`: Solana. */
    readonly network: 'ethereum' | 'bsc' | 'tron' | 'solana';
    /** The coin, such as `USDT`. */
    readonly coin: string;
    /** Before the month; below zero is owed to you. */
    readonly opening: string;
    /** What made it less for you. */
    readonly debits: string;
    /** What made it more for you. */
    readonly credits: string;
    /** After it: opening + debits - credits. */
    readonly closing: string;
  }[];
  /** The same by what happened: adds up to the debits and credits of `accounts`. */
  readonly kinds: readonly {
    /** What happened, as in the entries. */
    readonly kind: string;
    /** Name of the account in the books, such as `liabilities:merchants:<your id>:payable`. */
    readonly account: string;
    /** The network. `ethereum`: Ethereum; `bsc`: BNB Smart Chain; `tron`: TRON; `solana`: Solana. */
    readonly network: 'ethereum' | 'bsc' | 'tron' | 'solana';
    /** The coin, such as `USDT`. */
    readonly coin: string;
    /** How many lines of it. */
    readonly lines: number;
    /** What made it less for you. */
    readonly debits: string;
    /** What made it more for you. */
    readonly credits: string;
  }[];
  /** Lines of the month, all together. */
  readonly lines: number;
  /** SHA-256 of all lines, in hex: see the documentation of the books. */
  readonly lines_sha256: string;
  /** Who closed the month. */
  readonly actor: string;
  /** Unix time in seconds. */
  readonly issued_at_sec: number;
  /** Id of the event by which the statement is kept. */
  readonly event: string;
  /** Unix time in seconds. */
  readonly recorded_at: number;
  /** Public key of the signer. Verify with the one that you keep. */
  readonly verifier_key: string | null;
  readonly checkpoint: AuditCheckpoint;
  /** Proves the event under the checkpoint. */
  readonly proof: {
    /** Place of the event in the log, from 0. */
    readonly leaf_index: number;
    /** The event's canonical text. */
    readonly text: string;
    /** Hex. */
    readonly hash: string;
    /** Hashes in base64, from the bottom of the tree up (RFC 9162). */
    readonly inclusion_proof: readonly string[];
  };
}

export interface NewWebhookEndpoint {
  /** The endpoint, in the paths that change it. */
  readonly id: string;
  /** Null: nothing is sent, and what is to be told waits. */
  readonly url: string | null;
  /** Whether failed deliveries are tried again for 72 hours. */
  readonly durable_redelivery: boolean;
  /** What is told. */
  readonly events: readonly ('payment.completed' | 'payment.failed' | 'payment.expired' | 'payment.cancelled' | 'refund.succeeded' | 'refund.failed' | 'payment.processing' | 'payment.partially_paid' | 'payment.overpaid' | 'payment.late' | 'payment.wrong_coin' | 'payment.reversed' | 'payment.restored' | 'refund.created' | 'claim.created' | 'claim.rejected')[];
  /** What is said of it beside what is always said. */
  readonly fields: readonly ('received' | 'due' | 'excess' | 'network' | 'tx_hash' | 'failure_reason')[];
  /** Whether each request is signed after Standard Webhooks, too (`webhook-id`, `webhook-timestamp`, `webhook-signature`). */
  readonly standard_webhooks: boolean;
  /** Whether it is switched off: nothing is sent. The default endpoint is told later what happened meanwhile, a further one is not. */
  readonly disabled: boolean;
  /** Why nothing is sent; null while it is not suspended. `only_failures`: five days of failures; `gone`: three answers of 410 in a row. */
  readonly suspended: 'only_failures' | 'gone' | null;
  /** When an issued secret takes over, in Unix seconds; null when none waits. */
  readonly next_secret_activates_at: number | null;
  /** Shown here and never again. */
  readonly webhook_secret: string;
  /** The same secret in the form that libraries for Standard Webhooks take. */
  readonly standard_webhooks_secret: string;
}

/** Where this page stands in the list. */
export interface Pagination {
  /** Page mode only. */
  readonly page?: number;
  /** Records per page, as asked for. */
  readonly page_size: number;
  /** Page mode only. */
  readonly total?: number;
  /** Page mode only. */
  readonly total_pages?: number;
  /** Whether another page follows. */
  readonly has_more: boolean;
  /** Goes on after this page in cursor mode; null at the end. */
  readonly next_cursor: string | null;
}

export interface PaymentEvent {
  /** Event id; deduplicate by it. */
  readonly id: string;
  /** What happened. `payment.completed`: the payment is final on chain; `payment.failed`: a payment that would have sufficed was seen and is lost for good; `payment.expired`: the session timed out; `payment.cancelled`: you cancelled the session. */
  readonly type: 'payment.completed' | 'payment.failed' | 'payment.expired' | 'payment.cancelled';
  /** When it was decided, Unix seconds. */
  readonly created_at: number;
  /** What the event is about. */
  readonly data: {
    /** What the event is about. */
    readonly object: {
      /** Units of the coin that you hold of the on-time money, without what was refunded. */
      readonly amount: string;
      /** USDT or USDC. */
      readonly currency: string;
      /** `1` without conversion. */
      readonly exchange_rate: string;
      /** Your order id, as you gave it at the create. */
      readonly order_id: string;
      /** Id of the payment session. */
      readonly session_id: string;
      /** Always `api`. */
      readonly source: 'api';
      /** Where the endpoint asked for it: final on-time money that you hold, in units of the coin. */
      readonly received?: string;
      /** Where the endpoint asked for it: what the session asks for. */
      readonly due?: string;
      /** Where the endpoint asked for it: what is beyond what was due, once it is paid. */
      readonly excess?: string;
      /** Where the endpoint asked for it: the network of the transfer; null without one. */
      readonly network?: 'ethereum' | 'bsc' | 'tron' | 'solana' | null;
      /** Where the endpoint asked for it: the transaction; null without one. */
      readonly tx_hash?: string | null;
      /** Where the endpoint asked for it: why it failed. */
      readonly failure_reason?: string | null;
      /** The outcome. `completed`: paid; `failed`: the payment is lost for good; `expired`: the session timed out; `canceled`: you cancelled it. */
      readonly status: 'completed' | 'failed' | 'expired' | 'canceled';
      /** Only on a `payment.completed` that follows a `payment.expired` or `payment.failed`: this event is authoritative. */
      readonly after_expiry?: true;
      readonly [further: string]: unknown;
    };
  };
}

export interface PaymentNoticeEvent {
  /** Event id; deduplicate by it. */
  readonly id: string;
  /** What happened. `payment.processing`: a transfer in time was seen, and none was on its way before; `payment.partially_paid`: money in time is final, and more is missing; `payment.overpaid`: money came in time to a session that is paid already; `payment.late`: money became final that pays nothing any more; `payment.wrong_coin`: money became final that never pays this session; `payment.reversed`: final money left the chain again; `payment.restored`: it is back, and the paid session has enough again. */
  readonly type: 'payment.processing' | 'payment.partially_paid' | 'payment.overpaid' | 'payment.late' | 'payment.wrong_coin' | 'payment.reversed' | 'payment.restored';
  /** When it was decided, Unix seconds. */
  readonly created_at: number;
  /** What the event is about. */
  readonly data: {
    /** What the event is about. */
    readonly object: {
      /** Units of the coin that you hold of the on-time money, without what was refunded. */
      readonly amount: string;
      /** USDT or USDC. */
      readonly currency: string;
      /** `1` without conversion. */
      readonly exchange_rate: string;
      /** Your order id, as you gave it at the create. */
      readonly order_id: string;
      /** Id of the payment session. */
      readonly session_id: string;
      /** Always `api`. */
      readonly source: 'api';
      /** Where the endpoint asked for it: final on-time money that you hold, in units of the coin. */
      readonly received?: string;
      /** Where the endpoint asked for it: what the session asks for. */
      readonly due?: string;
      /** Where the endpoint asked for it: what is beyond what was due, once it is paid. */
      readonly excess?: string;
      /** Where the endpoint asked for it: the network of the transfer; null without one. */
      readonly network?: 'ethereum' | 'bsc' | 'tron' | 'solana' | null;
      /** Where the endpoint asked for it: the transaction; null without one. */
      readonly tx_hash?: string | null;
      /** Where the endpoint asked for it: why it failed. */
      readonly failure_reason?: string | null;
      /** The last part of `type`. `processing`: a transfer in time was seen, and none was on its way before; `partially_paid`: money in time is final, and more is missing; `overpaid`: money came in time to a session that is paid already; `late`: money became final that pays nothing any more; `wrong_coin`: money became final that never pays this session; `reversed`: final money left the chain again; `restored`: it is back, and the paid session has enough again. */
      readonly status: 'processing' | 'partially_paid' | 'overpaid' | 'late' | 'wrong_coin' | 'reversed' | 'restored';
      /** Why it pays nothing; only on `payment.late` and `payment.wrong_coin`. `after_deadline`: it came after the deadline; `after_cancel`: it came after you cancelled the session; `wrong_coin`: it is of another coin; `wrong_network`: it came on a network that the session does not offer. */
      readonly reason?: 'after_deadline' | 'after_cancel' | 'wrong_coin' | 'wrong_network';
      /** The transfer that it is about, in the coin that it brought. */
      readonly transfer: {
        /** Units of the coin. */
        readonly amount: string;
        /** The stablecoin. `USDT`: Tether USD; `USDC`: USD Coin. */
        readonly currency: 'USDT' | 'USDC';
        /** The network. `ethereum`: Ethereum; `bsc`: BNB Smart Chain; `tron`: TRON; `solana`: Solana. */
        readonly network: 'ethereum' | 'bsc' | 'tron' | 'solana';
        /** Hash of the transaction in the network's own form. */
        readonly tx_hash: string;
      };
      readonly [further: string]: unknown;
    };
  };
}

export interface PaymentOption {
  /** The network. `ethereum`: Ethereum; `bsc`: BNB Smart Chain; `tron`: TRON; `solana`: Solana. */
  readonly network: 'ethereum' | 'bsc' | 'tron' | 'solana';
  /** The stablecoin. `USDT`: Tether USD; `USDC`: USD Coin. */
  readonly coin: 'USDT' | 'USDC';
  /** The contract or mint that counts as the coin. */
  readonly token_address: string;
  /** The network's own id of its chain, such as `1` for Ethereum. */
  readonly chain_id: string;
  /** Decimals of the token on this network. */
  readonly decimals: number;
  /** Collection address of this session. */
  readonly address: string;
  /** Units of the coin to pay. */
  readonly amount: string;
  /** Text of the QR code: the plain address, the one form every wallet reads. */
  readonly qr_payload: string;
  /** Link by wallet name. */
  readonly deep_links: Readonly<Record<string, string>>;
  /** Solana: the address's token account of the coin. */
  readonly token_account?: string;
  /** When the payment counts. `confirmations`: after `confirmations` blocks; `finalized`: when the chain's own finality covers it. */
  readonly finality: 'confirmations' | 'finalized';
  /** Blocks needed, when finality goes by confirmations. */
  readonly confirmations?: number;
  /** True on a stand-in chain of the sandbox that is not the real node software. */
  readonly simulated: boolean;
}

export interface PaymentSession {
  /** Id of the payment session. */
  readonly id: string;
  /** Total of the order, decimal string in its currency. */
  readonly amount_total: string;
  /** Merchant currency, lower case. */
  readonly currency: string;
  /** Whether to fulfil the order. `unpaid`: not enough is final on chain; `paid`: enough is final on chain. */
  readonly payment_status: 'unpaid' | 'paid';
  /** When it was created, Unix seconds. */
  readonly created: number;
  /** Until when it may be paid, Unix seconds; the time of the cancellation once it is cancelled. */
  readonly expires_at: number;
  /** Payment page. */
  readonly url: string;
  /** Tax within `amount_total`, as given at the create. */
  readonly tax_amount?: string;
  /** Shipping within `amount_total`, as given at the create. */
  readonly shipping_amount?: string;
  /** With conversion only: one unit of the merchant currency is this many units of the coin. */
  readonly exchange_rate?: string;
  /** With conversion only: the coin the payer pays, `USDT` or `USDC`. */
  readonly target_currency?: 'USDT' | 'USDC';
  /** With conversion only: units of the coin the payer pays. */
  readonly target_amount_total?: string;
  /** With conversion only: when the rate was locked. */
  readonly rate_locked_at?: number;
  /** Only where the payer may choose the coin (`offer_both_coins`) and nothing decided yet: the session in the other coin. Once the first money counts this is gone, and the fields of the session are those of the coin that came. */
  readonly alternative?: AlternativeCoin;
  /** Your order id, as you gave it at the create. */
  readonly order_id: string;
  /** Where the session stands. `open`: it waits for money; `processing`: money in time was seen and is not final yet; `paid`: enough is final; `expired`: the deadline passed without enough money; `failed`: a payment that would have sufficed was seen and is lost for good; `cancelled`: you cancelled it. */
  readonly status: 'open' | 'processing' | 'paid' | 'expired' | 'failed' | 'cancelled';
  /** The coin that the session is paid in: `USDT` or `USDC`. */
  readonly settlement_currency: 'USDT' | 'USDC';
  /** Final on-time money of the settlement coin that you hold: neither refunded nor reserved for a refund. */
  readonly received: string;
  /** Seen on time but not final yet. */
  readonly pending: string;
  /** Of `received`, what is beyond what was due; zero until the session is paid. */
  readonly excess: string;
  /** Units of the settlement coin that refunds have paid out. */
  readonly refunded: string;
  /** Of the settlement coin: what a refund that names no deposit may take, late and surplus money included. Neither dust nor money without a single payer. */
  readonly refundable: string;
  /** The same of each coin; money in another coin is refunded by naming it. */
  readonly refundable_amounts: readonly RefundableAmount[];
  /** True when final money left the chain again. */
  readonly reversed: boolean;
  /** True when an on-time payment was found after the session had expired. */
  readonly after_expiry: boolean;
  /** When enough was final, Unix seconds. */
  readonly paid_at?: number;
  /** The attempt before this one to have the order paid. */
  readonly supersedes?: string;
  /** The attempt after this one, which the payment page leads to. */
  readonly superseded_by?: string;
  /** The registered domain given at the create. */
  readonly merchant_domain_id?: string;
  /** How it can be paid, one entry per network, in the order shown to the payer. */
  readonly payment_options: readonly PaymentOption[];
  /** Every transfer to the session. */
  readonly deposits: readonly Deposit[];
  /** What is sold, as given at the create. */
  readonly line_items?: readonly LineItem[];
  /** What the order is, as given at the create. */
  readonly description?: string;
  /** Where the payer goes after the payment. */
  readonly success_url?: string;
  /** Where a payer goes who gives up. */
  readonly cancel_url?: string;
  /** Echo of the metadata, with `order_id` added. */
  readonly metadata: Readonly<Record<string, string>>;
}

export interface Payout {
  /** The network. `ethereum`: Ethereum; `bsc`: BNB Smart Chain; `tron`: TRON; `solana`: Solana. */
  readonly network: 'ethereum' | 'bsc' | 'tron' | 'solana';
  /** The stablecoin. `USDT`: Tether USD; `USDC`: USD Coin. */
  readonly coin: 'USDT' | 'USDC';
  /** Address that receives: of the payer, or the payee of the claim that the refund approves. */
  readonly to_address: string;
  /** Units of the coin, decimal string. */
  readonly amount: string;
  /** Where it stands. `PENDING`: accepted, and nothing was sent yet; `PROCESSING`: a payment to the payer is being made, or is not final yet; `COMPLETED`: the money reached the payer; `FAILED`: it could not be paid out. */
  readonly status: 'PENDING' | 'PROCESSING' | 'COMPLETED' | 'FAILED';
  /** Hash of the transaction in the network's own form. */
  readonly tx_hash: string | null;
  /** In the network's native coin; paid by the operator. */
  readonly network_fee: string | null;
  /** Native coin of the network, such as `ETH`. */
  readonly network_fee_currency: string;
  /** The transaction at a block explorer; null where the network has none, as in the sandbox. */
  readonly explorer_url: string | null;
  /** Why it could not be paid out; null unless it failed. */
  readonly failure_reason: string | null;
}

export interface PendingChange {
  /** Id of the change, with which it is withdrawn. */
  readonly id: string;
  /** What is changed. `webhook_endpoint`: where you are told what happened; `policy`: how payments are judged; `settlement_address`: where settlements go; `change_delay`: how long changes wait. */
  readonly setting: 'webhook_endpoint' | 'policy' | 'settlement_address' | 'change_delay';
  /** The values that are set, by the names that the API has for them. */
  readonly change: Readonly<Record<string, string | number | boolean | null | readonly string[]>>;
  /** When it was asked for, Unix seconds. */
  readonly requested_at: number;
  /** When it takes effect, or did, Unix seconds. */
  readonly takes_effect_at: number;
}

export interface Refund {
  /** Id of the refund. */
  readonly id: string;
  /** Id of the payment session. */
  readonly session_id: string;
  /** Your order id, as you gave it at the create. */
  readonly order_id: string;
  /** What goes back. */
  readonly amount: {
    /** Decimal string in units of the coin. */
    readonly value: string;
    /** The stablecoin. `USDT`: Tether USD; `USDC`: USD Coin. */
    readonly currency: 'USDT' | 'USDC';
  };
  /** What has reached the payers. */
  readonly amount_returned: string;
  /** How much it takes. `full`: it is the first and took all that paid the order, or all there was; `partial`: any other. */
  readonly type: 'full' | 'partial';
  /** Where it stands. `PENDING`: accepted, and nothing was sent yet; `PROCESSING`: a payment to the payer is being made, or is not final yet; `COMPLETED`: the money reached the payer; `FAILED`: it could not be paid out. */
  readonly status: 'PENDING' | 'PROCESSING' | 'COMPLETED' | 'FAILED';
  /** Why, as given; null without. */
  readonly reason: string | null;
  /** Of the only payout; null with several. */
  readonly network: 'ethereum' | 'bsc' | 'tron' | 'solana' | null;
  /** Of the only payout; null with several. */
  readonly to_address: string | null;
  /** Of the only payout; null with several or before it is signed. */
  readonly tx_hash: string | null;
  /** Of the only payout; null with several or before it has landed. */
  readonly network_fee: string | null;
  /** The payments that it is made of, one per payer and network. */
  readonly payouts: readonly Payout[];
  /** When it was asked for, Unix seconds. */
  readonly created: number;
  /** When it last changed, Unix seconds. */
  readonly updated: number;
  /** Why it could not be paid out; null unless it failed. */
  readonly failure_reason: string | null;
  /** While it is not paid: what holds it up (`insufficient_funds`, `insufficient_gas`, `waiting_for_approval`, ...); null when nothing does. */
  readonly waiting_reason?: string | null;
}

export interface RefundEvent {
  /** Event id; deduplicate by it. */
  readonly id: string;
  /** What happened. `refund.succeeded`: the refund reached the payer; `refund.failed`: the refund could not be paid out; `refund.created`: a refund was accepted. */
  readonly type: 'refund.succeeded' | 'refund.failed' | 'refund.created';
  /** When it was decided, Unix seconds. */
  readonly created_at: number;
  /** What the event is about. */
  readonly data: {
    /** What the event is about. */
    readonly object: {
      /** Id of the payment session. */
      readonly session_id: string;
      /** Your order id, as you gave it at the create. */
      readonly order_id: string;
      /** Id of the refund. */
      readonly refund_id: string;
      /** Units of the coin that go back, decimal string. */
      readonly refund_amount: string;
      /** USDT or USDC. */
      readonly refund_currency: string;
      /** Where the refund stands. `completed`: the refund reached the payer; `failed`: the refund could not be paid out; `pending`: a refund was accepted. */
      readonly status: 'completed' | 'failed' | 'pending';
      /** Only on a `refund.created` that approves a claim. */
      readonly claim_id?: string;
      /** Always `api`. */
      readonly source: 'api';
      /** Where the endpoint asked for it: the network of the transfer; null without one. */
      readonly network?: 'ethereum' | 'bsc' | 'tron' | 'solana' | null;
      /** Where the endpoint asked for it: the transaction; null without one. */
      readonly tx_hash?: string | null;
      /** Where the endpoint asked for it: why it failed. */
      readonly failure_reason?: string | null;
      readonly [further: string]: unknown;
    };
  };
}

/** In the form of the `amount` of a refund. */
export interface RefundableAmount {
  /** Decimal string in units of the coin. */
  readonly value: string;
  /** The stablecoin. `USDT`: Tether USD; `USDC`: USD Coin. */
  readonly currency: 'USDT' | 'USDC';
}

export interface RejectClaim {
  /** Why, for your own records. */
  readonly reason?: string;
}

export interface ReplayDeliveries {
  /** Unix seconds, inclusive. */
  readonly created_from: number;
  /** Unix seconds, inclusive. */
  readonly created_to?: number;
  /** Default true. */
  readonly only_undelivered?: boolean;
}

export interface ReplayedDeliveries {
  /** Deliveries that will be sent again, in order. */
  readonly requested: number;
}

export interface SandboxAdvance {
  /** How much nearer the deadline comes; by default it is now. */
  readonly seconds?: number;
}

export interface SandboxDeadline {
  /** The session. */
  readonly session_id: string;
  /** Its deadline from now on, in Unix seconds. */
  readonly expires_at: number;
}

export interface SandboxPay {
  /** Network to pay on, one of those that the session offers: `ethereum`, `bsc`, `tron` or `solana`. */
  readonly network: 'ethereum' | 'bsc' | 'tron' | 'solana';
  /** By default the coin of the session; the other one for `wrong_coin`. */
  readonly coin?: string;
  /** Units of the coin; by default what the case needs. */
  readonly amount?: string;
  /** What happens. `exact`: what is due; `partial`: half of it; `over`: more than is due; `late`: what is due, after the deadline; `wrong_coin`: the other coin; `two_payers`: two payers share what is due; `reorg`: the transfer is mined, thrown out and mined again; `lost`: the transfer is mined and thrown out for good; `contract_payer`: what is due, from a contract: a refund asks for `acknowledge_sender`; `exchange_payer`: what is due, from an address that is listed as one of an exchange: a refund asks for `acknowledge_sender`; `frozen_payer`: what is due, from a payer whom the coin's issuer freezes then: every refund to it fails with `recipient_frozen`. */
  readonly case?: 'exact' | 'partial' | 'over' | 'late' | 'wrong_coin' | 'two_payers' | 'reorg' | 'lost' | 'contract_payer' | 'exchange_payer' | 'frozen_payer';
}

export interface SandboxPayment {
  /** Id of the payment session. */
  readonly session_id: string;
  /** What happens. `exact`: what is due; `partial`: half of it; `over`: more than is due; `late`: what is due, after the deadline; `wrong_coin`: the other coin; `two_payers`: two payers share what is due; `reorg`: the transfer is mined, thrown out and mined again; `lost`: the transfer is mined and thrown out for good; `contract_payer`: what is due, from a contract: a refund asks for `acknowledge_sender`; `exchange_payer`: what is due, from an address that is listed as one of an exchange: a refund asks for `acknowledge_sender`; `frozen_payer`: what is due, from a payer whom the coin's issuer freezes then: every refund to it fails with `recipient_frozen`. */
  readonly case: 'exact' | 'partial' | 'over' | 'late' | 'wrong_coin' | 'two_payers' | 'reorg' | 'lost' | 'contract_payer' | 'exchange_payer' | 'frozen_payer';
  /** The transfers that were sent. */
  readonly transfers: readonly {
    /** The network. `ethereum`: Ethereum; `bsc`: BNB Smart Chain; `tron`: TRON; `solana`: Solana. */
    readonly network: 'ethereum' | 'bsc' | 'tron' | 'solana';
    /** The stablecoin. `USDT`: Tether USD; `USDC`: USD Coin. */
    readonly coin: 'USDT' | 'USDC';
    /** Units of the coin. */
    readonly amount: string;
    /** Address of the test wallet. */
    readonly from_address: string;
    /** Collection address of the session. */
    readonly to_address: string;
    /** Hash of the transaction in the network's own form. */
    readonly tx_hash: string;
  }[];
}

export interface Sender {
  /** Who paid. `wallet`: an ordinary address; `contract`: a smart contract, which may not be able to receive; `exchange`: a wallet of an exchange, which may not credit what comes back. */
  readonly kind: 'wallet' | 'contract' | 'exchange';
  /** Name of the exchange, where it is known. */
  readonly name: string | null;
}

export interface SettingsEvent {
  /** Event id; deduplicate by it. */
  readonly id: string;
  /** What happened. `settings.changed`: a webhook URL, your policy or a settlement address was changed; `settings.change_scheduled`: such a change was asked for, and waits; `settings.change_withdrawn`: a change that waited will not take effect. */
  readonly type: 'settings.changed' | 'settings.change_scheduled' | 'settings.change_withdrawn';
  /** When it was decided, Unix seconds. */
  readonly created_at: number;
  /** What the event is about. */
  readonly data: {
    /** What the event is about. */
    readonly object: {
      /** What is changed. `webhook_endpoint`: where you are told what happened; `policy`: how payments are judged; `settlement_address`: where settlements go; `change_delay`: how long changes wait. */
      readonly setting: 'webhook_endpoint' | 'policy' | 'settlement_address' | 'change_delay';
      /** What became of it. `changed`: it is in force; `scheduled`: it waits, and takes effect by itself; `withdrawn`: it was withdrawn while it waited; `refused`: it was not possible any more when its time came. */
      readonly status: 'changed' | 'scheduled' | 'withdrawn' | 'refused';
      /** Id of the change, with which it is withdrawn. */
      readonly change_id: string | null;
      /** When it takes effect, or did, Unix seconds. */
      readonly takes_effect_at: number;
      /** Who asked for it. `merchant`: a key of yours; `operator`: who runs this service. */
      readonly changed_by: 'merchant' | 'operator';
      /** The values that are set, by the names that the API has for them. */
      readonly change: Readonly<Record<string, string | number | boolean | null | readonly string[]>>;
      /** Why it was not possible any more. */
      readonly refusal?: string;
      readonly [further: string]: unknown;
    };
  };
}

export interface TestWebhook {
  /** What happened. `payment.completed`: the payment is final on chain; `payment.failed`: a payment that would have sufficed was seen and is lost for good; `payment.expired`: the session timed out; `payment.cancelled`: you cancelled the session; `refund.succeeded`: the refund reached the payer; `refund.failed`: the refund could not be paid out; `payment.processing`: a transfer in time was seen, and none was on its way before; `payment.partially_paid`: money in time is final, and more is missing; `payment.overpaid`: money came in time to a session that is paid already; `payment.late`: money became final that pays nothing any more; `payment.wrong_coin`: money became final that never pays this session; `payment.reversed`: final money left the chain again; `payment.restored`: it is back, and the paid session has enough again; `refund.created`: a refund was accepted; `claim.created`: a payer claimed a payment and named another address for its refund; `claim.rejected`: a claim was turned down, or its approval withdrawn; `settings.changed`: a webhook URL, your policy or a settlement address was changed; `settings.change_scheduled`: such a change was asked for, and waits; `settings.change_withdrawn`: a change that waited will not take effect. */
  readonly event_type: 'payment.completed' | 'payment.failed' | 'payment.expired' | 'payment.cancelled' | 'refund.succeeded' | 'refund.failed' | 'payment.processing' | 'payment.partially_paid' | 'payment.overpaid' | 'payment.late' | 'payment.wrong_coin' | 'payment.reversed' | 'payment.restored' | 'refund.created' | 'claim.created' | 'claim.rejected' | 'settings.changed' | 'settings.change_scheduled' | 'settings.change_withdrawn';
  /** The endpoint to send it to; your default one when absent. */
  readonly endpoint_id?: string;
}

export interface Timeline {
  /** Id of the payment session. */
  readonly session_id: string;
  /** Why the session is, or is not, paid. */
  readonly conclusion: string;
  /** Every observation and decision, oldest first. */
  readonly entries: readonly TimelineEntry[];
  /** Chain time up to which every transfer to the session is known, by network; null before anything was read. Old sessions are read ever less often. */
  readonly read_to: readonly {
    /** The network. `ethereum`: Ethereum; `bsc`: BNB Smart Chain; `tron`: TRON; `solana`: Solana. */
    readonly network: 'ethereum' | 'bsc' | 'tron' | 'solana';
    /** Chain time, Unix seconds; null before anything was read. */
    readonly time: number | null;
  }[];
  /** What was read of each network while the session could be paid, and by which provider. */
  readonly coverage: readonly CoveredRange[];
}

export interface TimelineEntry {
  /** When it was written down, Unix seconds. */
  readonly at: number;
  /** Name of the event in the ledger. */
  readonly type: string;
  /** What happened, in a sentence. */
  readonly message: string;
  /** The facts behind the sentence, by name. */
  readonly facts: Readonly<Record<string, string | number | boolean | null>>;
}

export interface Transaction {
  /** Id of the transaction. */
  readonly id: string;
  /** What moved the money. `deposit`: a payer to the session; `refund`: the service to a payer; `fee`: what the network took, in its native coin; `sweep`: a collection address to the treasury. */
  readonly type: 'deposit' | 'refund' | 'fee' | 'sweep';
  /** Where it stands on chain. `detected`: seen in a block that can still go away; `final`: it cannot go away any more; `reverted`: its block left the chain, and it with it; `failed`: it was seen and never became final. */
  readonly status: 'detected' | 'final' | 'reverted' | 'failed';
  /** Id of the payment session. */
  readonly session_id: string | null;
  /** Your order id, as you gave it at the create. */
  readonly order_id: string | null;
  /** Id of the refund. */
  readonly refund_id: string | null;
  /** The network. `ethereum`: Ethereum; `bsc`: BNB Smart Chain; `tron`: TRON; `solana`: Solana. */
  readonly network: 'ethereum' | 'bsc' | 'tron' | 'solana';
  /** The coin, or the network's native coin for a fee. */
  readonly coin: string;
  /** Units of `coin`, decimal string. */
  readonly amount: string;
  /** Address that paid; null where the chain names no single one. */
  readonly from_address: string | null;
  /** Address that received; null where there is none, as for a fee. */
  readonly to_address: string | null;
  /** Hash of the transaction in the network's own form. */
  readonly tx_hash: string;
  /** Which of the transfers of the transaction it is. */
  readonly log_index: number | null;
  /** Block (on Solana: slot) that holds the transaction. */
  readonly block_number: number | null;
  /** Time of the block, Unix seconds; null before it is in one. */
  readonly block_time: number | null;
  /** Blocks from its own to the newest one seen; null where they are not counted. */
  readonly confirmations: number | null;
  /** The transaction at a block explorer; null where the network has none, as in the sandbox. */
  readonly explorer_url: string | null;
  /** When it was first seen or sent, Unix seconds. */
  readonly created: number;
}

export interface WebhookDelivery {
  /** Id of the delivery. At your default endpoint it is the id of the event; at a further one that of the endpoint follows it. */
  readonly id: string;
  /** Event id; deduplicate by it. */
  readonly event_id: string;
  /** The endpoint that it was decided for; null when you had none. */
  readonly endpoint_id: string | null;
  /** What happened. `payment.completed`: the payment is final on chain; `payment.failed`: a payment that would have sufficed was seen and is lost for good; `payment.expired`: the session timed out; `payment.cancelled`: you cancelled the session; `refund.succeeded`: the refund reached the payer; `refund.failed`: the refund could not be paid out; `payment.processing`: a transfer in time was seen, and none was on its way before; `payment.partially_paid`: money in time is final, and more is missing; `payment.overpaid`: money came in time to a session that is paid already; `payment.late`: money became final that pays nothing any more; `payment.wrong_coin`: money became final that never pays this session; `payment.reversed`: final money left the chain again; `payment.restored`: it is back, and the paid session has enough again; `refund.created`: a refund was accepted; `claim.created`: a payer claimed a payment and named another address for its refund; `claim.rejected`: a claim was turned down, or its approval withdrawn; `settings.changed`: a webhook URL, your policy or a settlement address was changed; `settings.change_scheduled`: such a change was asked for, and waits; `settings.change_withdrawn`: a change that waited will not take effect. */
  readonly event_type: 'payment.completed' | 'payment.failed' | 'payment.expired' | 'payment.cancelled' | 'refund.succeeded' | 'refund.failed' | 'payment.processing' | 'payment.partially_paid' | 'payment.overpaid' | 'payment.late' | 'payment.wrong_coin' | 'payment.reversed' | 'payment.restored' | 'refund.created' | 'claim.created' | 'claim.rejected' | 'settings.changed' | 'settings.change_scheduled' | 'settings.change_withdrawn';
  /** The session that it is about; null for an event about your settings. */
  readonly session_id: string | null;
  /** Where the delivery stands. `pending`: an attempt is due or under way; `delivered`: your endpoint answered 2xx; `exhausted`: all retries failed; `rejected`: your endpoint refused it, or there was none for too long; `blocked`: your URL leads to a forbidden address. */
  readonly status: 'pending' | 'delivered' | 'exhausted' | 'rejected' | 'blocked';
  /** True when the merchant asked for a sample. */
  readonly sample: boolean;
  /** How many attempts were made. */
  readonly attempts: number;
  /** HTTP status of your endpoint's last answer; null without an answer. */
  readonly last_status: number | null;
  /** Why the last attempt failed; null when it did not. */
  readonly last_failure: string | null;
  /** When the next attempt is due, Unix seconds; null when none is. */
  readonly next_attempt_at: number | null;
  /** When the event was decided, Unix seconds. */
  readonly created: number;
}

export interface WebhookDeliveryDetail {
  /** Id of the delivery. At your default endpoint it is the id of the event; at a further one that of the endpoint follows it. */
  readonly id: string;
  /** Event id; deduplicate by it. */
  readonly event_id: string;
  /** The endpoint that it was decided for; null when you had none. */
  readonly endpoint_id: string | null;
  /** What happened. `payment.completed`: the payment is final on chain; `payment.failed`: a payment that would have sufficed was seen and is lost for good; `payment.expired`: the session timed out; `payment.cancelled`: you cancelled the session; `refund.succeeded`: the refund reached the payer; `refund.failed`: the refund could not be paid out; `payment.processing`: a transfer in time was seen, and none was on its way before; `payment.partially_paid`: money in time is final, and more is missing; `payment.overpaid`: money came in time to a session that is paid already; `payment.late`: money became final that pays nothing any more; `payment.wrong_coin`: money became final that never pays this session; `payment.reversed`: final money left the chain again; `payment.restored`: it is back, and the paid session has enough again; `refund.created`: a refund was accepted; `claim.created`: a payer claimed a payment and named another address for its refund; `claim.rejected`: a claim was turned down, or its approval withdrawn; `settings.changed`: a webhook URL, your policy or a settlement address was changed; `settings.change_scheduled`: such a change was asked for, and waits; `settings.change_withdrawn`: a change that waited will not take effect. */
  readonly event_type: 'payment.completed' | 'payment.failed' | 'payment.expired' | 'payment.cancelled' | 'refund.succeeded' | 'refund.failed' | 'payment.processing' | 'payment.partially_paid' | 'payment.overpaid' | 'payment.late' | 'payment.wrong_coin' | 'payment.reversed' | 'payment.restored' | 'refund.created' | 'claim.created' | 'claim.rejected' | 'settings.changed' | 'settings.change_scheduled' | 'settings.change_withdrawn';
  /** The session that it is about; null for an event about your settings. */
  readonly session_id: string | null;
  /** Where the delivery stands. `pending`: an attempt is due or under way; `delivered`: your endpoint answered 2xx; `exhausted`: all retries failed; `rejected`: your endpoint refused it, or there was none for too long; `blocked`: your URL leads to a forbidden address. */
  readonly status: 'pending' | 'delivered' | 'exhausted' | 'rejected' | 'blocked';
  /** True when the merchant asked for a sample. */
  readonly sample: boolean;
  /** How many attempts were made. */
  readonly attempts: number;
  /** HTTP status of your endpoint's last answer; null without an answer. */
  readonly last_status: number | null;
  /** Why the last attempt failed; null when it did not. */
  readonly last_failure: string | null;
  /** When the next attempt is due, Unix seconds; null when none is. */
  readonly next_attempt_at: number | null;
  /** When the event was decided, Unix seconds. */
  readonly created: number;
  /** What was sent. */
  readonly event: WebhookEvent;
  /** Every attempt, oldest first. */
  readonly log: readonly DeliveryAttempt[];
}

export interface WebhookEndpoint {
  /** The endpoint, in the paths that change it. */
  readonly id: string;
  /** Null: nothing is sent, and what is to be told waits. */
  readonly url: string | null;
  /** Whether failed deliveries are tried again for 72 hours. */
  readonly durable_redelivery: boolean;
  /** What is told. */
  readonly events: readonly ('payment.completed' | 'payment.failed' | 'payment.expired' | 'payment.cancelled' | 'refund.succeeded' | 'refund.failed' | 'payment.processing' | 'payment.partially_paid' | 'payment.overpaid' | 'payment.late' | 'payment.wrong_coin' | 'payment.reversed' | 'payment.restored' | 'refund.created' | 'claim.created' | 'claim.rejected')[];
  /** What is said of it beside what is always said. */
  readonly fields: readonly ('received' | 'due' | 'excess' | 'network' | 'tx_hash' | 'failure_reason')[];
  /** Whether each request is signed after Standard Webhooks, too (`webhook-id`, `webhook-timestamp`, `webhook-signature`). */
  readonly standard_webhooks: boolean;
  /** Whether it is switched off: nothing is sent. The default endpoint is told later what happened meanwhile, a further one is not. */
  readonly disabled: boolean;
  /** Why nothing is sent; null while it is not suspended. `only_failures`: five days of failures; `gone`: three answers of 410 in a row. */
  readonly suspended: 'only_failures' | 'gone' | null;
  /** When an issued secret takes over, in Unix seconds; null when none waits. */
  readonly next_secret_activates_at: number | null;
}

export type WebhookEvent = PaymentEvent | PaymentNoticeEvent | RefundEvent | ClaimEvent | SettingsEvent;

export interface WebhookSecret {
  /** The endpoint. */
  readonly endpoint_id: string;
  /** Shown here and never again. */
  readonly webhook_secret: string;
  /** The same secret in the form that libraries for Standard Webhooks take. */
  readonly standard_webhooks_secret: string;
  /** When it takes over unless it is activated before, in Unix seconds. */
  readonly activates_at: number;
}
