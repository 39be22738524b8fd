import { hash } from 'node:crypto';
import { hostname } from 'node:os';
import { resolve } from 'node:path';

/** The name of this process for others, the same after a restart. */
export const nodeName = (dataDir: string): string =>
  `${hostname()}-${hash('sha256', resolve(dataDir), 'hex').slice(0, 8)}`;
