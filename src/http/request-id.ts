import { randomBytes } from 'node:crypto';
import { base32 } from '../domain/values/ids.ts';

/** `req_`, a random part per process and a counter: unique and cheap. Ids need not be unguessable. */
export function createRequestIds(): () => string {
  const process = `req_${base32(randomBytes(8))}`;
  let count = 0;
  return () => `${process}${(count += 1).toString(36).padStart(6, '0')}`;
}
