import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { must } from '../domain/values/must.ts';

/** Where browsers reach the console. */
export interface ConsoleAddress {
  /** As browsers send it, such as `https://console.example`. */
  readonly origin: string;
  readonly rpId: string;
}

/** Only our own files, no frames, no forms to other sites; scripts cannot turn text into markup. */
const HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': [
    `default-src 'none'`,
    `script-src 'self'`,
    `style-src 'self'`,
    `img-src 'self' data:`,
    `connect-src 'self'`,
    `form-action 'self'`,
    `base-uri 'none'`,
    `frame-ancestors 'none'`,
    `require-trusted-types-for 'script'`,
    `trusted-types 'none'`,
  ].join('; '),
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'same-origin',
  'Cache-Control': 'no-store',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
  'Permissions-Policy':
    'camera=(), microphone=(), geolocation=(), payment=(), publickey-credentials-get=(self), publickey-credentials-create=(self)',
  'X-Robots-Tag': 'noindex',
};

const YEAR_SEC = 31_536_000;
export const headersOf = ({ origin }: ConsoleAddress): Readonly<Record<string, string>> =>
  isHttps(origin) ? { ...HEADERS, 'Strict-Transport-Security': `max-age=${YEAR_SEC}` } : HEADERS;

const FRAMED: ReadonlySet<string> = new Set(['iframe', 'frame', 'embed', 'object', 'fencedframe']);

interface Asked {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
}

/** Why a request is refused before anything else is checked; null if it is not. */
export function whyRefused(
  { method, headers }: Asked,
  { origin }: ConsoleAddress,
): { readonly status: number; readonly why: string } | null {
  // An attacker can point another name at this machine (DNS rebinding), so only the console's own name is accepted.
  if (headers.host !== new URL(origin).host) return { status: 421, why: `the console is at ${origin}` };
  const dest = headers['sec-fetch-dest'];
  if (typeof dest === 'string' && FRAMED.has(dest)) return { status: 403, why: 'the console is not shown in frames' };
  if (method === 'GET' || method === 'HEAD') return null;
  if (method !== 'POST') return { status: 405, why: 'use GET or POST' };
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin') return { status: 403, why: 'the form was not sent by the console' };
  // Old browsers do not send Sec-Fetch-Site, so the form's origin has to do.
  if (headers.origin !== undefined ? headers.origin !== origin : site === undefined)
    return { status: 403, why: 'the form was not sent by the console' };
  if (!/^application\/x-www-form-urlencoded(;|$)/i.test(headers['content-type'] ?? ''))
    return { status: 415, why: 'only forms are taken' };
  return null;
}

const isHttps = (origin: string): boolean => origin.startsWith('https:');

/**
 * Over https the prefix makes browsers restrict the cookie to this host and to TLS. Over http, which is accepted on
 * this machine only, browsers treat such names and `Secure` differently, and any program of the machine could read the
 * traffic anyway.
 */
export const cookieName = (origin: string): string => (isHttps(origin) ? '__Host-quittance' : 'quittance-console');

export function cookie(
  origin: string,
  name: string,
  value: string,
  maxAgeSec: number,
  sameSite: 'Strict' | 'Lax',
): string {
  const attributes = [
    'Path=/',
    'HttpOnly',
    `SameSite=${sameSite}`,
    `Max-Age=${maxAgeSec}`,
    ...(isHttps(origin) ? ['Secure'] : []),
  ];
  return [`${name}=${value}`, ...attributes].join('; ');
}

export const cookieFor = (origin: string, token: string, maxAgeSec: number): string =>
  cookie(origin, cookieName(origin), token, maxAgeSec, 'Strict');

/** The cookie's value; null if there is none, or more than one, which a normal browser never sends. */
export function tokenIn(headers: IncomingHttpHeaders, origin: string): string | null {
  return cookieIn(headers, cookieName(origin), /^[A-Za-z0-9_-]{43}$/);
}

export function cookieIn(headers: IncomingHttpHeaders, name: string, form: RegExp): string | null {
  const found = (headers.cookie ?? '')
    .split('; ')
    .flatMap((pair) => (pair.startsWith(`${name}=`) ? [pair.slice(name.length + 1)] : []));
  return found.length === 1 && form.test(must(found[0])) ? must(found[0]) : null;
}

/** A token that only the holder of the cookie can know, and that cannot be used as the cookie. */
export const csrfOf = (token: string): string => hash('sha256', `form:${token}`, 'base64url');

export function isCsrf(token: string, given: string | undefined): boolean {
  const [expected, found] = [Buffer.from(csrfOf(token)), Buffer.from(given ?? '')];
  return expected.length === found.length && timingSafeEqual(expected, found);
}

/** Accepts only a path of the console itself. */
export const pathOf = (given: unknown): string =>
  typeof given === 'string' && /^\/(?![/\\])[\w\-./?=&%~:+]*$/.test(given) ? given : '/';
