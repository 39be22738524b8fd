import type { Response } from 'express';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Shown } from './visit.ts';

/** Sends a file. A refusal before the first part becomes the response; a later error cuts the file off. */
export async function sendFile(
  response: Response,
  { name, contentType, chunks }: Extract<Shown, { readonly file: unknown }>['file'],
): Promise<void> {
  const whole = filled(chunks);
  const first = await whole.next();
  response.type(contentType).set('Content-Disposition', `attachment; filename="${name.replaceAll(/[^\w.-]/g, '_')}"`);
  await pipeline(Readable.from(after(first, whole), { objectMode: false }), response).catch(() => response.destroy());
}

/** Skips empty chunks: `Readable.from` would wait forever after one. */
async function* filled(
  chunks: AsyncIterable<string | Uint8Array> | Iterable<string>,
): AsyncGenerator<string | Uint8Array> {
  for await (const chunk of chunks) if (chunk.length > 0) yield chunk;
}

/** Nothing is sent before the first part is there, so that a refusal can still become the response. */
async function* after(
  first: IteratorResult<string | Uint8Array>,
  rest: AsyncIterable<string | Uint8Array>,
): AsyncGenerator<string | Uint8Array> {
  if (first.done !== true) yield first.value;
  yield* rest;
}
