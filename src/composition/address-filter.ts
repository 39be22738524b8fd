import { join } from 'node:path';
import { keptFile } from '../adapters/node/kept-file.ts';
import type { KeptBytes } from '../ports/kept-bytes.ts';

/** Beside the look-ups that it is made of. */
export const addressFilterIn = (dataDir: string): KeptBytes => keptFile(join(dataDir, 'read-model.addresses'));
