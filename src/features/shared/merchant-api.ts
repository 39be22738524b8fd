import type { KeyObject } from 'node:crypto';
import type { Scope, SignatureVersion } from '../../domain/api-keys.ts';
import type { ApiKeyId, MerchantId, Mode, RefundId, SessionId, TransactionId } from '../../domain/values/ids.ts';
import type { PlannedPayout } from '../../domain/events/refund-events.ts';
import type { LineItem } from '../../domain/events/session-personal-data.ts';
import type { Refusal } from '../../domain/values/result.ts';
import type { CoCommit } from '../../ports/event-log/event-store.ts';
import type { RefundView, SessionView } from './views.ts';

/** Whose records are read. */
export interface Reader {
  readonly merchantId: MerchantId;
  readonly mode: Mode;
}

/** The authenticated caller. */
export interface Caller extends Reader {
  readonly requestId: string;
  /** The person of the merchant or the operator behind the request; absent for the merchant's own program. */
  readonly person?: string;
  /** The operator whose command it is. */
  readonly operator?: string;
  readonly traceParent?: string;
  /** Committed with the first event of the command (see `Nonces`). */
  readonly nonceCoCommit?: CoCommit;
  /**
   * It is unknown whether this request was already executed, so its effect must not be repeated under another
   * idempotency key.
   */
  readonly mayBeReplay?: boolean;
  /** Value of the `Idempotency-Key` header, if sent. */
  readonly idempotencyKey?: string;
}

/** The caller as named in the metadata of events. */
export const actorOf = ({ merchantId, person, operator }: Pick<Caller, 'merchantId' | 'person' | 'operator'>): string =>
  operator ?? (person === undefined ? `merchant:${merchantId}` : `person:${person}`);

/** `repeated`: the command changed nothing (a safe retry), so no event carried `Caller.nonceCoCommit`. */
export type Outcome<Value> =
  | { readonly ok: true; readonly value: Value; readonly repeated?: boolean }
  | { readonly ok: false; readonly refusal: Refusal; readonly retryAfterSec?: number };

/** A validated create request: normalised amounts and URLs, currency in upper case. */
export interface CreateSessionInput {
  readonly amount: string;
  readonly currency: string;
  readonly orderId: string;
  readonly merchantDomainId?: string;
  readonly description?: string;
  readonly lineItems?: readonly LineItem[];
  readonly taxAmount?: string;
  readonly shippingAmount?: string;
  readonly successUrl?: string;
  readonly cancelUrl?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly targetCurrency?: 'USDT' | 'USDC';
  /** How long the session can be paid; absent: the merchant's default. */
  readonly lifetimeSec?: number;
  /** A session of the same order that ended unpaid and that this one supersedes. */
  readonly supersedes?: SessionId;
  /** Why the parts of the order do not make its total; a used `order_id` is told first. */
  readonly mismatch?: Refusal;
}

export interface RefundInput {
  readonly sessionId: SessionId;
  readonly amount?: { readonly value: string; readonly currency: string };
  /** The deposit to refund; absent: the service chooses. */
  readonly transactionId?: TransactionId;
  readonly reason?: string;
  readonly acknowledgeSender?: boolean;
  /** The payouts that a person signed: the refund makes these or is refused. */
  readonly planned?: readonly PlannedPayout[];
}

/** The command side for HTTP routes, CLI and tests. A session of another merchant or mode is null or `not_found`. */
export interface MerchantApi {
  createSession(caller: Caller, input: CreateSessionInput): Promise<Outcome<SessionView>>;
  getSession(caller: Pick<Caller, 'merchantId' | 'mode'>, id: SessionId): Promise<SessionView | null>;
  cancelSession(caller: Caller, id: SessionId): Promise<Outcome<SessionView>>;
  requestRefund(caller: Caller, input: RefundInput): Promise<Outcome<RefundView>>;
  getRefund(caller: Pick<Caller, 'merchantId' | 'mode'>, id: RefundId): Promise<RefundView | null>;
}

/** The shop as it presents itself to payers. */
export interface ShopFacts {
  readonly name: string;
  readonly host: string | null;
  /** `mailto:` or `https:`; null if the merchant has no contact. */
  readonly contact: string | null;
  readonly logo: ShownLogo | null;
}

/** The shop's logo, re-encoded from the pixels of the upload. */
export interface ShownLogo {
  readonly png: Buffer;
  /** From the image's SHA-256 (hex), so that its URL changes with it. */
  readonly version: string;
  readonly width: number;
  readonly height: number;
}

/** The payer's side: anyone who has the unguessable id. */
export interface PayerApi {
  viewSession(id: SessionId): Promise<SessionView | null>;
  /** Calls the listener after every change of the session. Returns the function that unsubscribes. */
  onChange(id: SessionId, listener: () => void): () => void;
  shopOf(view: Pick<SessionView, 'merchantId' | 'domainId'>): ShopFacts;
}

/** An API key in the form that authentication needs. */
export interface AuthenticatedKey {
  readonly keyId: ApiKeyId;
  readonly merchantId: MerchantId;
  readonly mode: Mode;
  readonly secret: KeyObject;
  /** Absent: unrestricted. */
  readonly restrictions?: ActiveRestrictions;
}

/** The restrictions of a key, ready for use. */
export interface ActiveRestrictions {
  /** Null: all scopes. */
  readonly scopes: ReadonlySet<Scope> | null;
  readonly allowsAddress: (address: string) => boolean;
  /** The lowest accepted version of signatures. */
  readonly signatureVersion: SignatureVersion;
}

export interface KeyDirectory {
  /** By SHA-256 (hex) of the API key; null if unknown or revoked. */
  find(keyHash: string): AuthenticatedKey | null;
  /** Called after a request with the key was authenticated. */
  used?(key: AuthenticatedKey, nowSec: number): void;
}
