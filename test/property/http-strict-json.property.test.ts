import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_DEPTH, parseStrictJson } from '../../src/http/strict-json.ts';
import { runsOf } from '../support/runs.ts';

const bytesOf = (text: string): Buffer => Buffer.from(text, 'utf8');
const FORBIDDEN = new Set(['__proto__', 'constructor', 'prototype']);
const wellFormed = fc.string({ unit: 'grapheme', maxLength: 12 });
const key = wellFormed.filter((text) => !FORBIDDEN.has(text));
const value = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 6 },
    wellFormed,
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(key, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
})).value;

const depthOf = (node: unknown): number =>
  typeof node !== 'object' || node === null ? 0 : 1 + Math.max(0, ...Object.values(node).map(depthOf));

describe('strict JSON', () => {
  it('reads what JSON.parse reads, however it is indented', () => {
    fc.assert(
      fc.property(value, fc.constantFrom(undefined, 1, '\t', '\n'), (given, indent) => {
        fc.pre(depthOf(given) <= MAX_DEPTH);
        const text = JSON.stringify(given, null, indent);
        expect(parseStrictJson(bytesOf(text))).toEqual({ ok: true, value: JSON.parse(text) });
      }),
    );
  });

  it('refuses any text that JSON.parse refuses, and never throws', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[{}[\]":,0-9a-z\\ ]{0,40}$/)), (text) => {
        let valid = true;
        try {
          JSON.parse(text);
        } catch {
          valid = false;
        }
        const parsed = parseStrictJson(bytesOf(text));
        if (!valid) expect(parsed.ok).toBe(false);
      }),
      { numRuns: runsOf(2000) },
    );
  });

  it('never throws on any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(typeof parseStrictJson(Buffer.from(bytes)).ok).toBe('boolean');
      }),
    );
  });

  it('finds a repeated key wherever it is, and names it', () => {
    fc.assert(
      fc.property(value, key, fc.array(key, { maxLength: 3 }), fc.boolean(), (given, repeated, others, escaped) => {
        fc.pre(depthOf(given) <= MAX_DEPTH - 2);
        const written = escaped
          ? `"${[...repeated].flatMap((c) => Array.from({ length: c.length }, (_, i) => `\\u${c.charCodeAt(i).toString(16).padStart(4, '0')}`)).join('')}"`
          : JSON.stringify(repeated);
        const members = [...new Set(others)]
          .filter((other) => other !== repeated)
          .map((other) => `${JSON.stringify(other)}:1`);
        const text = `{"outer":{${[`${JSON.stringify(repeated)}:${JSON.stringify(given)}`, ...members, `${written} : 2`].join(',')}}}`;
        const parsed = parseStrictJson(bytesOf(text));
        expect(parsed.ok).toBe(false);
        if (!parsed.ok) expect(parsed.refusal.message).toContain('twice');
      }),
    );
  });
});
