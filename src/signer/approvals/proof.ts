import { createPublicKey, verify } from 'node:crypto';
import type { ApprovalProof, ApproverKey, WebAuthnAssertion } from '../../ports/signer/approvals.ts';
import { lookOf } from '../../domain/values/names.ts';
import { signCountOf } from '../../runtime/cryptography/passkey.ts';

/** The configured approvers are invalid. */
export class ApproversRefused extends Error {
  override readonly name = 'ApproversRefused';
}

/** The key that signed, and the authenticator's signature counter; null where there is none. */
export type Proven =
  | { readonly ok: true; readonly publicKey: string; readonly signCount: number | null }
  | { readonly ok: false; readonly why: string };

type PasskeyOf = Extract<ApproverKey, { kind: 'webauthn' }>;

const ED25519_BYTES = 32;
/** COSE curves by algorithm: ECDSA on P-256, and EdDSA on Ed25519. */
const PASSKEY_CURVES: ReadonlyMap<unknown, number> = new Map([
  [-7, 1],
  [-8, 6],
]);
/** In a COSE key: the header of the first coordinate (label -2), which has 32 bytes. */
const COSE_X = Buffer.from('215820', 'hex');
const COORDINATE_BYTES = 32;
const COSE_ALGORITHM = 3;
const COSE_CURVE = -1;

/** Throws `ApproversRefused`, which names the approver. One key must not count as two people, in whatever notation. */
export function checkApprovers(approvers: readonly ApproverKey[], reserved: string): void {
  const holders = new Map<string, string>();
  for (const key of approvers) {
    if (personOf(key.name) === personOf(reserved))
      throw new ApproversRefused(`an approver must not be called ${reserved}`);
    const material = materialOf(key);
    const other = holders.get(material);
    if (other !== undefined && other !== personOf(key.name))
      throw new ApproversRefused(`the approvers ${other} and ${key.name} have the same key`);
    holders.set(material, personOf(key.name));
  }
}

/** The first coordinate of the public key's point, which all encodings of the key have in common. */
function materialOf(key: ApproverKey): string {
  const bytes = Buffer.from(key.publicKey, 'base64url');
  if (key.kind === 'ed25519') {
    if (bytes.length !== ED25519_BYTES)
      throw new ApproversRefused(`the key of the approver ${key.name} is not an Ed25519 public key`);
    return bytes.toString('hex');
  }
  const at = bytes.indexOf(COSE_X);
  const point = bytes.subarray(at + COSE_X.length, at + COSE_X.length + COORDINATE_BYTES);
  if (at < 0 || point.length !== COORDINATE_BYTES)
    throw new ApproversRefused(`the key of the approver ${key.name} is not the public key of a passkey`);
  return point.toString('hex');
}

/** The person behind a name: approvals under names that look alike count as one person's. */
export const personOf = (name: string): string => lookOf(name);

/** Whether one of the approver's keys signed the text. `lastSignCount` is the authenticator's previous counter. */
export async function prove(
  keys: readonly ApproverKey[],
  text: string,
  proof: ApprovalProof,
  lastSignCount: (credentialId: string) => number,
): Promise<Proven> {
  if (proof.kind === 'ed25519') {
    const signer = keys.find((key) => key.kind === 'ed25519' && isSignedBy(key.publicKey, text, proof.signature));
    return signer
      ? { ok: true, publicKey: signer.publicKey, signCount: null }
      : { ok: false, why: 'no key of the approver signed these terms' };
  }
  const passkey = keys.find(
    (key): key is PasskeyOf => key.kind === 'webauthn' && key.credentialId === proof.response.id,
  );
  if (!passkey) return { ok: false, why: 'the passkey does not belong to the approver' };
  try {
    return await provePasskey(passkey, text, proof.response, lastSignCount(passkey.credentialId));
  } catch (error) {
    return { ok: false, why: error instanceof Error ? error.message : "the passkey's assertion is invalid" };
  }
}

function isSignedBy(publicKey: string, text: string, signature: string): boolean {
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: publicKey }, format: 'jwk' });
  return verify(null, Buffer.from(text), key, Buffer.from(signature, 'base64url'));
}

async function provePasskey(
  { credentialId, publicKey, rpId, origin }: PasskeyOf,
  text: string,
  response: WebAuthnAssertion,
  signCount: number,
): Promise<Proven> {
  const { decodeCredentialPublicKey } = await import('@simplewebauthn/server/helpers');
  const cose: unknown = decodeCredentialPublicKey(new Uint8Array(Buffer.from(publicKey, 'base64url')));
  const curve = cose instanceof Map ? PASSKEY_CURVES.get(cose.get(COSE_ALGORITHM)) : undefined;
  if (!(cose instanceof Map) || curve === undefined || cose.get(COSE_CURVE) !== curve)
    return { ok: false, why: 'the passkey is neither on P-256 nor on Ed25519' };
  const counted = await signCountOf({ rpId, origin, credentialId, publicKey, signCount }, text, response);
  return counted === null
    ? { ok: false, why: 'the passkey did not sign these terms' }
    : { ok: true, publicKey, signCount: counted };
}
