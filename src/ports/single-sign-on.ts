import type { Identity } from '../domain/events/person-events.ts';

/** What ties an answer of the identity provider to the request that one browser made. */
export interface SignInRequest {
  readonly state: string;
  readonly nonce: string;
  /** Of PKCE: only whoever has it redeems the code. */
  readonly codeVerifier: string;
}

export interface IdentityClaims extends Identity {
  /** Everything that the signed ID token says. */
  readonly claims: Readonly<Record<string, unknown>>;
}

/** The organisation's identity provider. */
export interface SingleSignOn {
  /** Where the browser is sent. Throws when the provider does not answer. */
  authorizationUrl(request: SignInRequest): Promise<URL>;
  /** Redeems what came back. Throws when anything about it is not as asked for. */
  redeem(callbackQuery: URLSearchParams, request: SignInRequest): Promise<IdentityClaims>;
}
