import { isUtf8 } from 'node:buffer';
import type { Refusal } from '../domain/result.ts';

/** Nesting of arrays and objects a request may have. */
export const MAX_DEPTH = 8;
/** Values a request may hold, nested ones included: more than any operation needs, few enough to judge in no time. */
export const MAX_VALUES = 4_000;
const MAX_PARAM_LENGTH = 200;
const FORBIDDEN_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

export type ParsedJson = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly refusal: Refusal };

const invalid = (message: string, param = 'body'): ParsedJson => ({
  ok: false,
  refusal: { code: 'invalid_request', message, param: param.slice(0, MAX_PARAM_LENGTH) },
});

/**
 * JSON as a money route may read it: UTF-8 without BOM, no repeated keys (parsers disagree which one counts), no keys
 * that name JavaScript's prototypes, no lone surrogates (two order ids could become one), at most 8 levels deep.
 */
export function parseStrictJson(bytes: Buffer): ParsedJson {
  if (bytes.length >= 3 && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf)
    return invalid('The body must not start with a byte order mark.');
  if (!isUtf8(bytes)) return invalid('The body must be valid UTF-8.');
  const shape = scan(bytes);
  if (shape.depth > MAX_DEPTH) return invalid(`The body must not nest deeper than ${MAX_DEPTH} levels.`);
  let value: unknown;
  const text = bytes.toString('utf8');
  try {
    value = JSON.parse(text);
  } catch {
    return invalid('The body must be valid JSON.');
  }
  const walk: Walk = { keys: 0, values: 0, fault: null };
  visit(value, walk, []);
  if (walk.fault !== null) return invalid(walk.fault.message, walk.fault.path.join('.') || 'body');
  // Every member has one colon outside strings; fewer keys than colons means that some key came twice.
  if (walk.keys !== shape.colons) {
    const key = firstRepeatedKey(text);
    return invalid(`The key ${JSON.stringify(key.slice(0, MAX_PARAM_LENGTH))} appears twice.`, key);
  }
  return { ok: true, value };
}

interface Fault {
  readonly message: string;
  readonly path: readonly string[];
}

interface Walk {
  keys: number;
  values: number;
  fault: Fault | null;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Depth and colons outside strings, in one pass over the bytes (UTF-8 never hides ASCII in other characters). */
function scan(bytes: Buffer): { depth: number; colons: number } {
  let depth = 0;
  let deepest = 0;
  let colons = 0;
  for (let i = 0; i < bytes.length; i += 1) {
    const byte = bytes[i]!;
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

function visit(value: unknown, walk: Walk, path: string[]): void {
  if (walk.fault !== null) return;
  walk.values += 1;
  if (walk.values > MAX_VALUES) walk.fault = { message: `The body must hold at most ${MAX_VALUES} values.`, path: path.slice(0, 1) };
  else if (typeof value === 'string') {
    if (!value.isWellFormed()) walk.fault = { message: 'Text must be well-formed Unicode.', path: [...path] };
  } else if (Array.isArray(value)) {
    for (let i = 0; i < value.length && walk.fault === null; i += 1) {
      path.push(String(i));
      visit(value[i], walk, path);
      path.pop();
    }
  } else if (typeof value === 'object' && value !== null) visitMembers(value, walk, path);
}

function visitMembers(value: object, walk: Walk, path: string[]): void {
  for (const key of Object.keys(value)) {
    walk.keys += 1;
    path.push(key);
    if (FORBIDDEN_KEYS.has(key)) walk.fault ??= { message: `The key "${key}" is not allowed.`, path: [...path] };
    else if (!key.isWellFormed()) walk.fault ??= { message: 'Keys must be well-formed Unicode.', path: path.map((part) => part.toWellFormed()) };
    else visit((value as Record<string, unknown>)[key], walk, path);
    path.pop();
  }
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
      if (!followedByColon(text, i + 1)) continue;
      const key = JSON.parse(text.slice(start, i + 1)) as string;
      const keys = objects.at(-1);
      if (keys?.has(key)) return key;
      keys?.add(key);
    }
  }
  return '';
}

function followedByColon(text: string, from: number): boolean {
  let at = from;
  while (text[at] === ' ' || text[at] === '\n' || text[at] === '\r' || text[at] === '\t') at += 1;
  return text[at] === ':';
}
