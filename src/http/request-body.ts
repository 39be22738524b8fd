import type { IncomingMessage } from 'node:http';

export type BodyRead =
  | { readonly kind: 'read'; readonly bytes: Buffer }
  | { readonly kind: 'too_large' }
  | { readonly kind: 'aborted' };

const EMPTY = { kind: 'read', bytes: Buffer.alloc(0) } as const satisfies BodyRead;

/**
 * The body byte for byte. `too_large` as soon as the received length exceeds `limitBytes`; `aborted` if the client went
 * away. The server's request timeout aborts stalled clients.
 */
export function readBody(
  request: IncomingMessage,
  announcedBytes: number | null,
  limitBytes: number,
): Promise<BodyRead> | BodyRead {
  if (announcedBytes === 0) return EMPTY;
  return new Promise((resolve) => {
    let kept: Buffer = EMPTY.bytes;
    let length = 0;
    const whole = (): void =>
      resolve({ kind: 'read', bytes: kept.length === length ? kept : kept.subarray(0, length) });
    request.on('data', (chunk: Buffer) => {
      const from = length;
      length += chunk.length;
      if (length > limitBytes) return resolve({ kind: 'too_large' });
      if (from === 0) kept = chunk;
      else kept = appended(kept, from, chunk, announcedBytes ?? 0);
      if (length === announcedBytes) whole();
    });
    if (announcedBytes === null) request.on('end', whole);
    request.on('error', () => resolve({ kind: 'aborted' }));
  });
}

/** Copies into one growing buffer, so that a client sending byte by byte does not leave an object for each. */
function appended(kept: Buffer, from: number, chunk: Buffer, expectedBytes: number): Buffer {
  const needed = from + chunk.length;
  let room = kept;
  if (kept.length < needed) {
    room = Buffer.allocUnsafeSlow(Math.max(needed * 2, expectedBytes));
    kept.copy(room, 0, 0, from);
  }
  chunk.copy(room, from);
  return room;
}

const LINGER_MS = 2_000;
const LINGER_BYTES = 4 * 1024 * 1024;

/**
 * Calls `finish` once the client has stopped sending (or after 2 s or 4 MiB). Closing earlier would reset the
 * connection, and the client would never read the response.
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
