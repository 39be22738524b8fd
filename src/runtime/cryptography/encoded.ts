import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { once } from '../util/once.ts';

/** A body in every encoding that browsers support. */
export interface Encoded {
  readonly identity: Buffer;
  readonly br: Buffer;
  readonly gzip: Buffer;
}

/** Encodes lazily. `quality` is brotli's, from 0 to 11; above 9 it takes much time for little gain. */
export function encoded(body: Buffer, quality: number): Encoded {
  const br = once(() => brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: quality } }));
  const gzip = once(() => gzipSync(body, { level: 9 }));
  return {
    identity: body,
    get br() {
      return br();
    },
    get gzip() {
      return gzip();
    },
  };
}

/** The shortest encoding that the request accepts; most browsers list gzip first without preferring it. */
export const encodingFor = (request: { acceptsEncodings(encoding: string): string | false }): keyof Encoded =>
  (['br', 'gzip'] as const).find((encoding) => request.acceptsEncodings(encoding) === encoding) ?? 'identity';
