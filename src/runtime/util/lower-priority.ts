import { setPriority } from 'node:os';

/** Lets other threads go first. On Linux alone, since elsewhere it would be the priority of the whole process. */
export function lowerPriority(nice = 10): void {
  if (process.platform === 'linux') setPriority(0, nice);
}
