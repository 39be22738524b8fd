import { hash } from 'node:crypto';
import type { AuthenticationResponseJSON } from '@simplewebauthn/server';

/** A passkey with its scope: the host, and the origin as browsers state it. */
export interface Passkey {
  readonly rpId: string;
  readonly origin: string;
  readonly credentialId: string;
  /** COSE, base64url. */
  readonly publicKey: string;
  /** The authenticator's previous signature counter. */
  readonly signCount: number;
}

/** The challenge that an authenticator signs for a text. */
export const challengeOf = (text: string): string => hash('sha256', text, 'base64url');

/**
 * The new signature counter if the authenticator signed the text with user verification; otherwise null (Web
 * Authentication Level 3, section 7.2). Throws for a malformed response.
 */
export async function signCountOf(
  passkey: Passkey,
  text: string,
  response: AuthenticationResponseJSON,
): Promise<number | null> {
  // Loaded lazily: megabytes that only approvals and sign-ins need.
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
  const { decodeClientDataJSON } = await import('@simplewebauthn/server/helpers');
  const expectedChallenge = challengeOf(text);
  if (decodeClientDataJSON(response.response.clientDataJSON).challenge !== expectedChallenge) return null;
  const { verified, authenticationInfo } = await verifyAuthenticationResponse({
    response,
    expectedChallenge,
    expectedOrigin: passkey.origin,
    expectedRPID: passkey.rpId,
    credential: {
      id: passkey.credentialId,
      publicKey: new Uint8Array(Buffer.from(passkey.publicKey, 'base64url')),
      counter: passkey.signCount,
    },
    requireUserVerification: true,
  });
  return verified ? authenticationInfo.newCounter : null;
}
