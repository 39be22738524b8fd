import type { RequestHandler } from 'express';
import type { HttpMetrics } from './metrics/http.ts';

/** Names of the payment page's routes: a bounded set, unlike its paths. */
const PAGES: readonly { readonly path: RegExp; readonly operation: string; readonly isStream?: true }[] = [
  { path: /^\/pay\/assets\//, operation: 'payPageAsset' },
  { path: /^\/pay\/[^/]+$/, operation: 'payPage' },
  { path: /^\/pay\/[^/]+\/status$/, operation: 'payPageStatus' },
  { path: /^\/pay\/[^/]+\/events$/, operation: 'payPageEvents', isStream: true },
  { path: /^\/pay\/[^/]+\/qr\//, operation: 'payPageQr' },
  { path: /^\/pay\/[^/]+\/sandbox-pay$/, operation: 'payPageTestPayment' },
];

/** Counts the payment page's responses. */
export function observePages(metrics: HttpMetrics): RequestHandler {
  return (request, response, next) => {
    const page = PAGES.find(({ path }) => path.test(request.path));
    if (page) {
      const startedMs = performance.now();
      response.once('close', () => {
        if (page.isStream) metrics.streamEnded(page.operation, response.statusCode);
        else
          metrics.requestEnded(
            page.operation,
            request.method,
            response.statusCode,
            (performance.now() - startedMs) / 1000,
          );
      });
    }
    next();
  };
}
