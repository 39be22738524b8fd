import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

const SUBJECT = fileURLToPath(new URL('../../../../src/runtime/files/private-file.ts', import.meta.url));

it('a private file that does not fit on the disk leaves the previous one unchanged', () => {
  const folder = temporaryFolder('private');
  const file = join(folder, 'keystore.json');
  /** The system takes what fits below the limit and reports no fault, as a disk does that fills up. */
  const write = (text: string): string => {
    const script = `
      const { writePrivateFile } = await import(process.argv[1]);
      try { writePrivateFile(process.argv[2], process.argv[3]); console.log('written'); } catch (error) { console.log(error.code); }`;
    const command = `trap '' XFSZ; ulimit -f 8; exec "$0" --input-type=module -e "$1" "$2" "$3" "$4"`;
    return execFileSync('sh', ['-c', command, process.execPath, script, SUBJECT, file, text], {
      encoding: 'utf8',
    }).trim();
  };
  expect(write('small')).toBe('written');
  expect(write('x'.repeat(50_000))).toBe('EFBIG');
  expect(readFileSync(file, 'utf8')).toBe('small');
  expect(readdirSync(folder)).toEqual(['keystore.json']);
});
