import { firstViewSource, styleSource } from '../style.ts';

export interface PageHeaderOptions {
  /** Without script, the sandbox button posts a form. */
  readonly forms: boolean;
  /** Origins that may frame the page; none for the page itself. */
  readonly frameAncestors: readonly string[];
}

/**
 * Only our own script, no inline code except by hash, and no frames: an injected address would be theft (OWASP CSP
 * cheat sheet).
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
