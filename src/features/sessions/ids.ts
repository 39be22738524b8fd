import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { base32, type MerchantId, type Mode, type SessionId } from '../../domain/ids.ts';
import { KeyNotHeld } from '../../runtime/util/sealing.ts';
import type { SharedSecret } from '../shared/shared-secrets.ts';

/** One attempt to have an order paid. */
export interface Attempt {
  readonly mode: Mode;
  readonly merchantId: MerchantId;
  readonly orderId: string;
  /** The session before it that ended unpaid; null for the first. */
  readonly supersedes: SessionId | null;
}

/**
 * Session ids are an HMAC of (mode, merchant, order_id) and of the session that is superseded, if one is: a used
 * `order_id` then is the
 * `NoStream` conflict of one append, each session has one successor at most, and the id in the payment page's URL
 * cannot be guessed.
 */
export class SessionIds {
  /** Newest first. */
  readonly #keys: readonly KeyObject[];

  /**
   * `secrets`: newest first; old versions are kept so that a used `order_id` is still found. Without any, ids are
   * neither made nor found.
   */
  constructor(secrets: readonly SharedSecret[]) {
    this.#keys = secrets.map(({ bytes }) => createSecretKey(bytes));
  }

  current(attempt: Attempt): SessionId {
    return idUnder(this.#key(0), attempt);
  }

  /** The ids that older secrets would have given, newest first. */
  older(attempt: Attempt): SessionId[] {
    return this.#keys.slice(1).map((key) => idUnder(key, attempt));
  }

  /** Keyed hash (hex) of a canonical request: tells a retry from a conflict without revealing the request. */
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
  return `cs_${base32(mac.subarray(0, ID_BYTES))}` as SessionId;
}

/** Length prefixes keep ("a", "bc") and ("ab", "c") apart. */
const withLength = (part: string): string => `${Buffer.byteLength(part)}:${part}`;
