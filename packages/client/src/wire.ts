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
  /** Payment options in this coin. */
  readonly payment_options: readonly PaymentOption[];
}

/** A size and root hash of the log, signed by the service. */
export interface AuditCheckpoint {
  /** Name of the log. */
  readonly origin: string;
  /** Number of events that the checkpoint covers. */
  readonly size: number;
  /** Base64. */
  readonly root_hash: string;
  /** The signed note (C2SP tlog-checkpoint). Keep it unchanged. */
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
  /** Until when it can be paid, Unix seconds; the cancellation time once it is cancelled. */
  readonly expires_at: number;
  /** Payment page. */
  readonly url: string;
  /** Tax within `amount_total`, as given at the create. */
  readonly tax_amount?: string;
  /** Shipping within `amount_total`, as given at the create. */
  readonly shipping_amount?: string;
  /** With conversion only: one unit of the merchant currency is this many units of the coin. */
  readonly exchange_rate?: string;
  /** With conversion only: the coin the payer pays in, `USDT` or `USDC`. */
  readonly target_currency?: 'USDT' | 'USDC';
  /** With conversion only: units of the coin the payer pays. */
  readonly target_amount_total?: string;
  /** With conversion only: when the rate was locked. */
  readonly rate_locked_at?: number;
  /** Only while the payer can choose the coin (`offer_both_coins`): the session in the other coin. Once the first money counts this is gone, and the fields of the session are those of the coin that was paid. */
  readonly alternative?: AlternativeCoin;
  /** Your order id, as you gave it at the create. */
  readonly order_id: string;
  /** Status of the session. `open`: it waits for money; `processing`: on-time money was seen and is not final yet; `paid`: enough is final; `expired`: the deadline passed without enough money; `failed`: a payment that would have sufficed was seen and is permanently lost; `cancelled`: you cancelled it. */
  readonly status: 'open' | 'processing' | 'paid' | 'expired' | 'failed' | 'cancelled';
  /** The coin that the session is paid in: `USDT` or `USDC`. */
  readonly settlement_currency: 'USDT' | 'USDC';
  /** Final on-time money of the settlement coin that you hold: neither refunded nor reserved for a refund. */
  readonly received: string;
  /** Seen on time but not final yet. */
  readonly pending: string;
  /** The part of `received` above what was due; zero until the session is paid. */
  readonly excess: string;
  /** Units of the settlement coin that refunds have paid out. */
  readonly refunded: string;
  /** In the settlement coin: the most that a refund naming no deposit can take, including late and surplus money. Excludes dust and money without a single payer. */
  readonly refundable: string;
  /** The same for each coin; money in another coin is refunded by naming it. */
  readonly refundable_amounts: readonly RefundableAmount[];
  /** True when final money left the chain again. */
  readonly reversed: boolean;
  /** True when an on-time payment was found after the session had expired. */
  readonly after_expiry: boolean;
  /** When enough was final, Unix seconds. */
  readonly paid_at?: number;
  /** The previous attempt for this order. */
  readonly supersedes?: string;
  /** The next attempt for this order, to which the payment page redirects. */
  readonly superseded_by?: string;
  /** The registered domain given at the create. */
  readonly merchant_domain_id?: string;
  /** Payment options, one per network, in the order shown to the payer. */
  readonly payment_options: readonly PaymentOption[];
  /** Every transfer to the session. */
  readonly deposits: readonly Deposit[];
}

export interface ChangeMerchant {
  /** Coin for orders in other currencies. */
  readonly settlement_currency?: string;
  /** Networks offered to payers, in the order shown. */
  readonly networks?: readonly ('ethereum' | 'bsc' | 'tron' | 'solana')[];
  /** Whether payers choose the coin for orders in other currencies, unless `target_currency` names it: the first money that counts decides. */
  readonly offer_both_coins?: boolean;
  /** Whether USDC is offered on TRON, where its issuer no longer supports it. */
  readonly offer_tron_usdc?: boolean;
  /** How many units of the coin a payment may be short; never more than the share of what is due that the operator allows, 5 percent by default. */
  readonly tolerance?: string;
  /** Percent of what is due that a payment may be short, with at most two decimals and never more than the operator allows. `tolerance` caps it if above zero; at `0` only the operator's cap applies. Null: no share, only `tolerance` counts. */
  readonly tolerance_percent?: string | null;
  /** Contact for payers, an e-mail address or an https URL; the payment page links to it. Null for none. */
  readonly contact?: string | null;
  /** Null for the installation default. */
  readonly session_ttl_seconds?: number | null;
  /** Payments on Ethereum of this many units or more wait for finality; at most what the operator allows. */
  readonly ethereum_finalized_from?: string;
  /** Blocks below that amount. */
  readonly ethereum_confirmations?: number;
  /** Your webhook; only the given fields are changed. */
  readonly webhook?: {
    /** https URL; null stops deliveries. */
    readonly url?: string | null;
    /** Whether failed deliveries are retried for 72 hours. */
    readonly durable_redelivery?: boolean;
    /** Additional fields of the object of each event. */
    readonly fields?: readonly ('received' | 'due' | 'excess' | 'network' | 'tx_hash' | 'failure_reason')[];
    /** Whether each request also carries Standard Webhooks headers (`webhook-id`, `webhook-timestamp`, `webhook-signature`). */
    readonly standard_webhooks?: boolean;
    /** Events that your default endpoint receives; it always receives the six outcomes. */
    readonly events?: readonly ('payment.completed' | 'payment.failed' | 'payment.expired' | 'payment.cancelled' | 'refund.succeeded' | 'refund.failed' | 'payment.processing' | 'payment.partially_paid' | 'payment.overpaid' | 'payment.late' | 'payment.wrong_coin' | 'payment.reversed' | 'payment.restored' | 'refund.created')[];
  };
  /** Logo of the shop for payment pages: a PNG file in base64, at most 128 KiB and 1024 pixels a side, not interlaced. It is re-encoded at 320 by 80 at most. Null removes it. */
  readonly logo?: string | null;
  /** The whole list: hosts not named are removed. */
  readonly domains?: readonly {
    /** Host name of one of your shops; its return URLs must be there. */
    readonly host: string;
    /** Name of the shop, shown on the payment page. */
    readonly name: string;
  }[];
}

export interface ChangeWebhookEndpoint {
  /** https URL, on port 443 or 8443. */
  readonly url?: string;
  /** Event types it receives; the default endpoint always receives the six outcomes. */
  readonly events?: readonly ('payment.completed' | 'payment.failed' | 'payment.expired' | 'payment.cancelled' | 'refund.succeeded' | 'refund.failed' | 'payment.processing' | 'payment.partially_paid' | 'payment.overpaid' | 'payment.late' | 'payment.wrong_coin' | 'payment.reversed' | 'payment.restored' | 'refund.created')[];
  /** Whether failed deliveries are retried for 72 hours. */
  readonly durable_redelivery?: boolean;
  /** Additional fields of the object of each event. */
  readonly fields?: readonly ('received' | 'due' | 'excess' | 'network' | 'tx_hash' | 'failure_reason')[];
  /** Whether each request also carries Standard Webhooks headers (`webhook-id`, `webhook-timestamp`, `webhook-signature`). */
  readonly standard_webhooks?: boolean;
  /** Whether it is switched off, so that nothing is sent. The default endpoint later receives what happened meanwhile, an additional one does not. */
  readonly disabled?: boolean;
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
  /** Names of the providers that answered. */
  readonly providers: readonly string[];
  /** Blocks in between that no recorded read covers. */
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
  /** Description of the order, shown to the payer. */
  readonly description?: string;
  /** What is sold, shown to the payer. Unit prices times quantities, `tax_amount` and `shipping_amount` must add up to `amount`; each line may be rounded to the smallest unit of the currency. */
  readonly line_items?: readonly LineItem[];
  /** Tax that `amount` contains besides the line items. */
  readonly tax_amount?: string;
  /** Shipping that `amount` contains besides the line items. */
  readonly shipping_amount?: string;
  /** Accepts line items, tax and shipping that do not add up to `amount`, for example with a discount or with tax inside the prices. The page then shows the difference as an amount of its own. */
  readonly amounts_differ?: boolean;
  /** Where the payment page takes the payer once the payment is complete: an https URL. `{SESSION_ID}` and `{ORDER_ID}` are replaced. The return proves nothing: deliver after `payment.completed`. */
  readonly success_url?: string;
  /** Where *Back to the shop* leads before that: an https URL with the same placeholders. */
  readonly cancel_url?: string;
  /** Key-value pairs returned with the session. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Seconds that this session can be paid; by default the merchant's `session_ttl_seconds`. */
  readonly expires_in?: number;
  /** A session of the same order that expired, failed or was cancelled; this one replaces it. */
  readonly supersedes?: string;
  /** Settlement coin; by default the order's own coin, otherwise the merchant's policy. */
  readonly target_currency?: string;
}

export interface CreateRefund {
  /** The session to refund. */
  readonly session_id: string;
  /** Units of the coin paid, or of the order's currency, which is always converted at the locked rate. Absent: everything that is left, of the named deposit or in the settlement coin. */
  readonly amount?: {
    /** Decimal string in normal form, above zero. */
    readonly value: string;
    /** ISO 4217 code or coin, in any case. */
    readonly currency: string;
  };
  /** The deposit to refund, as shown in the session and in `/v1/transactions`. Absent: the payers of the order come first, and dust is never taken. */
  readonly transaction_id?: string;
  /** Why, for your own records. */
  readonly reason?: string;
  /** Set after `sender_not_acknowledged`: you asked the payer, who can receive at the paying address. */
  readonly acknowledge_sender?: boolean;
}

export interface CreateWebhookEndpoint {
  /** https URL, on port 443 or 8443. */
  readonly url: string;
  /** Event types it receives. */
  readonly events: readonly ('payment.completed' | 'payment.failed' | 'payment.expired' | 'payment.cancelled' | 'refund.succeeded' | 'refund.failed' | 'payment.processing' | 'payment.partially_paid' | 'payment.overpaid' | 'payment.late' | 'payment.wrong_coin' | 'payment.reversed' | 'payment.restored' | 'refund.created')[];
  /** Whether failed deliveries are retried for 72 hours. */
  readonly durable_redelivery?: boolean;
  /** Additional fields of the object of each event. */
  readonly fields?: readonly ('received' | 'due' | 'excess' | 'network' | 'tx_hash' | 'failure_reason')[];
  /** Whether each request also carries Standard Webhooks headers (`webhook-id`, `webhook-timestamp`, `webhook-signature`). */
  readonly standard_webhooks?: boolean;
}

export interface DeliveryAttempt {
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  /** When it began, Unix seconds. */
  readonly started_at: number;
  /** Duration in milliseconds. */
  readonly duration_ms: number;
  /** HTTP status of the receiver's answer. */
  readonly status: number | null;
  /** Why it counts as failed, in a word such as `timeout`; null when it was delivered. */
  readonly failure: string | null;
  /** Details of the failure, for people, or null. */
  readonly detail: string | null;
  /** IP address the attempt went to. */
  readonly address: string | null;
  /** Nonce that was sent and signed. */
  readonly nonce: string;
  /** Why it was made. `automatic`: the first attempt or one of the five retries; `durable`: one of the later retries of durable redelivery; `manual`: requested by a user. */
  readonly trigger: 'automatic' | 'durable' | 'manual';
  /** The first 4 KB of the receiver's answer as text, while kept. */
  readonly answer: string | null;
}

export interface Deposit {
  /** Its id in `/v1/transactions`, to refund exactly this deposit. */
  readonly transaction_id: string;
  /** The network. `ethereum`: Ethereum; `bsc`: BNB Smart Chain; `tron`: TRON; `solana`: Solana. */
  readonly network: 'ethereum' | 'bsc' | 'tron' | 'solana';
  /** The stablecoin. `USDT`: Tether USD; `USDC`: USD Coin. */
  readonly coin: 'USDT' | 'USDC';
  /** Units of the coin that arrived. */
  readonly amount: string;
  /** Where it stands on chain. `detected`: seen in a block that can still be reverted; `final`: it can no longer be reverted; `reverted`: a reorganisation removed it; `failed`: it was seen and never became final. */
  readonly status: 'detected' | 'final' | 'reverted' | 'failed';
  /** What the money counts as. `on_time`: it pays the session; `late`: it came after the deadline and pays nothing; `wrong_coin`: it is another coin and pays nothing; `wrong_network`: it came on a network that the session does not offer and pays nothing; `dust`: it is too small to count; `own`: it came from an address of this installation, pays nothing and is refunded to nobody. */
  readonly kind: 'on_time' | 'late' | 'wrong_coin' | 'wrong_network' | 'dust' | 'own';
  /** Address that paid; null where the chain names no single one. */
  readonly from_address: string | null;
  /** Kind of sender, once known: a refund to a contract or an exchange may be lost. */
  readonly sender: Sender | null;
  /** Collection address that received. */
  readonly to_address: string;
  /** Hash of the transaction in the network's own form. */
  readonly tx_hash: string;
  /** Which of the transfers of the transaction it is. */
  readonly log_index: number;
  /** Only for transfers below the dust limit that are counted together: their number. Transaction, block and time are those of the newest. */
  readonly transfers?: number;
  /** Block (on Solana: slot) that holds the transaction. */
  readonly block_number: number;
  /** Time of the block, Unix seconds. */
  readonly block_time: number;
  /** The transaction at a block explorer; null where the network has none, as in the sandbox. */
  readonly explorer_url: string | null;
  /** The most that a refund naming it can take; "0.00" without a single payer. */
  readonly refundable: string;
}

export interface Error {
  /** What is wrong. */
  readonly error: {
    /** Stable name of the error. `invalid_request`: The body, a field, a header or a query parameter is malformed. `param` names it; `unknown_field`: The body contains a field that this operation does not know. `param` names it; `line_items_mismatch`: Line items, tax and shipping do not add up to `amount`; `session_expired`: The session has expired or was cancelled; `session_already_paid`: The session is paid and cannot be cancelled; `session_not_paid`: No final money was received for the session, so there is nothing to refund; `refund_exceeds_paid`: The refund is larger than what is left to refund; `payer_ambiguous`: The chain names no single payer of the remaining money (for example money minted by a bridge), so it cannot be refunded to its payer; `sender_not_acknowledged`: The payer is a contract or an exchange, where a refund may be lost; `authentication_failed`: Key, timestamp, nonce or signature is missing or wrong; `signature_version_required`: The request was signed with version 1, and the key accepts version 2 only; `insufficient_scope`: The key is restricted and lacks the scope that the operation requires. `message` names it; `address_not_allowed`: The key can be used only from certain addresses, and the request came from another one; `not_found`: No such resource, or the caller has no access to it; `method_not_allowed`: The path exists, but not with this method; `request_timeout`: The body did not arrive in time. Nothing was stored; `order_id_conflict`: The `order_id` is taken by a session with another body; `idempotency_conflict`: The `Idempotency-Key` was used with another request; `conflict`: Another request changed the same resource at the same time; `body_too_large`: The body is larger than 256 KiB; `unsupported_media_type`: The body is not plain `application/json` in UTF-8, or it is compressed; `rate_limited`: Too many requests with this key, or without a valid key from this address; `internal_error`: The service failed. Whether the request took effect is unknown; `addresses_unconfirmed`: The signer has not confirmed that the collection addresses belong to its wallet, so none can be shown. Nothing was stored; `clock_in_doubt`: The service's clock disagrees with the chains and with other servers, so no deadline can be set. Nothing was stored; `rate_unavailable`: No usable exchange rate. Nothing was stored; `service_unavailable`: The service cannot handle the request now. Nothing was stored. Lists also return this while they are rebuilt; an incomplete list is never shown; `read_only`: The service is read-only while its records are checked. */
    readonly code: 'invalid_request' | 'unknown_field' | 'line_items_mismatch' | 'session_expired' | 'session_already_paid' | 'session_not_paid' | 'refund_exceeds_paid' | 'payer_ambiguous' | 'sender_not_acknowledged' | 'authentication_failed' | 'signature_version_required' | 'insufficient_scope' | 'address_not_allowed' | 'not_found' | 'method_not_allowed' | 'request_timeout' | 'order_id_conflict' | 'idempotency_conflict' | 'conflict' | 'body_too_large' | 'unsupported_media_type' | 'rate_limited' | 'internal_error' | 'addresses_unconfirmed' | 'clock_in_doubt' | 'rate_unavailable' | 'service_unavailable' | 'read_only';
    /** For people; may change. */
    readonly message: string;
    /** The field, header or query parameter at fault. */
    readonly param?: string;
    /** Quote it when you contact support. */
    readonly request_id: string;
    /** Explains the code and what to do about it. Absent only if the request was not readable as HTTP. */
    readonly doc_url?: string;
  };
}

export interface EventFeed {
  /** Events, oldest first, as they were sent. */
  readonly data: readonly WebhookEvent[];
  /** Position of this page in the feed. */
  readonly pagination: {
    /** Maximum number of events per page. */
    readonly page_size: number;
    /** Whether more events follow this page. */
    readonly has_more: boolean;
    /** Keep it: it continues after the last event read, even if there are no more yet. */
    readonly next_cursor: string;
  };
}

export interface LedgerBalance {
  /** The network. `ethereum`: Ethereum; `bsc`: BNB Smart Chain; `tron`: TRON; `solana`: Solana. */
  readonly network: 'ethereum' | 'bsc' | 'tron' | 'solana';
  /** The coin, such as `USDT`. */
  readonly coin: string;
  /** From paid orders; yours. */
  readonly payable: string;
  /** Money that pays no order: too little, too much, late, or another coin. */
  readonly unapplied: string;
  /** Refunds accepted and not yet paid out. */
  readonly refunds_reserved: string;
  /** All three together. */
  readonly total: string;
}

export interface LedgerBalances {
  /** Null for now. */
  readonly as_of: string | null;
  /** The clock that determines days. `recorded`: when the service recorded the fact; `chain`: the time of its block. */
  readonly clock: 'recorded' | 'chain';
  /** What you are owed, per network and coin. */
  readonly data: readonly LedgerBalance[];
}

export interface LedgerEntry {
  /** From 1, without gaps, in recording order. */
  readonly number: number;
  /** Id of the event behind the entry; several entries may share it, such as a payment and its service fee. */
  readonly id: string;
  /** What happened: deposit_seen, deposit_lost, deposit, deposit_reversed, payment, payment_restored, service_fee, service_fee_reversed, refund_reserved, refund_paid, refund_unpaid, refund_released, refund_valued, settlement, transfer_set_aside, transfer_put_back, transfer_credited, transfer_credit_reversed, adjustment; more may follow. */
  readonly kind: string;
  /** Unix time in seconds. */
  readonly recorded_at: number;
  /** Day of the books by recording time. */
  readonly recorded_day: string;
  /** Block time; null when the fact is not one of a chain. */
  readonly chain_time: number | null;
  /** Day of the books by block time; in a later period if its own was closed. */
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
  /** Id of the entry that this one reverses; for `service_fee_reversed`, its `service_fee`. */
  readonly reverses: string | null;
  /** Value in the currency of the order; null without conversion. */
  readonly value: LedgerFiatValue | null;
  /** An amount that changes no account, such as a transfer that is seen and not final. */
  readonly memo: {
    /** The network. `ethereum`: Ethereum; `bsc`: BNB Smart Chain; `tron`: TRON; `solana`: Solana. */
    readonly network: 'ethereum' | 'bsc' | 'tron' | 'solana' | null;
    /** The coin, such as `USDT`. */
    readonly coin: string;
    /** Units of the coin. */
    readonly amount: string;
  } | null;
  /** Its lines; the sum is zero unless money came or went. */
  readonly lines: readonly {
    /** The account that changes. `payable`: from paid orders, yours; `unapplied`: money that pays no order; `refunds_reserved`: refunds accepted and not yet paid out. */
    readonly account: 'payable' | 'unapplied' | 'refunds_reserved';
    /** The network. `ethereum`: Ethereum; `bsc`: BNB Smart Chain; `tron`: TRON; `solana`: Solana. */
    readonly network: 'ethereum' | 'bsc' | 'tron' | 'solana';
    /** The coin, such as `USDT`. */
    readonly coin: string;
    /** Positive: you are owed more. */
    readonly amount: string;
    /** Balance of the account in this coin on this network after the line, in recording order. */
    readonly balance: string;
  }[];
}

/** Value in the currency of the order. */
export interface LedgerFiatValue {
  /** Currency of the order. */
  readonly currency: string;
  /** Value of the coin at the rate of the session. */
  readonly at_locked_rate: string;
  /** Null when there was no quote. */
  readonly at_settlement_quote: string | null;
  /** Value at the settlement quote less value at the locked rate. */
  readonly difference: string | null;
}

export interface LedgerSettlementLine {
  /** Id of the event behind the entry; several entries may share it, such as a payment and its service fee. */
  readonly id: string;
  /** What happened: deposit_seen, deposit_lost, deposit, deposit_reversed, payment, payment_restored, service_fee, service_fee_reversed, refund_reserved, refund_paid, refund_unpaid, refund_released, refund_valued, settlement, transfer_set_aside, transfer_put_back, transfer_credited, transfer_credit_reversed, adjustment; more may follow. */
  readonly kind: string;
  /** Unix time in seconds. */
  readonly recorded_at: number;
  /** Day of the books by recording time. */
  readonly recorded_day: string;
  /** Block time; null when the fact is not one of a chain. */
  readonly chain_time: number | null;
  /** Day of the books by block time; in a later period if its own was closed. */
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
  /** Id of the entry that this one reverses; for `service_fee_reversed`, its `service_fee`. */
  readonly reverses: string | null;
  /** Value in the currency of the order; null without conversion. */
  readonly value: LedgerFiatValue | null;
  /** The network. `ethereum`: Ethereum; `bsc`: BNB Smart Chain; `tron`: TRON; `solana`: Solana. */
  readonly network: 'ethereum' | 'bsc' | 'tron' | 'solana' | null;
  /** The coin, such as `USDT`. */
  readonly coin: string;
  /** From paid orders; yours. */
  readonly payable: string;
  /** Money that pays no order: too little, too much, late, or another coin. */
  readonly unapplied: string;
  /** Refunds accepted and not yet paid out. */
  readonly refunds_reserved: string;
  /** All three together. */
  readonly total: string;
}

export interface LedgerSettlementReport {
  /** First day, as requested; null for the beginning. */
  readonly from: string | null;
  /** Last day, as requested; null for now. */
  readonly to: string | null;
  /** The clock that determines days. `recorded`: when the service recorded the fact; `chain`: the time of its block. */
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
      /** Name of the product, shown to the payer. */
      readonly name: string;
      /** What the product is, in a sentence. */
      readonly description?: string;
    };
  };
  /** How many units, with at most 6 decimals; 1 when absent. */
  readonly quantity?: number;
}

export interface LoggedRequest {
  /** The `request_id` of the answer. */
  readonly id: string;
  /** When it came, Unix seconds. */
  readonly at: number;
  /** Time to answer, in milliseconds. */
  readonly duration_ms: number;
  /** HTTP method. */
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** Name of the operation in the OpenAPI document, or `unmatched`. */
  readonly operation: string;
  /** The API key that it used. */
  readonly key_id: string;
  /** HTTP status of the answer. */
  readonly status: number;
  /** The code of the error; null when it succeeded. */
  readonly error_code: string | null;
  /** The field, header or query parameter at fault, or null. */
  readonly param: string | null;
  /** For a 401 with a test-mode key: the check that failed, such as `timestamp` or `signature`; otherwise null. */
  readonly authentication_fault: string | null;
}

export interface Merchant {
  /** Id of the merchant. */
  readonly id: string;
  /** Name of the merchant. */
  readonly name: string;
  /** Test or live money. `live`: real money; `test`: the sandbox. */
  readonly mode: 'live' | 'test';
  /** Coin for orders in other currencies: `USDT` or `USDC`. */
  readonly settlement_currency: 'USDT' | 'USDC';
  /** Networks offered to payers, in the order shown. */
  readonly networks: readonly ('ethereum' | 'bsc' | 'tron' | 'solana')[];
  /** Whether payers choose the coin for orders in other currencies, unless `target_currency` names it: the first money that counts decides. */
  readonly offer_both_coins: boolean;
  /** Whether USDC is offered on TRON, where its issuer no longer supports it. */
  readonly offer_tron_usdc: boolean;
  /** How many units of the coin a payment may be short; caps `tolerance_percent` if that is set and this is above zero. */
  readonly tolerance: string;
  /** Percent of what is due that a payment may be short; null without a share. */
  readonly tolerance_percent: string | null;
  /** Contact for payers; null for none. */
  readonly contact: string | null;
  /** Seconds that a session can be paid; null for the installation default. */
  readonly session_ttl_seconds: number | null;
  /** Payments on Ethereum of this many units or more wait for finality. */
  readonly ethereum_finalized_from: string;
  /** Blocks that payments on Ethereum wait for below that amount. */
  readonly ethereum_confirmations: number;
  /** Logo of the shop as shown on payment pages; null without one. */
  readonly logo: {
    /** Pixels. */
    readonly width: number;
    /** Pixels. */
    readonly height: number;
    /** Size of the logo as served. */
    readonly bytes: number;
  } | null;
  /** Your default endpoint; null until one is set. */
  readonly webhook: WebhookEndpoint | null;
  /** Your registered domains. */
  readonly domains: readonly {
    /** The `merchant_domain_id` of a create. */
    readonly id: string;
    /** Host name of one of your shops; its return URLs must be there. */
    readonly host: string;
    /** Name of the shop, shown on the payment page. */
    readonly name: string;
  }[];
  /** Minutes by which changes of webhook URLs, policy or settlement addresses are delayed. */
  readonly change_delay_minutes: number;
  /** Pending changes; the values above are still in force. */
  readonly pending_changes: readonly PendingChange[];
}

export interface MonthStatement {
  /** Always `StatementIssued`. */
  readonly type: string;
  /** `test` or `live`. */
  readonly mode: string;
  /** The month, such as `2026-10` (UTC, by recording time). */
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
    /** Before the month; a negative amount is owed to you. */
    readonly opening: string;
    /** Debits: decrease what you are owed. */
    readonly debits: string;
    /** Credits: increase what you are owed. */
    readonly credits: string;
    /** After it: opening + debits - credits. */
    readonly closing: string;
  }[];
  /** The same by kind: adds up to the debits and credits of `accounts`. */
  readonly kinds: readonly {
    /** Kind, as in the entries. */
    readonly kind: string;
    /** Name of the account in the books, such as `liabilities:merchants:<your id>:payable`. */
    readonly account: string;
    /** The network. `ethereum`: Ethereum; `bsc`: BNB Smart Chain; `tron`: TRON; `solana`: Solana. */
    readonly network: 'ethereum' | 'bsc' | 'tron' | 'solana';
    /** The coin, such as `USDT`. */
    readonly coin: string;
    /** Number of lines. */
    readonly lines: number;
    /** Debits: decrease what you are owed. */
    readonly debits: string;
    /** Credits: increase what you are owed. */
    readonly credits: string;
  }[];
  /** Total number of lines of the month. */
  readonly lines: number;
  /** SHA-256 of all lines, in hex: see the documentation of the books. */
  readonly lines_sha256: string;
  /** Who closed the month. */
  readonly actor: string;
  /** Unix time in seconds. */
  readonly issued_at_sec: number;
  /** Id of the event that holds the statement. */
  readonly event: string;
  /** Unix time in seconds. */
  readonly recorded_at: number;
  /** Public key of the signer. Verify with the copy that you keep. */
  readonly verifier_key: string | null;
  readonly checkpoint: AuditCheckpoint;
  /** Proves the event under the checkpoint. */
  readonly proof: {
    /** Position of the event in the log, from 0. */
    readonly leaf_index: number;
    /** The event's canonical text. */
    readonly text: string;
    /** Hex. */
    readonly hash: string;
    /** Hashes in base64, from the bottom of the tree up (RFC 9162). */
    readonly inclusion_proof: readonly string[];
  };
}

export interface NewWebhookEndpoint extends WebhookEndpoint {
  /** Shown only here. */
  readonly webhook_secret: string;
  /** The same secret in the form that Standard Webhooks libraries accept. */
  readonly standard_webhooks_secret: string;
}

/** Position of this page in the list. */
export interface Pagination {
  /** Page mode only. */
  readonly page?: number;
  /** Records per page, as requested. */
  readonly page_size: number;
  /** Page mode only. */
  readonly total?: number;
  /** Page mode only. */
  readonly total_pages?: number;
  /** Whether another page follows. */
  readonly has_more: boolean;
  /** Cursor of the next page in cursor mode; null at the end. */
  readonly next_cursor: string | null;
}

export interface PaymentEvent {
  /** Event id; deduplicate by it. */
  readonly id: string;
  /** What happened. `payment.completed`: the payment is final on chain; `payment.failed`: a payment that would have sufficed was seen and is permanently lost; `payment.expired`: the session timed out; `payment.cancelled`: you cancelled the session. */
  readonly type: 'payment.completed' | 'payment.failed' | 'payment.expired' | 'payment.cancelled';
  /** When it was decided, Unix seconds. */
  readonly created_at: number;
  /** Subject of the event. */
  readonly data: {
    /** Subject of the event. */
    readonly object: {
      /** On-time money that you hold, in units of the coin, less refunds. */
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
      /** If the endpoint asked for it: final on-time money that you hold, in units of the coin. */
      readonly received?: string;
      /** If the endpoint asked for it: what the session asks for. */
      readonly due?: string;
      /** If the endpoint asked for it: what is beyond what was due, once it is paid. */
      readonly excess?: string;
      /** If the endpoint asked for it: the network of the transfer, or null. */
      readonly network?: 'ethereum' | 'bsc' | 'tron' | 'solana' | null;
      /** If the endpoint asked for it: the transaction, or null. */
      readonly tx_hash?: string | null;
      /** If the endpoint asked for it: why it failed. */
      readonly failure_reason?: string | null;
      /** The outcome. `completed`: paid; `failed`: the payment is permanently lost; `expired`: the session timed out; `canceled`: you cancelled it. */
      readonly status: 'completed' | 'failed' | 'expired' | 'canceled';
      /** Only on a `payment.completed` that follows a `payment.expired` or `payment.failed`; this event is authoritative. */
      readonly after_expiry?: true;
      readonly [further: string]: unknown;
    };
  };
}

export interface PaymentNoticeEvent {
  /** Event id; deduplicate by it. */
  readonly id: string;
  /** What happened. `payment.processing`: an on-time transfer was seen, and none was under way before; `payment.partially_paid`: on-time money is final, and more is missing; `payment.overpaid`: on-time money came to a session that is already paid; `payment.late`: money became final that can no longer pay; `payment.wrong_coin`: money became final that can never pay this session; `payment.reversed`: final money left the chain again; `payment.restored`: the money is back, and the paid session has enough again. */
  readonly type: 'payment.processing' | 'payment.partially_paid' | 'payment.overpaid' | 'payment.late' | 'payment.wrong_coin' | 'payment.reversed' | 'payment.restored';
  /** When it was decided, Unix seconds. */
  readonly created_at: number;
  /** Subject of the event. */
  readonly data: {
    /** Subject of the event. */
    readonly object: {
      /** On-time money that you hold, in units of the coin, less refunds. */
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
      /** If the endpoint asked for it: final on-time money that you hold, in units of the coin. */
      readonly received?: string;
      /** If the endpoint asked for it: what the session asks for. */
      readonly due?: string;
      /** If the endpoint asked for it: what is beyond what was due, once it is paid. */
      readonly excess?: string;
      /** If the endpoint asked for it: the network of the transfer, or null. */
      readonly network?: 'ethereum' | 'bsc' | 'tron' | 'solana' | null;
      /** If the endpoint asked for it: the transaction, or null. */
      readonly tx_hash?: string | null;
      /** If the endpoint asked for it: why it failed. */
      readonly failure_reason?: string | null;
      /** The last part of `type`. `processing`: an on-time transfer was seen, and none was under way before; `partially_paid`: on-time money is final, and more is missing; `overpaid`: on-time money came to a session that is already paid; `late`: money became final that can no longer pay; `wrong_coin`: money became final that can never pay this session; `reversed`: final money left the chain again; `restored`: the money is back, and the paid session has enough again. */
      readonly status: 'processing' | 'partially_paid' | 'overpaid' | 'late' | 'wrong_coin' | 'reversed' | 'restored';
      /** Why it pays nothing; only on `payment.late` and `payment.wrong_coin`. `after_deadline`: it came after the deadline; `after_cancel`: it came after you cancelled the session; `wrong_coin`: it is another coin; `wrong_network`: it came on a network that the session does not offer. */
      readonly reason?: 'after_deadline' | 'after_cancel' | 'wrong_coin' | 'wrong_network';
      /** The transfer concerned, in its own coin. */
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
  /** Text of the QR code: the plain address, which every wallet reads. */
  readonly qr_payload: string;
  /** Link by wallet name. */
  readonly deep_links: Readonly<Record<string, string>>;
  /** Solana: the address's token account of the coin. */
  readonly token_account?: string;
  /** When the payment counts. `confirmations`: after `confirmations` blocks; `finalized`: when the chain's own finality covers it. */
  readonly finality: 'confirmations' | 'finalized';
  /** Blocks needed, if finality is counted in confirmations. */
  readonly confirmations?: number;
  /** True on a simulated chain of the sandbox that is not the real node software. */
  readonly simulated: boolean;
}

export interface PaymentSession extends CancelledPaymentSession {
  /** What is sold, as given at the create. */
  readonly line_items?: readonly LineItem[];
  /** Description of the order, as given at the create. */
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
  /** Receiving address: the payer’s. */
  readonly to_address: string;
  /** Units of the coin, decimal string. */
  readonly amount: string;
  /** Current state. `PENDING`: accepted, and nothing was sent yet; `PROCESSING`: a payment to the payer is being made, or is not final yet; `COMPLETED`: the money reached the payer; `FAILED`: it could not be paid out. */
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
  /** Id of the change, used to withdraw it. */
  readonly id: string;
  /** The setting that changes. `webhook_endpoint`: where you are told what happened; `policy`: how payments are judged; `settlement_address`: where settlements go; `change_delay`: how long changes are delayed. */
  readonly setting: 'webhook_endpoint' | 'policy' | 'settlement_address' | 'change_delay';
  /** The new values, under their API names. */
  readonly change: Readonly<Record<string, string | number | boolean | null | readonly string[]>>;
  /** When it was requested, Unix seconds. */
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
  /** Amount refunded. */
  readonly amount: {
    /** Decimal string in units of the coin. */
    readonly value: string;
    /** The stablecoin. `USDT`: Tether USD; `USDC`: USD Coin. */
    readonly currency: 'USDT' | 'USDC';
  };
  /** Amount that has reached the payers. */
  readonly amount_returned: string;
  /** Whether it is full or partial. `full`: it is the first and took everything that paid the order, or everything there was; `partial`: any other. */
  readonly type: 'full' | 'partial';
  /** Current state. `PENDING`: accepted, and nothing was sent yet; `PROCESSING`: a payment to the payer is being made, or is not final yet; `COMPLETED`: the money reached the payer; `FAILED`: it could not be paid out. */
  readonly status: 'PENDING' | 'PROCESSING' | 'COMPLETED' | 'FAILED';
  /** The reason given, or null. */
  readonly reason: string | null;
  /** From the only payout; null with several. */
  readonly network: 'ethereum' | 'bsc' | 'tron' | 'solana' | null;
  /** From the only payout; null with several. */
  readonly to_address: string | null;
  /** From the only payout; null with several or before it is signed. */
  readonly tx_hash: string | null;
  /** From the only payout; null with several or before it has landed. */
  readonly network_fee: string | null;
  /** Its payouts, one per payer and network. */
  readonly payouts: readonly Payout[];
  /** When it was requested, Unix seconds. */
  readonly created: number;
  /** When it last changed, Unix seconds. */
  readonly updated: number;
  /** Why it could not be paid out; null unless it failed. */
  readonly failure_reason: string | null;
  /** Why it is not paid yet (`insufficient_funds`, `waiting_for_approval`, ...); otherwise null. `exceeds_account`: your account with the operator does not cover it, and it is paid once new payments do, or the operator approves it. */
  readonly waiting_reason?: string | null;
}

export interface RefundEvent {
  /** Event id; deduplicate by it. */
  readonly id: string;
  /** What happened. `refund.succeeded`: the refund reached the payer; `refund.failed`: the refund could not be paid out; `refund.created`: a refund was accepted. */
  readonly type: 'refund.succeeded' | 'refund.failed' | 'refund.created';
  /** When it was decided, Unix seconds. */
  readonly created_at: number;
  /** Subject of the event. */
  readonly data: {
    /** Subject of the event. */
    readonly object: {
      /** Id of the payment session. */
      readonly session_id: string;
      /** Your order id, as you gave it at the create. */
      readonly order_id: string;
      /** Id of the refund. */
      readonly refund_id: string;
      /** Units of the coin refunded, decimal string. */
      readonly refund_amount: string;
      /** USDT or USDC. */
      readonly refund_currency: string;
      /** Status of the refund. `completed`: the refund reached the payer; `failed`: the refund could not be paid out; `pending`: a refund was accepted. */
      readonly status: 'completed' | 'failed' | 'pending';
      /** Always `api`. */
      readonly source: 'api';
      /** If the endpoint asked for it: the network of the transfer, or null. */
      readonly network?: 'ethereum' | 'bsc' | 'tron' | 'solana' | null;
      /** If the endpoint asked for it: the transaction, or null. */
      readonly tx_hash?: string | null;
      /** If the endpoint asked for it: why it failed. */
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
  /** By how much to bring the deadline nearer; by default the deadline becomes now. */
  readonly seconds?: number;
}

export interface SandboxDeadline {
  /** The session. */
  readonly session_id: string;
  /** Its new deadline, in Unix seconds. */
  readonly expires_at: number;
}

export interface SandboxPay {
  /** Network to pay on, one of those that the session offers: `ethereum`, `bsc`, `tron` or `solana`. */
  readonly network: 'ethereum' | 'bsc' | 'tron' | 'solana';
  /** By default the coin of the session; the other one for `wrong_coin`. */
  readonly coin?: string;
  /** Units of the coin; by default what the case needs. */
  readonly amount?: string;
  /** What happens. `exact`: what is due; `partial`: half of it; `over`: more than is due; `late`: what is due, after the deadline; `wrong_coin`: the other coin; `two_payers`: two payers share what is due; `reorg`: the transfer is mined, reorganised away and mined again; `lost`: the transfer is mined and permanently reorganised away; `contract_payer`: what is due, from a contract: a refund asks for `acknowledge_sender`; `exchange_payer`: what is due, from an address listed as an exchange: a refund asks for `acknowledge_sender`; `frozen_payer`: what is due, from a payer whom the coin's issuer then freezes: every refund to it fails with `recipient_frozen`. */
  readonly case?: 'exact' | 'partial' | 'over' | 'late' | 'wrong_coin' | 'two_payers' | 'reorg' | 'lost' | 'contract_payer' | 'exchange_payer' | 'frozen_payer';
}

export interface SandboxPayment {
  /** Id of the payment session. */
  readonly session_id: string;
  /** What happens. `exact`: what is due; `partial`: half of it; `over`: more than is due; `late`: what is due, after the deadline; `wrong_coin`: the other coin; `two_payers`: two payers share what is due; `reorg`: the transfer is mined, reorganised away and mined again; `lost`: the transfer is mined and permanently reorganised away; `contract_payer`: what is due, from a contract: a refund asks for `acknowledge_sender`; `exchange_payer`: what is due, from an address listed as an exchange: a refund asks for `acknowledge_sender`; `frozen_payer`: what is due, from a payer whom the coin's issuer then freezes: every refund to it fails with `recipient_frozen`. */
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
  /** Who paid. `wallet`: an ordinary address; `contract`: a smart contract, which may not be able to receive; `exchange`: an exchange wallet, which may not credit a refund. */
  readonly kind: 'wallet' | 'contract' | 'exchange';
  /** Name of the exchange, if known. */
  readonly name: string | null;
}

export interface SettingsEvent {
  /** Event id; deduplicate by it. */
  readonly id: string;
  /** What happened. `settings.changed`: a webhook URL, your policy or a settlement address was changed; `settings.change_scheduled`: such a change was requested and is delayed; `settings.change_withdrawn`: a delayed change will not take effect. */
  readonly type: 'settings.changed' | 'settings.change_scheduled' | 'settings.change_withdrawn';
  /** When it was decided, Unix seconds. */
  readonly created_at: number;
  /** Subject of the event. */
  readonly data: {
    /** Subject of the event. */
    readonly object: {
      /** The setting that changes. `webhook_endpoint`: where you are told what happened; `policy`: how payments are judged; `settlement_address`: where settlements go; `change_delay`: how long changes are delayed. */
      readonly setting: 'webhook_endpoint' | 'policy' | 'settlement_address' | 'change_delay';
      /** Outcome. `changed`: it is in force; `scheduled`: it is delayed, and takes effect by itself; `withdrawn`: it was withdrawn before it took effect; `refused`: it was no longer valid when its time came. */
      readonly status: 'changed' | 'scheduled' | 'withdrawn' | 'refused';
      /** Id of the change, used to withdraw it. */
      readonly change_id: string | null;
      /** When it takes effect, or did, Unix seconds. */
      readonly takes_effect_at: number;
      /** Who requested it. `merchant`: one of your keys; `operator`: the operator of this service. */
      readonly changed_by: 'merchant' | 'operator';
      /** The new values, under their API names. */
      readonly change: Readonly<Record<string, string | number | boolean | null | readonly string[]>>;
      /** Why it was no longer valid. */
      readonly refusal?: string;
      readonly [further: string]: unknown;
    };
  };
}

export interface TestWebhook {
  /** What happened. `payment.completed`: the payment is final on chain; `payment.failed`: a payment that would have sufficed was seen and is permanently lost; `payment.expired`: the session timed out; `payment.cancelled`: you cancelled the session; `refund.succeeded`: the refund reached the payer; `refund.failed`: the refund could not be paid out; `payment.processing`: an on-time transfer was seen, and none was under way before; `payment.partially_paid`: on-time money is final, and more is missing; `payment.overpaid`: on-time money came to a session that is already paid; `payment.late`: money became final that can no longer pay; `payment.wrong_coin`: money became final that can never pay this session; `payment.reversed`: final money left the chain again; `payment.restored`: the money is back, and the paid session has enough again; `refund.created`: a refund was accepted; `settings.changed`: a webhook URL, your policy or a settlement address was changed; `settings.change_scheduled`: such a change was requested and is delayed; `settings.change_withdrawn`: a delayed change will not take effect. */
  readonly event_type: 'payment.completed' | 'payment.failed' | 'payment.expired' | 'payment.cancelled' | 'refund.succeeded' | 'refund.failed' | 'payment.processing' | 'payment.partially_paid' | 'payment.overpaid' | 'payment.late' | 'payment.wrong_coin' | 'payment.reversed' | 'payment.restored' | 'refund.created' | 'settings.changed' | 'settings.change_scheduled' | 'settings.change_withdrawn';
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
  /** Chain time up to which every transfer to the session is known, by network; null before anything was read. Older sessions are read less often. */
  readonly read_to: readonly {
    /** The network. `ethereum`: Ethereum; `bsc`: BNB Smart Chain; `tron`: TRON; `solana`: Solana. */
    readonly network: 'ethereum' | 'bsc' | 'tron' | 'solana';
    /** Chain time, Unix seconds; null before anything was read. */
    readonly time: number | null;
  }[];
  /** What was read on each network while the session could be paid, and by which provider. */
  readonly coverage: readonly CoveredRange[];
}

export interface TimelineEntry {
  /** When it was recorded, Unix seconds. */
  readonly at: number;
  /** Name of the event in the event log. */
  readonly type: string;
  /** What happened, in one sentence. */
  readonly message: string;
  /** The facts behind the sentence, by name. */
  readonly facts: Readonly<Record<string, string | number | boolean | null>>;
}

export interface Transaction {
  /** Id of the transaction. */
  readonly id: string;
  /** What moved the money. `deposit`: a payer to the session; `refund`: the service to a payer; `fee`: the network fee, in its native coin; `sweep`: a collection address to the treasury. */
  readonly type: 'deposit' | 'refund' | 'fee' | 'sweep';
  /** Where it stands on chain. `detected`: seen in a block that can still be reverted; `final`: it can no longer be reverted; `reverted`: a reorganisation removed it; `failed`: it was seen and never became final. */
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
  /** Address that received; null if there is none, as for a fee. */
  readonly to_address: string | null;
  /** Hash of the transaction in the network's own form. */
  readonly tx_hash: string;
  /** Which of the transfers of the transaction it is. */
  readonly log_index: number | null;
  /** Only for transfers below the dust limit that are counted together: their number. Transaction, block and time are those of the newest. */
  readonly transfers?: number;
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
  /** Id of the delivery. At your default endpoint it is the event id; at an additional one, the event id followed by the endpoint id. */
  readonly id: string;
  /** Event id; deduplicate by it. */
  readonly event_id: string;
  /** The receiving endpoint; null if you had none. */
  readonly endpoint_id: string | null;
  /** What happened. `payment.completed`: the payment is final on chain; `payment.failed`: a payment that would have sufficed was seen and is permanently lost; `payment.expired`: the session timed out; `payment.cancelled`: you cancelled the session; `refund.succeeded`: the refund reached the payer; `refund.failed`: the refund could not be paid out; `payment.processing`: an on-time transfer was seen, and none was under way before; `payment.partially_paid`: on-time money is final, and more is missing; `payment.overpaid`: on-time money came to a session that is already paid; `payment.late`: money became final that can no longer pay; `payment.wrong_coin`: money became final that can never pay this session; `payment.reversed`: final money left the chain again; `payment.restored`: the money is back, and the paid session has enough again; `refund.created`: a refund was accepted; `settings.changed`: a webhook URL, your policy or a settlement address was changed; `settings.change_scheduled`: such a change was requested and is delayed; `settings.change_withdrawn`: a delayed change will not take effect. */
  readonly event_type: 'payment.completed' | 'payment.failed' | 'payment.expired' | 'payment.cancelled' | 'refund.succeeded' | 'refund.failed' | 'payment.processing' | 'payment.partially_paid' | 'payment.overpaid' | 'payment.late' | 'payment.wrong_coin' | 'payment.reversed' | 'payment.restored' | 'refund.created' | 'settings.changed' | 'settings.change_scheduled' | 'settings.change_withdrawn';
  /** The session concerned; null for an event about your settings. */
  readonly session_id: string | null;
  /** Status of the delivery. `pending`: an attempt is due or under way; `delivered`: your endpoint answered 2xx; `exhausted`: all retries failed; `rejected`: your endpoint refused it, or there was none for too long; `blocked`: your URL resolves to a forbidden address. */
  readonly status: 'pending' | 'delivered' | 'exhausted' | 'rejected' | 'blocked';
  /** True for a sample. */
  readonly sample: boolean;
  /** Number of attempts made. */
  readonly attempts: number;
  /** HTTP status of your endpoint's last answer, or null. */
  readonly last_status: number | null;
  /** Why the last attempt failed, or null. */
  readonly last_failure: string | null;
  /** When the next attempt is due, Unix seconds; null when none is. */
  readonly next_attempt_at: number | null;
  /** When the event was decided, Unix seconds. */
  readonly created: number;
}

export interface WebhookDeliveryDetail extends WebhookDelivery {
  /** What was sent. */
  readonly event: WebhookEvent;
  /** Every attempt, oldest first. */
  readonly log: readonly DeliveryAttempt[];
}

export interface WebhookEndpoint {
  /** Id of the endpoint, used in paths. */
  readonly id: string;
  /** Null: nothing is sent, and notifications wait. */
  readonly url: string | null;
  /** Whether failed deliveries are retried for 72 hours. */
  readonly durable_redelivery: boolean;
  /** Event types it receives. */
  readonly events: readonly ('payment.completed' | 'payment.failed' | 'payment.expired' | 'payment.cancelled' | 'refund.succeeded' | 'refund.failed' | 'payment.processing' | 'payment.partially_paid' | 'payment.overpaid' | 'payment.late' | 'payment.wrong_coin' | 'payment.reversed' | 'payment.restored' | 'refund.created')[];
  /** Additional fields it receives. */
  readonly fields: readonly ('received' | 'due' | 'excess' | 'network' | 'tx_hash' | 'failure_reason')[];
  /** Whether each request also carries Standard Webhooks headers (`webhook-id`, `webhook-timestamp`, `webhook-signature`). */
  readonly standard_webhooks: boolean;
  /** Whether it is switched off, so that nothing is sent. The default endpoint later receives what happened meanwhile, an additional one does not. */
  readonly disabled: boolean;
  /** Why it is suspended; null if it is not. `only_failures`: five days of failures; `gone`: three answers of 410 in a row. */
  readonly suspended: 'only_failures' | 'gone' | null;
  /** When an issued secret takes over, in Unix seconds; null if none is pending. */
  readonly next_secret_activates_at: number | null;
}

export type WebhookEvent = PaymentEvent | PaymentNoticeEvent | RefundEvent | SettingsEvent;

export interface WebhookSecret {
  /** The endpoint. */
  readonly endpoint_id: string;
  /** Shown only here. */
  readonly webhook_secret: string;
  /** The same secret in the form that Standard Webhooks libraries accept. */
  readonly standard_webhooks_secret: string;
  /** When it takes over unless activated earlier, in Unix seconds. */
  readonly activates_at: number;
}
