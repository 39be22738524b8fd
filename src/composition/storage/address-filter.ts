import { join } from 'node:path';
import { keptFile } from '../../adapters/node/kept-file.ts';
import type { KeptBytes } from '../../ports/read-model/kept-bytes.ts';

/** Next to the look-ups from which it is built. */
export const addressFilterIn = (dataDir: string): KeptBytes => keptFile(join(dataDir, 'read-model.addresses'));
