import { execFileSync } from 'node:child_process';

/** Everything a process started, and what those started. */
export function descendantsOf(pid: number): number[] {
  let output: string;
  try {
    output = execFileSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' });
  } catch {
    return [];
  }
  const children = output
    .split('\n')
    .map(Number)
    .filter((child) => child > 0);
  return children.flatMap((child) => [child, ...descendantsOf(child)]);
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
