import { readFileSync } from 'node:fs';
import { must } from '../domain/must.ts';

const LOOK_MS = 500;

/** What tells of our ancestors; tests bring their own. */
export interface Ancestry {
  readonly env: Readonly<Record<string, string | undefined>>;
  parentOf(pid: number | 'self'): number | null;
}

const SYSTEM: Ancestry = {
  env: process.env,
  parentOf: (pid) => (pid === 'self' ? process.ppid : parentIn(`/proc/${pid}/stat`)),
};

/**
 * The fourth field; the second is a name in brackets, which may hold anything. Null where the system tells no such
 * thing.
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
 * signal on to its shell at most, and the shell to nobody: the service would stay, and keep its directory locked. npm
 * is our parent, or its shell is.
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
