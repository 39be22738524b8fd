import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';
import { challengeOf, signCountOf } from '../../runtime/cryptography/passkey.ts';
import { must } from '../../domain/values/must.ts';

/** Where passkeys are valid: the host, and the origin as browsers state it. */
export interface RelyingParty {
  readonly rpId: string;
  readonly origin: string;
}

export type Proven<Value> = { readonly ok: true; readonly value: Value } | { readonly ok: false; readonly why: string };

export interface NewPasskey {
  readonly credentialId: string;
  readonly publicKey: string;
}

export interface PasskeyProof {
  readonly credentialId: string;
  readonly signCount: number;
}

/** The stored facts of a passkey that signs. */
export interface KnownPasskey {
  readonly credentialId: string;
  readonly publicKey: string;
  readonly signCount: number;
}

const VALID_MS = 5 * 60_000;
const MAX_JSON = 16_384;
/** P-256 and Ed25519, the algorithms that the signer also accepts. */
const ALGORITHMS = [-7, -8];

/**
 * Challenges for single use: expiry time, 128 random bits, and an HMAC that binds both to their purpose. Issued
 * challenges are not stored, so nobody can fill a list; used ones are stored until they would have expired.
 */
export class OnceNumbers {
  readonly #key: Uint8Array;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #used = new Map<string, number>();

  constructor(deps: { readonly clock: Clock; readonly random: Random }) {
    this.#clock = deps.clock;
    this.#random = deps.random;
    this.#key = deps.random.bytes(32);
  }

  give(purpose: string): string {
    const head = `${this.#clock.nowMs() + VALID_MS}.${Buffer.from(this.#random.bytes(16)).toString('base64url')}`;
    return `${head}.${this.#bound(purpose, head)}`;
  }

  isGood(purpose: string, number: string): boolean {
    const parts = number.split('.');
    if (parts.length !== 3) return false;
    const head = `${parts[0]}.${parts[1]}`;
    const [expected, given] = [Buffer.from(this.#bound(purpose, head)), Buffer.from(must(parts[2]))];
    if (expected.length !== given.length || !timingSafeEqual(expected, given)) return false;
    return Number(parts[0]) > this.#clock.nowMs() && !this.#used.has(head);
  }

  /** False if it was used before. */
  use(number: string): boolean {
    const nowMs = this.#clock.nowMs();
    for (const [head, untilMs] of this.#used) if (untilMs <= nowMs) this.#used.delete(head);
    const [untilMs = '', once = ''] = number.split('.');
    const head = `${untilMs}.${once}`;
    if (this.#used.has(head)) return false;
    this.#used.set(head, Number(untilMs));
    return true;
  }

  #bound(purpose: string, head: string): string {
    return createHmac('sha256', this.#key)
      .update(JSON.stringify([purpose, head]))
      .digest('base64url');
  }
}

/** Verifies the browser's response to `navigator.credentials.create` for the text. */
export async function provenRegistration(
  { rpId, origin }: RelyingParty,
  text: string,
  json: string,
): Promise<Proven<NewPasskey>> {
  try {
    const { verifyRegistrationResponse } = await import('@simplewebauthn/server');
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response: parsed(json),
      expectedChallenge: challengeOf(text),
      expectedOrigin: origin,
      expectedRPID: rpId,
      requireUserVerification: true,
      supportedAlgorithmIDs: ALGORITHMS,
    });
    if (!verified) return { ok: false, why: 'the passkey was not made for this page' };
    const { id, publicKey } = registrationInfo.credential;
    return { ok: true, value: { credentialId: id, publicKey: Buffer.from(publicKey).toString('base64url') } };
  } catch (error) {
    return { ok: false, why: whyOf(error) };
  }
}

/** The credential id that a response to `navigator.credentials.get` claims; null if malformed. */
export function credentialIdIn(json: string): string | null {
  try {
    const { id } = parsed<{ id?: unknown }>(json);
    return typeof id === 'string' && /^[A-Za-z0-9_-]{1,1400}$/.test(id) ? id : null;
  } catch {
    return null;
  }
}

/** Whether the passkey signed the text with user verification. */
export async function provenSignature(
  party: RelyingParty,
  passkey: KnownPasskey,
  text: string,
  json: string,
): Promise<Proven<PasskeyProof>> {
  try {
    const counted = await signCountOf({ ...party, ...passkey }, text, parsed(json));
    return counted === null
      ? { ok: false, why: 'the passkey did not sign this' }
      : { ok: true, value: { credentialId: passkey.credentialId, signCount: counted } };
  } catch (error) {
    return { ok: false, why: whyOf(error) };
  }
}

function parsed<Value>(json: string): Value {
  if (json.length > MAX_JSON) throw new Error('the answer of the passkey is too long');
  return JSON.parse(json) as Value;
}

const whyOf = (error: unknown): string => (error instanceof Error ? error.message : 'the passkey proves nothing');
