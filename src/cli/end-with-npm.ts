import { readFileSync } from 'node:fs';
import { must } from '../domain/values/must.ts';

const LOOK_MS = 500;

/** Reads our ancestor processes; tests substitute their own. */
export interface Ancestry {
  readonly env: Readonly<Record<string, string | undefined>>;
  parentOf(pid: number | 'self'): number | null;
}

const SYSTEM: Ancestry = {
  env: process.env,
  parentOf: (pid) => (pid === 'self' ? process.ppid : parentIn(`/proc/${pid}/stat`)),
};

/**
 * The fourth field; the second is a name in brackets that may contain anything. Null where the system does not provide
 * the file.
 */
function parentIn(file: string): number | null {
  try {
    const stat = readFileSync(file, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return null;
  }
}

/**
 * Calls `end` when npm, which started us for `npm start`, `npm run serve` or `npx quittance`, is gone. npm passes a
 * signal to its shell at most, and the shell passes it to nobody, so the service would keep running with its directory
 * locked. Our parent is npm or its shell.
 */
export function endWithNpm(end: () => void, ancestry: Ancestry = SYSTEM): void {
  const { npm_lifecycle_event: script, npm_command: command } = ancestry.env;
  if (script !== 'start' && script !== 'serve' && command !== 'exec') return;
  const parent = must(ancestry.parentOf('self'));
  const grandparent = ancestry.parentOf(parent);
  const timer = setInterval(() => {
    if (ancestry.parentOf('self') === parent && ancestry.parentOf(parent) === grandparent) return;
    clearInterval(timer);
    end();
  }, LOOK_MS).unref();
}
