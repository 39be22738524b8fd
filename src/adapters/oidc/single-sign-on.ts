import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  discovery,
  enableNonRepudiationChecks,
  type Configuration,
} from 'openid-client';
import type { SignInRequest, SingleSignOn } from '../../ports/people/single-sign-on.ts';
import { must } from '../../domain/values/must.ts';

const TIMEOUT_SEC = 10;

interface OidcOptions {
  readonly issuer: string;
  readonly clientId: string;
  /** Absent for a public client, which only PKCE protects. */
  readonly clientSecret: string | undefined;
  readonly scope: string;
  readonly redirectUri: string;
}

/**
 * OpenID Connect, authorization code flow with PKCE. The ID token's signature is verified even though it comes from the
 * provider over TLS.
 */
export function oidcSingleSignOn({ issuer, clientId, clientSecret, scope, redirectUri }: OidcOptions): SingleSignOn {
  const server = new URL(issuer);
  let known: Promise<Configuration> | null = null;
  const configuration = (): Promise<Configuration> => {
    // The settings take http for this machine alone.
    // oxlint-disable-next-line typescript/no-deprecated -- marked so only to stand out.
    const execute = [enableNonRepudiationChecks, ...(server.protocol === 'http:' ? [allowInsecureRequests] : [])];
    known ??= discovery(server, clientId, clientSecret, undefined, { timeout: TIMEOUT_SEC, execute });
    // The next sign-in retries.
    known.catch(() => (known = null));
    return known;
  };
  return {
    async authorizationUrl({ state, nonce, codeVerifier }: SignInRequest) {
      const challenge = {
        code_challenge: await calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
      };
      return buildAuthorizationUrl(await configuration(), {
        redirect_uri: redirectUri,
        scope,
        state,
        nonce,
        ...challenge,
      });
    },
    async redeem(callbackQuery, { state, nonce, codeVerifier }) {
      const current = new URL(redirectUri);
      current.search = callbackQuery.toString();
      const checks = {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: codeVerifier,
        idTokenExpected: true,
      };
      const found = await configuration();
      const claims = must((await authorizationCodeGrant(found, current, checks)).claims());
      checkIssuer(claims.iss, found.serverMetadata().issuer);
      return { issuer: claims.iss, subject: claims.sub, claims };
    },
  };
}

/**
 * Throws for a token whose issuer is not the provider's own: where one address serves many tenants, libraries accept
 * tokens of each.
 */
function checkIssuer(given: string, own: string): void {
  if (withoutSlash(given) !== withoutSlash(own))
    throw new Error(`the ID token is of the issuer ${given}, not of ${own}`);
}

const withoutSlash = (url: string): string => url.replace(/\/$/, '');
