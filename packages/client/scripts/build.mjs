/*
 * Compiles the package in the working folder twice, for `import` and for `require`, into the folders that its two
 * configurations name. `npm pack` packs them. The first configuration may be named: in the plugin it is not
 * `tsconfig.json`, since editors and lint read the sources with the paths of the repository's own.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');

const [modules = 'tsconfig.json'] = process.argv.slice(2);

for (const [project, type] of [
  [modules, 'module'],
  ['tsconfig.commonjs.json', 'commonjs'],
]) {
  const { compilerOptions } = JSON.parse(readFileSync(project, 'utf8'));
  const output = compilerOptions.outDir;
  rmSync(output, { recursive: true, force: true });
  const { status } = spawnSync(process.execPath, [tsc, '-p', project], { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
  writeFileSync(join(output, 'package.json'), `{ "type": "${type}" }\n`);
  // The compiler leaves `.ts` in the imports of declarations.
  for (const name of readdirSync(output, { recursive: true }).filter((file) => file.endsWith('.d.ts'))) {
    const path = join(output, name);
    writeFileSync(
      path,
      readFileSync(path, 'utf8').replaceAll(/((?:from|import\() ?'\.{1,2}\/[\w/.-]+)\.ts'/g, "$1.js'"),
    );
  }
}
