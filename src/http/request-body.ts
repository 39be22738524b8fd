import type { IncomingMessage } from 'node:http';

export type BodyRead = { readonly kind: 'read'; readonly bytes: Buffer } | { readonly kind: 'too_large' | 'timeout' | 'aborted' };

const EMPTY = { kind: 'read', bytes: Buffer.alloc(0) } as const satisfies BodyRead;

/**
 * The body as sent, byte for byte. `too_large` as soon as the announced or received length passes `limitBytes`;
 * `timeout` when it is not whole after `timeoutMs`; `aborted` when the client went away.
 */
export function readBody(
  request: IncomingMessage,
  announcedBytes: number | null,
  limitBytes: number,
  timeoutMs: number,
): Promise<BodyRead> | BodyRead {
  if (announcedBytes === 0) return EMPTY;
  if (announcedBytes !== null && announcedBytes > limitBytes) return { kind: 'too_large' };
  return new Promise((resolve) => {
    let chunks: Buffer[] | null = null;
    let first: Buffer | null = null;
    let length = 0;
    const timer = setTimeout(() => settle({ kind: 'timeout' }), timeoutMs);
    const onData = (chunk: Buffer): void => {
      length += chunk.length;
      if (length > limitBytes) return settle({ kind: 'too_large' });
      if (first === null) first = chunk;
      else (chunks ??= [first]).push(chunk);
      if (length === announcedBytes) settle(whole());
    };
    const onEnd = (): void => settle(whole());
    const onError = (): void => settle({ kind: 'aborted' });
    const whole = (): BodyRead => ({ kind: 'read', bytes: chunks === null ? (first ?? EMPTY.bytes) : Buffer.concat(chunks, length) });
    function settle(result: BodyRead): void {
      clearTimeout(timer);
      request.removeListener('data', onData);
      request.removeListener('end', onEnd);
      resolve(result);
    }
    request.on('data', onData);
    request.on('end', onEnd);
    // Stays attached: an abort after this point must not become an uncaught error.
    request.on('error', onError);
  });
}

const LINGER_MS = 2_000;
const LINGER_BYTES = 4 * 1024 * 1024;

/**
 * Calls `finish` once the client stopped sending (or after 2 s or 4 MiB): closing earlier would reset the connection, and
 * the client would never read the answer it was given.
 */
export function drainThen(request: IncomingMessage, finish: () => void): void {
  if (request.complete || request.destroyed) return finish();
  let drained = 0;
  let finished = false;
  const done = (): void => {
    if (finished) return;
    finished = true;
    clearTimeout(timer);
    finish();
  };
  const timer = setTimeout(done, LINGER_MS);
  request.on('data', (chunk: Buffer) => {
    drained += chunk.length;
    if (drained > LINGER_BYTES) done();
  });
  request.on('end', done);
  request.on('error', done);
  request.resume();
}
