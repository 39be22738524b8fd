import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folders: string[] = [];

/** A folder of its own, which is removed when the test file has ended (`remove-folders.ts`). */
export function temporaryFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `quittance-${name}-`));
  folders.push(folder);
  return folder;
}

export function removeTemporaryFolders(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}
