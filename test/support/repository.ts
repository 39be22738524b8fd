import { join } from 'node:path';

/** Absolute path of the checkout. */
export const REPOSITORY = join(import.meta.dirname, '..', '..');
