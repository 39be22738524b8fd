import type { Identity } from '../../domain/events/person-events.ts';

/** Ties the identity provider's response to one browser's request. */
export interface SignInRequest {
  readonly state: string;
  readonly nonce: string;
  /** PKCE: required to redeem the code. */
  readonly codeVerifier: string;
}

export interface IdentityClaims extends Identity {
  /** All claims of the signed ID token. */
  readonly claims: Readonly<Record<string, unknown>>;
}

/** The organisation's identity provider. */
export interface SingleSignOn {
  /** The URL to which the browser is redirected. Throws when the provider does not answer. */
  authorizationUrl(request: SignInRequest): Promise<URL>;
  /** Redeems the callback. Throws if anything about it does not match the request. */
  redeem(callbackQuery: URLSearchParams, request: SignInRequest): Promise<IdentityClaims>;
}
