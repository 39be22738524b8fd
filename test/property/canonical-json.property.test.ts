import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from '../../src/features/shared/canonical-json.ts';

/** The same rule in its plainest form. Hashes of this text are in the event log for ever. */
function plainly(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => plainly(item ?? null)).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const entries = Object.entries(value).filter(([, field]) => field !== undefined);
  entries.sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${entries.map(([key, field]) => `${JSON.stringify(key)}:${plainly(field)}`).join(',')}}`;
}

/** Keys as merchants write them: also those that look like numbers, which engines list first, and many of them. */
const key = fc.oneof(
  fc.string(),
  fc.string({ unit: 'grapheme' }),
  fc.nat({ max: 120 }).map(String),
  fc.constantFrom('a', 'B', 'é', '10', '9', ''),
);
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.string({ unit: 'grapheme' }),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(key, fc.oneof(tie('value'), fc.constant(undefined)), { maxKeys: 24 }),
  ),
})).value;

describe('canonical JSON', () => {
  it('is the text of the plain rule for anything that JSON can hold', () => {
    fc.assert(fc.property(json, (value) => void expect(canonicalJson(value)).toBe(plainly(value))));
  });

  it('does not depend on the order in which keys were written', () => {
    fc.assert(
      fc.property(fc.dictionary(key, json, { maxKeys: 24 }), (fields) => {
        const backwards = Object.fromEntries(Object.entries(fields).reverse());
        expect(canonicalJson(backwards)).toBe(canonicalJson(fields));
      }),
    );
  });

  it('reads as the same value', () => {
    fc.assert(
      fc.property(
        fc.jsonValue(),
        (value) => void expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value))),
      ),
    );
  });

  it('orders keys by code units, numbers too, at every depth', () => {
    expect(canonicalJson({ b: 1, a: { 9: 'x', 10: 'y', é: undefined }, A: [null, undefined, { d: 1, c: 2 }] })).toBe(
      '{"A":[null,null,{"c":2,"d":1}],"a":{"10":"y","9":"x"},"b":1}',
    );
  });
});
