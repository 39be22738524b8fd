import type { EvidenceKind } from '../../domain/claims.ts';
import type { KeyObject } from 'node:crypto';
import type { Scope, SignatureVersion } from '../../domain/api-keys.ts';
import type { ApiKeyId, MerchantId, Mode, RefundId, SessionId, TransactionId } from '../../domain/ids.ts';
import type { Refusal } from '../../domain/result.ts';
import type { CoCommit } from '../../ports/event-store.ts';
import type { RefundView, SessionView } from './views.ts';

/** Who asks, after authentication. */
export interface Caller {
  readonly merchantId: MerchantId;
  readonly mode: Mode;
  readonly keyId: ApiKeyId;
  readonly requestId: string;
  /** Who of the merchant's or the operator's people asks; absent: the merchant's own program. */
  readonly person?: string;
  /** Whose command of the operator's it is. */
  readonly operator?: string;
  readonly traceParent?: string;
  /** To be committed with the first event of the command (see `Nonces`). */
  readonly nonceCoCommit?: CoCommit;
  /**
   * Nobody can tell whether this request was done before: what it repeats must not be done again under another
   * idempotency key.
   */
  readonly mayBeReplay?: boolean;
  /** Key of the `Idempotency-Key` header, when it was sent. */
  readonly idempotencyKey?: string;
}

/** As the metadata of events names whoever asks. */
export const actorOf = ({ merchantId, person, operator }: Pick<Caller, 'merchantId' | 'person' | 'operator'>): string =>
  operator ?? (person === undefined ? `merchant:${merchantId}` : `person:${person}`);

/** `repeated`: the command changed nothing (a safe retry), so no event took `Caller.nonceCoCommit` along. */
export type Outcome<Value> =
  | { readonly ok: true; readonly value: Value; readonly repeated?: boolean }
  | { readonly ok: false; readonly refusal: Refusal; readonly retryAfterSec?: number };

/** A create request after validation: amounts in normal form, currency upper case, URLs normalised. */
export interface CreateSessionInput {
  readonly amount: string;
  readonly currency: string;
  readonly orderId: string;
  readonly merchantDomainId?: string;
  readonly description?: string;
  readonly lineItems?: readonly unknown[];
  readonly taxAmount?: string;
  readonly shippingAmount?: string;
  readonly successUrl?: string;
  readonly cancelUrl?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly targetCurrency?: 'USDT' | 'USDC';
  /** How long it may be paid; absent: what holds for the merchant. */
  readonly lifetimeSec?: number;
  /** A session of the same order that ended unpaid, after which this is another attempt. */
  readonly supersedes?: SessionId;
}

export interface RefundInput {
  readonly sessionId: SessionId;
  readonly amount?: { readonly value: string; readonly currency: string };
  /** The deposit to refund; absent: the service chooses. */
  readonly transactionId?: TransactionId;
  /** The payer's claim that it approves; then `transactionId` is the claim's own. */
  readonly claimId?: string;
  readonly reason?: string;
  readonly acknowledgeSender?: boolean;
}

/**
 * The command side as the HTTP routes, the CLI and the tests use it. A session of another merchant or mode is null or
 * `not_found`.
 */
export interface MerchantApi {
  createSession(caller: Caller, input: CreateSessionInput): Promise<Outcome<SessionView>>;
  getSession(caller: Pick<Caller, 'merchantId' | 'mode'>, id: SessionId): Promise<SessionView | null>;
  cancelSession(caller: Caller, id: SessionId): Promise<Outcome<SessionView>>;
  requestRefund(caller: Caller, input: RefundInput): Promise<Outcome<RefundView>>;
  getRefund(caller: Pick<Caller, 'merchantId' | 'mode'>, id: RefundId): Promise<RefundView | null>;
}

/** Who asks for the money, as the merchant named itself. */
export interface ShopFacts {
  readonly name: string;
  readonly host: string | null;
  /** `mailto:` or `https:`; null when the merchant named no contact. */
  readonly contact: string | null;
  readonly logo: ShownLogo | null;
  /** What it takes as evidence for a refund to another address than the one that paid. */
  readonly claims: readonly EvidenceKind[];
}

/** The shop's picture, made by the service from the pixels of what was uploaded. */
export interface ShownLogo {
  readonly png: Buffer;
  /** Of the image's SHA-256 (hex): its address changes with it. */
  readonly version: string;
  readonly width: number;
  readonly height: number;
}

/** The payer's side: anyone who holds the unguessable id. */
export interface PayerApi {
  viewSession(id: SessionId): Promise<SessionView | null>;
  /** Called after every change of the session until the returned function is called. */
  onChange(id: SessionId, listener: () => void): () => void;
  shopOf(view: Pick<SessionView, 'merchantId' | 'domainId'>): ShopFacts;
}

/** An API key as authentication needs it. */
export interface AuthenticatedKey {
  readonly keyId: ApiKeyId;
  readonly merchantId: MerchantId;
  readonly mode: Mode;
  readonly secret: KeyObject;
  /** Absent: none. */
  readonly restrictions?: ActiveRestrictions;
}

/** What holds a key back, ready for use. */
export interface ActiveRestrictions {
  /** Null: all. */
  readonly scopes: ReadonlySet<Scope> | null;
  readonly allowsAddress: (address: string) => boolean;
  /** The lowest version of signatures that counts. */
  readonly signatureVersion: SignatureVersion;
}

export interface KeyDirectory {
  /** By SHA-256 (hex) of the API key; null when unknown or revoked. */
  find(keyHash: string): AuthenticatedKey | null;
  /** A request of the key was believed. */
  used?(key: AuthenticatedKey, nowSec: number): void;
}
