import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { Request, Response } from 'express';
import { encoded, encodingFor, type Encoded } from '../runtime/cryptography/encoded.ts';

/** For files, which are compressed only once. */
const BEST_QUALITY = 11;
/** Pages are rendered for every request: this quality costs well under a millisecond. */
const QUICK = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };

interface Assets {
  readonly files: ReadonlyMap<string, Encoded>;
  readonly version: string;
}

/** The files of a page, each compressed on first use. `version` changes with their contents. */
export function loadAssets(names: readonly string[], folder = new URL('assets/', import.meta.url)): Assets {
  const files = new Map(names.map((name) => [name, encoded(readFileSync(new URL(name, folder)), BEST_QUALITY)]));
  const all = Buffer.concat([...files.values()].map(({ identity }) => identity));
  return { files, version: hash('sha256', all, 'hex').slice(0, 12) };
}

/** Sends the smallest encoding that the browser accepts. Headers must be set before. */
export function sendEncoded(request: Request, response: Response, file: Encoded): void {
  const encoding = encodingFor(request);
  response.vary('Accept-Encoding');
  if (encoding !== 'identity') response.set('Content-Encoding', encoding);
  response.set('Content-Length', String(file[encoding].length)).end(file[encoding]);
}

/** Like `sendEncoded`, for a text rendered for this one request. */
export function sendCompressed(request: Request, response: Response, text: string): void {
  const encoding = encodingFor(request);
  const body = Buffer.from(text);
  const shorter = encoding === 'br' ? brotliCompressSync(body, QUICK) : encoding === 'gzip' ? gzipSync(body) : body;
  response.vary('Accept-Encoding');
  if (encoding !== 'identity') response.set('Content-Encoding', encoding);
  response.set('Content-Length', String(shorter.length)).end(shorter);
}
