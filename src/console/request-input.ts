import type { Request } from 'express';
import { preferredLanguage } from '../runtime/http/accept-language.ts';
import { plain } from '../runtime/http/html.ts';
import { cookieIn } from './guard.ts';
import { ENGLISH, type Language } from './languages.ts';
import { isZone } from './parts.ts';

/** The person's time zone, as reported by the browser; not a secret. */
export const ZONE_COOKIE = 'zone';

/**
 * The fields of a form, each once, since the console's own forms send none twice. Without the characters that no page
 * shows: a page of terms sends the fields back, and they must be the same then.
 */
export function formOf(body: unknown): Readonly<Record<string, string>> {
  const given = body !== null && typeof body === 'object' ? body : {};
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => (typeof value === 'string' ? [[name, plain(value).trim()]] : [])),
  );
}

export function zoneOf(request: Request): string {
  const given = cookieIn(request.headers, ZONE_COOKIE, /^[\w%+-]{1,100}$/);
  const zone = given === null ? null : decoded(given);
  return zone !== null && isZone(zone) ? zone : 'UTC';
}

export const languageOf = ({ headers }: Request, languages: readonly Language[]): Language =>
  preferredLanguage(languages, headers['accept-language']) ?? ENGLISH;

/** Null if the text is malformed. */
function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
