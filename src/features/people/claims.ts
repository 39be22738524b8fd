import type { Grant } from '../../domain/events/person-events.ts';
import type { IdentityClaims } from '../../ports/people/single-sign-on.ts';
import type { NamedByProvider } from './people.ts';
import { must } from '../../domain/values/must.ts';

export interface ClaimRules {
  readonly nameClaim: string;
  readonly rolesClaim: string;
  /** The role that each claim value stands for; null if the values are roles themselves. */
  readonly roles: Readonly<Record<string, string>> | null;
  /** Throws for text that is not a role. */
  readonly grantsOf: (text: string) => readonly Grant[];
}

export type Named =
  | { readonly ok: true; readonly value: NamedByProvider }
  | { readonly ok: false; readonly why: string };

/**
 * The person that the claims identify, with their roles here. Unknown values, such as other groups of the organisation,
 * are ignored.
 */
export function namedBy({ issuer, subject, claims }: IdentityClaims, rules: ClaimRules): Named {
  const { nameClaim, rolesClaim, roles } = rules;
  const given = claims[nameClaim];
  if (typeof given !== 'string' || given.trim() === '')
    return { ok: false, why: `the ID token has no name in the claim ${nameClaim}` };
  // These names are also approver names, which allow no other characters.
  const name = given
    .trim()
    .replaceAll(/ +/g, ' ')
    .replaceAll(/[^A-Za-z0-9 ._-]+/g, '-');
  const values = valuesOf(claims[rolesClaim]);
  const grants = values.flatMap((value) => {
    const text = roles === null ? value : Object.hasOwn(roles, value) ? must(roles[value]) : null;
    return text === null ? [] : grantsIn(text, rules);
  });
  const unique = [...new Map(grants.map((grant) => [JSON.stringify(grant), grant])).values()];
  if (unique.length === 0) return { ok: false, why: `the claim ${rolesClaim} gives ${name} no role here` };
  return { ok: true, value: { issuer, subject, name, grants: unique } };
}

/** A list, or one text separated by commas or blanks. */
const valuesOf = (claim: unknown): string[] =>
  typeof claim === 'string'
    ? claim.split(/[\s,]+/)
    : Array.isArray(claim)
      ? claim.filter((value): value is string => typeof value === 'string')
      : [];

function grantsIn(text: string, { grantsOf }: ClaimRules): readonly Grant[] {
  try {
    return grantsOf(text);
  } catch {
    return [];
  }
}
