import { isUtf8 } from 'node:buffer';
import { pathText, refusedField, type Validated } from './validation.ts';

/** Maximum nesting of arrays and objects in a request. */
export const MAX_DEPTH = 8;
/**
 * Maximum number of values in a request, including nested ones: more than any operation needs, few enough to check
 * quickly.
 */
const MAX_VALUES = 4_000;

/**
 * JSON that is safe for a money route: UTF-8 without BOM, no repeated keys (parsers disagree which one counts), no keys
 * that name JavaScript's prototypes, no lone surrogates (two order ids could become one), at most 8 levels deep.
 */
export function parseStrictJson(bytes: Buffer): Validated<unknown> {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf)
    return refusedField('body', 'must not start with a byte order mark');
  if (!isUtf8(bytes)) return refusedField('body', 'must be valid UTF-8');
  const shape = scan(bytes);
  if (shape.depth > MAX_DEPTH) return refusedField('body', `must not nest deeper than ${MAX_DEPTH} levels`);
  const text = bytes.toString('utf8');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return refusedField('body', 'must be valid JSON');
  }
  const seen: Seen = { keys: 0, values: 0 };
  const fault = faultIn(value, seen);
  if (fault !== null) return refusedField(pathText(fault.path) || 'body', fault.rule);
  // Every member has one colon outside strings; fewer keys than colons means that a key is repeated.
  if (seen.keys !== shape.colons) return refusedField(firstRepeatedKey(text), 'must not appear twice');
  return { ok: true, value };
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Depth and colons outside strings, in one pass over the bytes (UTF-8 never hides ASCII in other characters). */
function scan(bytes: Buffer): { depth: number; colons: number } {
  let depth = 0;
  let deepest = 0;
  let colons = 0;
  for (let i = 0; i < bytes.length; i += 1) {
    const byte = bytes[i] ?? 0;
    if (byte === QUOTE) {
      for (i += 1; i < bytes.length && bytes[i] !== QUOTE; i += 1) if (bytes[i] === BACKSLASH) i += 1;
    } else if (byte === 0x3a) colons += 1;
    else if (byte === 0x7b || byte === 0x5b) {
      depth += 1;
      if (depth > deepest) deepest = depth;
    } else if (byte === 0x7d || byte === 0x5d) depth -= 1;
  }
  return { depth: deepest, colons };
}

/** Counts so far. */
interface Seen {
  keys: number;
  values: number;
}

interface Fault {
  readonly rule: string;
  /** Filled from the inside out. */
  readonly path: (string | number)[];
}

/** The fault in the value or something in it, or null. The depth check before bounds the recursion. */
function faultIn(value: unknown, seen: Seen): Fault | null {
  seen.values += 1;
  if (seen.values > MAX_VALUES) return { rule: `must hold fewer values: a body has at most ${MAX_VALUES}`, path: [] };
  if (typeof value === 'string') return value.isWellFormed() ? null : { rule: 'must be well-formed Unicode', path: [] };
  if (typeof value !== 'object' || value === null) return null;
  return Array.isArray(value) ? faultInItems(value, seen) : faultInMembers(value as Record<string, unknown>, seen);
}

function faultInItems(items: readonly unknown[], seen: Seen): Fault | null {
  for (let i = 0; i < items.length; i += 1) {
    const fault = faultIn(items[i], seen);
    if (fault !== null) return within(i, fault);
  }
  return null;
}

function faultInMembers(object: Readonly<Record<string, unknown>>, seen: Seen): Fault | null {
  for (const key of Object.keys(object)) {
    seen.keys += 1;
    if (key === '__proto__' || key === 'constructor' || key === 'prototype')
      return { rule: 'is not an allowed key', path: [key] };
    if (!key.isWellFormed()) return { rule: 'must be well-formed Unicode', path: [key] };
    const fault = faultIn(object[key], seen);
    if (fault !== null) return within(key, fault);
  }
  return null;
}

function within(part: string | number, fault: Fault): Fault {
  fault.path.unshift(part);
  return fault;
}

/** The first key that an object of this valid JSON text repeats. Runs only once a repetition is known to exist. */
function firstRepeatedKey(text: string): string {
  const objects: (Set<string> | null)[] = [];
  for (let i = 0; i < text.length; i += 1) {
    const character = text[i];
    if (character === '{') objects.push(new Set());
    else if (character === '[') objects.push(null);
    else if (character === '}' || character === ']') objects.pop();
    else if (character === '"') {
      const start = i;
      for (i += 1; text[i] !== '"'; i += 1) if (text[i] === '\\') i += 1;
      if (!isFollowedByColon(text, i + 1)) continue;
      const key = JSON.parse(text.slice(start, i + 1)) as string;
      const keys = objects.at(-1);
      if (keys?.has(key)) return key;
      keys?.add(key);
    }
  }
  return 'body';
}

function isFollowedByColon(text: string, from: number): boolean {
  let at = from;
  while (text[at] === ' ' || text[at] === '\n' || text[at] === '\r' || text[at] === '\t') at += 1;
  return text[at] === ':';
}
