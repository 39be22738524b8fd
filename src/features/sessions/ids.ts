import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { base32, parseSessionId, type MerchantId, type Mode, type SessionId } from '../../domain/values/ids.ts';
import { must } from '../../domain/values/must.ts';
import { KeyNotHeld } from '../../runtime/cryptography/sealing.ts';
import type { SharedSecret } from '../shared/shared-secrets.ts';

/** One attempt to have an order paid. */
export interface Attempt {
  readonly mode: Mode;
  readonly merchantId: MerchantId;
  readonly orderId: string;
  /** The previous session, which ended unpaid; null for the first attempt. */
  readonly supersedes: SessionId | null;
}

/**
 * Session ids are an HMAC of (mode, merchant, order_id) and of the superseded session, if any. A used `order_id`
 * therefore shows as the `NoStream` conflict of one append, each session has at most one successor, and the id in the
 * payment page's URL cannot be guessed.
 */
export class SessionIds {
  /** Newest first. */
  readonly #keys: readonly KeyObject[];

  /**
   * `secrets`: newest first. Old versions are kept so that a used `order_id` is still found. Without any, ids can be
   * neither made nor found.
   */
  constructor(secrets: readonly SharedSecret[]) {
    this.#keys = secrets.map(({ bytes }) => createSecretKey(bytes));
  }

  current(attempt: Attempt): SessionId {
    return idUnder(this.#key(0), attempt);
  }

  /** The ids under older secrets, newest first. */
  older(attempt: Attempt): SessionId[] {
    return this.#keys.slice(1).map((key) => idUnder(key, attempt));
  }

  /** Keyed hash (hex) of a canonical request, which tells a retry from a conflict without revealing the request. */
  requestHash(canonical: string): string {
    return createHmac('sha256', this.#key(-1)).update(`request|${canonical}`).digest('hex');
  }

  #key(place: 0 | -1): KeyObject {
    const key = this.#keys.at(place);
    if (!key)
      throw new KeyNotHeld(
        'API_SECRETS_KEY is not set: this process cannot create session ids; ask one with the role api',
      );
    return key;
  }
}

const ID_BYTES = 20;

function idUnder(key: KeyObject, { mode, merchantId, orderId, supersedes }: Attempt): SessionId {
  const mac = createHmac('sha256', key)
    .update(
      `${withLength(mode)}${withLength(merchantId)}${withLength(orderId)}${supersedes === null ? '' : withLength(supersedes)}`,
    )
    .digest();
  return must(parseSessionId(`cs_${base32(mac.subarray(0, ID_BYTES))}`));
}

/** Length prefixes distinguish ("a", "bc") from ("ab", "c"). */
const withLength = (part: string): string => `${Buffer.byteLength(part)}:${part}`;
