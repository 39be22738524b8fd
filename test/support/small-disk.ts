import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/* A file system of three megabytes, which a test can fill. Only root may mount one. */

const mount = (path: string): boolean =>
  process.getuid?.() === 0 && spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=3m', 'tmpfs', path]).status === 0;

function canMount(): boolean {
  const path = mkdtempSync(join(tmpdir(), 'quittance-mount-'));
  const can = mount(path);
  if (can) spawnSync('umount', [path]);
  rmSync(path, { recursive: true, force: true });
  return can;
}

export const CAN_MOUNT = canMount();

export async function onSmallDisk(path: string, task: () => Promise<void>): Promise<void> {
  if (!mount(path)) throw new Error(`nothing could be mounted at ${path}`);
  try {
    await task();
  } finally {
    spawnSync('umount', ['-l', path]);
  }
}
