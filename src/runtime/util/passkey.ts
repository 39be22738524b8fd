import { hash } from 'node:crypto';
import type { AuthenticationResponseJSON } from '@simplewebauthn/server';

/** A passkey and where it is good: the host alone, and the address as browsers name it. */
export interface Passkey {
  readonly rpId: string;
  readonly origin: string;
  readonly credentialId: string;
  /** COSE, base64url. */
  readonly publicKey: string;
  /** How often the authenticator said before that it was used. */
  readonly signCount: number;
}

/** The challenge that an authenticator signs for a text. */
export const challengeOf = (text: string): string => hash('sha256', text, 'base64url');

/**
 * How often the passkey was used, when its authenticator signed the text with its person verified; else null (Web
 * Authentication Level 3, section 7.2). Throws for an answer that is none.
 */
export async function signCountOf(
  passkey: Passkey,
  text: string,
  response: AuthenticationResponseJSON,
): Promise<number | null> {
  // Megabytes that only approvals and sign-ins need.
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
  const { verified, authenticationInfo } = await verifyAuthenticationResponse({
    response,
    expectedChallenge: challengeOf(text),
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
