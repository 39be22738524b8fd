import { firstViewSource, styleSource } from './style.ts';

export interface PageHeaderOptions {
  /** The sandbox's button posts a form where there is no script. */
  readonly forms: boolean;
  /** Origins that may frame the page; none for the page itself. */
  readonly frameAncestors: readonly string[];
}

/**
 * No script but our own, nothing inline but what is named by its hash, no frame: an injected address would be theft
 * (OWASP CSP cheat sheet).
 */
export function pageHeaders({ forms, frameAncestors }: PageHeaderOptions): Readonly<Record<string, string>> {
  const ancestors = frameAncestors.length > 0 ? frameAncestors.join(' ') : `'none'`;
  const policy = [
    `default-src 'none'`,
    `script-src 'self' ${firstViewSource}`,
    `style-src ${styleSource}`,
    `img-src 'self' data:`,
    `connect-src 'self'`,
    `base-uri 'none'`,
    `form-action ${forms ? `'self'` : `'none'`}`,
    `frame-ancestors ${ancestors}`,
  ].join('; ');
  return {
    'Content-Security-Policy': policy,
    'X-Content-Type-Options': 'nosniff',
    ...(frameAncestors.length === 0 && { 'X-Frame-Options': 'DENY', 'Cross-Origin-Opener-Policy': 'same-origin' }),
    'Referrer-Policy': 'no-referrer',
    'Cache-Control': 'no-store',
    'Permissions-Policy': 'camera=(), microphone=(), geolocation=()',
    'Cross-Origin-Resource-Policy': frameAncestors.length === 0 ? 'same-origin' : 'cross-origin',
  };
}
