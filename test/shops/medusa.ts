import { spawnSync } from 'node:child_process';
import type { Shop } from './shop.ts';

/** A Medusa from npm in a folder of its own, with Debian's PostgreSQL. */
export const medusa: Shop = {
  name: 'medusa',
  missing() {
    return spawnSync('pg_ctl', ['--version']).status === 0 ? null : "pg_ctl of Debian's postgresql is not in the path";
  },
  start: () => Promise.resolve({ cases: [], stop: () => Promise.resolve() }),
};
