import type { ApiKeyId, MerchantId, Mode } from '../../domain/values/ids.ts';
import { must } from '../../domain/values/must.ts';

/** One answered request of a merchant, without bodies and signatures. */
export interface LoggedRequest {
  readonly requestId: string;
  readonly merchantId: MerchantId;
  readonly mode: Mode;
  readonly keyId: ApiKeyId;
  readonly atMs: number;
  readonly durationMs: number;
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly operation: string;
  readonly status: number;
  readonly errorCode: string | null;
  readonly param: string | null;
  /** The check that failed for a 401. */
  readonly authenticationFault: string | null;
}

type Owner = Pick<LoggedRequest, 'merchantId' | 'mode'>;

/** Limit of requests per merchant and mode, and of merchants, to bound memory. */
const KEPT_EACH = 1_000;
const OWNERS = 200;

const keyOf = ({ merchantId, mode }: Owner): string => `${mode}/${merchantId}`;

/**
 * The newest requests of each merchant that this process answered, in memory. It helps with the integration of a shop
 * and is not a record.
 */
export class RequestLog {
  readonly #byOwner = new Map<string, LoggedRequest[]>();

  note(request: LoggedRequest): void {
    const key = keyOf(request);
    const kept = this.#byOwner.get(key) ?? [];
    // The owner with the latest request stays longest.
    this.#byOwner.delete(key);
    this.#byOwner.set(key, kept);
    kept.push(request);
    if (kept.length >= 2 * KEPT_EACH) kept.splice(0, KEPT_EACH);
    if (this.#byOwner.size > OWNERS) this.#byOwner.delete(must(this.#byOwner.keys().next().value));
  }

  /** Newest first: those before a given request, or the newest ones; null if the given request is not there. */
  before(
    owner: Owner,
    requestId: string | undefined,
    isWanted: (request: LoggedRequest) => boolean = () => true,
  ): readonly LoggedRequest[] | null {
    const kept = (this.#byOwner.get(keyOf(owner)) ?? []).slice(-KEPT_EACH);
    const end = requestId === undefined ? kept.length : kept.findIndex((request) => request.requestId === requestId);
    return end < 0 ? null : kept.slice(0, end).reverse().filter(isWanted);
  }

  find(owner: Owner, requestId: string): LoggedRequest | null {
    return this.#byOwner.get(keyOf(owner))?.find((request) => request.requestId === requestId) ?? null;
  }
}
