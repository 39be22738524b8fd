/* Compiles the sources into `dist` twice, for `import` and for `require`. `npm pack` packs that folder. */
import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = join(dirname(fileURLToPath(import.meta.url)), '..');
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');

rmSync(join(folder, 'dist'), { recursive: true, force: true });
for (const [project, format, type] of [
  ['tsconfig.json', 'esm', 'module'],
  ['tsconfig.commonjs.json', 'cjs', 'commonjs'],
]) {
  const { status } = spawnSync(process.execPath, [tsc, '-p', project], { cwd: folder, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
  const output = join(folder, 'dist', format);
  writeFileSync(join(output, 'package.json'), `{ "type": "${type}" }\n`);
  // The compiler leaves `.ts` in the imports of declarations.
  for (const name of readdirSync(output).filter((file) => file.endsWith('.d.ts'))) {
    const path = join(output, name);
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll(/((?:from|import\() ?'\.\/[\w-]+)\.ts'/g, "$1.js'"));
  }
}
