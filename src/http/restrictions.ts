import { refuse } from '../domain/values/result.ts';
import type { Scope, SignatureVersion } from '../domain/api-keys.ts';
import type { AuthenticatedKey } from '../features/shared/merchant-api.ts';
import type { Answer } from './answer.ts';
import type { AuthenticationFault } from './authentication.ts';
import type { Operation } from './operation.ts';

/**
 * Why a correctly signed key is refused for this request; null if it is not. Calls `addressOf` only for restricted
 * keys.
 */
export function heldBackBy(
  { restrictions }: AuthenticatedKey,
  version: SignatureVersion,
  addressOf: () => string,
): { readonly fault: AuthenticationFault; readonly answer: Answer & { ok: false } } | null {
  if (restrictions === undefined) return null;
  if (version < restrictions.signatureVersion) return { fault: 'signature_version', answer: VERSION_REQUIRED };
  return restrictions.allowsAddress(addressOf()) ? null : { fault: 'address', answer: ADDRESS_NOT_ALLOWED };
}

/** Names the first scope that a key lacks; null if it has all of them. */
export function scopeMissing({ restrictions }: AuthenticatedKey, needed: readonly Scope[]): Answer | null {
  const missing = needed.find((scope) => restrictions?.scopes?.has(scope) === false);
  if (missing === undefined) return null;
  return refuse('insufficient_scope', `This key lacks the scope ${missing}.`);
}

/** The scopes needed for the fields of a body; one without fields needs the operation's own scope. */
export function scopesOfFields({ scope, fieldScopes = {} }: Operation, body: object): Scope[] {
  const fields = Object.keys(body);
  return fields.length === 0 ? [scope] : [...new Set(fields.map((field) => fieldScopes[field] ?? scope))];
}

const VERSION_REQUIRED: Answer & { ok: false } = refuse(
  'signature_version_required',
  'This key accepts version 2 signatures only.',
  'Signature-Version',
);
const ADDRESS_NOT_ALLOWED: Answer & { ok: false } = refuse(
  'address_not_allowed',
  'This key may not be used from this address.',
);
