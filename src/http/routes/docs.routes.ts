import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Express, RequestHandler } from 'express';
import { encoded, encodingFor } from '../../runtime/cryptography/encoded.ts';
import { once } from '../../runtime/util/once.ts';
import { errorsHtml, llmsText, referencePage, type ReferenceDocument } from '../openapi/reference-page.ts';

/** The page may use only its own script and style and send requests only to this server. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/**
 * The OpenAPI document, the page that shows it and its text version. Each is created on its first request and then
 * served from memory: creating the document takes a tenth of the start-up time.
 */
export function mountDocs(app: Express, makeDocument: () => object): void {
  const asset = (name: string) => (): string => readFileSync(new URL(`../docs/${name}`, import.meta.url), 'utf8');
  const document = once(makeDocument);
  const reference = (): ReferenceDocument => document() as ReferenceDocument;
  app.get(
    '/openapi.json',
    served('application/json; charset=utf-8', () => JSON.stringify(document())),
  );
  app.get(
    '/docs/reference.md',
    served('text/markdown; charset=utf-8', () => referencePage(reference())),
  );
  app.get(
    '/llms.txt',
    served('text/plain; charset=utf-8', () => llmsText(reference())),
  );
  app.get('/docs/errors', served('text/html; charset=utf-8', errorsHtml));
  app.get('/docs', served('text/html; charset=utf-8', asset('docs.html')));
  for (const script of ['docs.js', 'element.js', 'schema.js', 'samples.js'])
    app.get(`/docs/${script}`, served('text/javascript; charset=utf-8', asset(script)));
  app.get('/docs/docs.css', served('text/css; charset=utf-8', asset('docs.css')));
}

/** Takes some milliseconds for the large OpenAPI document; the best quality takes a second. */
const QUALITY = 5;

function served(type: string, makeText: () => string): RequestHandler {
  const file = once(() => {
    const bytes = Buffer.from(makeText());
    return {
      forms: encoded(bytes, QUALITY),
      digest: createHash('sha256').update(bytes).digest('base64url').slice(0, 22),
    };
  });
  const headers = {
    'Content-Type': type,
    'Cache-Control': 'no-cache',
    Vary: 'Accept-Encoding',
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'Content-Security-Policy': PAGE_POLICY,
  };
  return (request, response) => {
    const { forms, digest } = file();
    const encoding = encodingFor(request);
    const etag = `"${digest}-${encoding}"`;
    if (request.headers['if-none-match'] === etag)
      return void response.writeHead(304, { ...headers, ETag: etag }).end();
    const bytes = forms[encoding];
    const named = encoding !== 'identity' && { 'Content-Encoding': encoding };
    response.writeHead(200, { ...headers, ...named, ETag: etag, 'Content-Length': bytes.length }).end(bytes);
  };
}
