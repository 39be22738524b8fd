import type { Response } from 'express';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Shown } from './visit.ts';

/** A refusal while the first part is made is the answer; one that comes later cuts the file off. */
export async function sendFile(
  response: Response,
  { name, contentType, chunks }: Extract<Shown, { readonly file: unknown }>['file'],
): Promise<void> {
  const whole = filled(chunks);
  const first = await whole.next();
  response.type(contentType).set('Content-Disposition', `attachment; filename="${name.replaceAll(/[^\w.-]/g, '_')}"`);
  await pipeline(Readable.from(after(first, whole), { objectMode: false }), response).catch(() => response.destroy());
}

/** A stream that is handed an empty text waits forever. */
async function* filled(
  chunks: AsyncIterable<string | Uint8Array> | Iterable<string>,
): AsyncGenerator<string | Uint8Array> {
  for await (const chunk of chunks) if (chunk.length > 0) yield chunk;
}

/** Nothing is sent before there is a first part: until then a refusal can be said. */
async function* after(
  first: IteratorResult<string | Uint8Array>,
  rest: AsyncIterable<string | Uint8Array>,
): AsyncGenerator<string | Uint8Array> {
  if (first.done !== true) yield first.value;
  yield* rest;
}
