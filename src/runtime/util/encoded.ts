import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { once } from './once.ts';

/** A body in every encoding that browsers take. */
export interface Encoded {
  readonly identity: Buffer;
  readonly br: Buffer;
  readonly gzip: Buffer;
}

/** Each is made by the first who asks for it. `quality` is brotli's, from 0 to 11; beyond 9, much time for little. */
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

/** The shortest that the request takes; most browsers name gzip first and mean no order by it. */
export const encodingFor = (request: { acceptsEncodings(encoding: string): string | false }): keyof Encoded =>
  (['br', 'gzip'] as const).find((encoding) => request.acceptsEncodings(encoding) === encoding) ?? 'identity';
