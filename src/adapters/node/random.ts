import { randomUUID } from 'node:crypto';
import type { Random } from '../../ports/random.ts';
import { randomBytesPooled } from '../../runtime/cryptography/pooled-random.ts';

/** Cryptographically secure randomness of the operating system. */
export const nodeRandom: Random = { bytes: randomBytesPooled, uuid: () => randomUUID() };
