/**
 * Every public error code with its HTTP status, what it means and what the merchant should do. The OpenAPI document and
 * `docs/errors.md` are generated from this table.
 */
export const ERRORS = {
  invalid_request: {
    status: 400,
    meaning: 'The body, a field, a header or a query parameter is malformed. `param` names it.',
    action: 'Correct the request; do not retry it unchanged.',
  },
  unknown_field: {
    status: 400,
    meaning: 'The body contains a field that this operation does not know. `param` names it.',
    action: 'Remove the field. The service does not guess where money is involved.',
  },
  line_items_mismatch: {
    status: 400,
    meaning: 'Line items, tax and shipping do not add up to `amount`.',
    action: 'Correct the amounts. If the difference is meant, such as a discount, set `amounts_differ` to `true`.',
  },
  session_expired: {
    status: 400,
    meaning: 'The session has expired or was cancelled.',
    action: 'Create another session for the order, with the id of this one in `supersedes`.',
  },
  session_already_paid: {
    status: 400,
    meaning: 'The session is paid and cannot be cancelled.',
    action: 'Refund it instead.',
  },
  session_not_paid: {
    status: 400,
    meaning: 'No final money was received for the session, so there is nothing to refund.',
    action: 'Wait for `payment.completed`.',
  },
  refund_exceeds_paid: {
    status: 400,
    meaning: 'The refund is larger than what is left to refund.',
    action: 'Read the session and request at most `refundable`.',
  },
  payer_ambiguous: {
    status: 400,
    meaning:
      'The chain names no single payer of the remaining money (for example money minted by a bridge), so it cannot be refunded to its payer.',
    action: 'Agree on an address with your customer and pay it yourself: the money of a paid order is settled to you.',
  },
  sender_not_acknowledged: {
    status: 400,
    meaning: 'The payer is a contract or an exchange, where a refund may be lost.',
    action: 'Ask the payer, then repeat with `acknowledge_sender: true`.',
  },
  authentication_failed: {
    status: 401,
    meaning: 'Key, timestamp, nonce or signature is missing or wrong.',
    action: 'Check the key, the clock (300 s), a fresh nonce, and that the signed bytes are the bytes sent.',
  },
  signature_version_required: {
    status: 401,
    meaning: 'The request was signed with version 1, and the key accepts version 2 only.',
    action: 'Also sign method, path and query, and send `Signature-Version: 2`.',
  },
  insufficient_scope: {
    status: 403,
    meaning: 'The key is restricted and lacks the scope that the operation requires. `message` names it.',
    action: 'Use a key with that scope, or have the operator add it.',
  },
  address_not_allowed: {
    status: 403,
    meaning: 'The key can be used only from certain addresses, and the request came from another one.',
    action: 'Send it from an allowed address, or have the operator add this one.',
  },
  not_found: {
    status: 404,
    meaning: 'No such resource, or the caller has no access to it.',
    action: 'Check the id, the key and its mode.',
  },
  method_not_allowed: {
    status: 405,
    meaning: 'The path exists, but not with this method.',
    action: 'Use the documented method.',
  },
  request_timeout: {
    status: 408,
    meaning: 'The body did not arrive in time. Nothing was stored.',
    action: 'Send the request again with a fresh timestamp, nonce and signature.',
  },
  order_id_conflict: {
    status: 409,
    meaning: 'The `order_id` is taken by a session with another body.',
    action:
      'Use a new `order_id`, repeat the first request exactly, or name the session that ended unpaid in `supersedes`.',
  },
  idempotency_conflict: {
    status: 409,
    meaning: 'The `Idempotency-Key` was used with another request.',
    action: 'Use a new key for a new request.',
  },
  conflict: {
    status: 409,
    meaning: 'Another request changed the same resource at the same time.',
    action: 'Retry with the same `Idempotency-Key`.',
  },
  body_too_large: { status: 413, meaning: 'The body is larger than 256 KiB.', action: 'Send a smaller body.' },
  unsupported_media_type: {
    status: 415,
    meaning: 'The body is not plain `application/json` in UTF-8, or it is compressed.',
    action: 'Send uncompressed JSON.',
  },
  rate_limited: {
    status: 429,
    meaning: 'Too many requests with this key, or without a valid key from this address.',
    action: 'Wait for `Retry-After` seconds.',
  },
  internal_error: {
    status: 500,
    meaning: 'The service failed. Whether the request took effect is unknown.',
    action: 'Retry with the same `order_id` or `Idempotency-Key`; quote `request_id` when you contact support.',
  },
  addresses_unconfirmed: {
    status: 503,
    meaning:
      'The signer has not confirmed that the collection addresses belong to its wallet, so none can be shown. Nothing was stored.',
    action: 'Retry after `Retry-After` seconds; the operator is alerted.',
  },
  clock_in_doubt: {
    status: 503,
    meaning:
      "The service's clock disagrees with the chains and with other servers, so no deadline can be set. Nothing was stored.",
    action: 'Retry after `Retry-After` seconds; the operator is alerted.',
  },
  rate_unavailable: {
    status: 503,
    meaning: 'No usable exchange rate. Nothing was stored.',
    action: 'Retry after `Retry-After` seconds.',
  },
  service_unavailable: {
    status: 503,
    meaning:
      'The service cannot handle the request now. Nothing was stored. Lists also return this while they are rebuilt; an incomplete list is never shown.',
    action: 'Retry after `Retry-After` seconds.',
  },
  read_only: {
    status: 503,
    meaning: 'The service is read-only while its records are checked.',
    action: 'Retry later; reads work.',
  },
} as const satisfies Record<string, { status: number; meaning: string; action: string }>;

export type ErrorCode = keyof typeof ERRORS;
