import { randomBytes, randomUUID } from 'node:crypto';
import type { Random } from '../../ports/random.ts';

/** Cryptographically secure randomness of the operating system. */
export const nodeRandom: Random = { bytes: (length) => randomBytes(length), uuid: () => randomUUID() };
