import type { Request } from 'express';
import { cookieIn } from './guard.ts';
import { ZONE_COOKIE } from './pages/outside.ts';
import { isZone } from './parts.ts';

/** The fields of a form, each once, since the console's own forms send none twice. */
export function formOf(body: unknown): Readonly<Record<string, string>> {
  const given = body !== null && typeof body === 'object' ? (body as Record<string, unknown>) : {};
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value.trim()]] : [])),
  );
}

export function zoneOf(request: Request): string {
  const given = cookieIn(request.headers, ZONE_COOKIE, /^[\w%+-]{1,100}$/);
  const zone = given === null ? 'UTC' : decodeURIComponent(given);
  return isZone(zone) ? zone : 'UTC';
}
