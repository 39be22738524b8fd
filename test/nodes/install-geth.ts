import { execFile } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

const GETH_VERSION = '1.17.10';
const MODULE = 'github.com/ethereum/go-ethereum/cmd/geth';
const CACHE = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');

/** `GETH` names a program of one's own. */
export const gethPath = (): string => process.env['GETH'] ?? join(CACHE, 'quittance', `geth-${GETH_VERSION}`, 'geth');

/**
 * Builds geth from its Go module, once for a machine: some minutes. The module proxy's checksums vouch for its source.
 * Returns why it cannot be had, or null.
 */
export async function installGeth(): Promise<string | null> {
  const path = gethPath();
  if (existsSync(path)) return null;
  if (process.env['GETH'] !== undefined) return `there is no ${path}`;
  const folder = join(path, '..');
  mkdirSync(folder, { recursive: true });
  console.log(`Building geth ${GETH_VERSION} into ${folder} …`);
  try {
    await run('go', ['install', `${MODULE}@v${GETH_VERSION}`], { env: { ...process.env, GOBIN: folder } });
    return null;
  } catch (error) {
    const { code, stderr = '' } = error as { code?: unknown; stderr?: string };
    return code === 'ENOENT' ? 'Go is not installed' : `it could not be built: ${stderr.slice(-300).trim()}`;
  }
}

/** What the program itself says. */
export async function gethVersion(): Promise<string> {
  const { stdout } = await run(gethPath(), ['version']);
  return /^Version: (\S+)/m.exec(stdout)?.[1] ?? 'of an unknown version';
}
