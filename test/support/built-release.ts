import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { REPOSITORY } from './repository.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** What `npm run build` makes, in a folder from which nothing of the checkout can be found. */
export async function builtRelease(): Promise<string> {
  const folder = join(temporaryFolder('release'), 'dist');
  await promisify(execFile)(process.execPath, [join(REPOSITORY, 'scripts/build.ts'), folder]);
  return folder;
}
