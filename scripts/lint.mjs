/*
 * `npm run lint`: every `lint:` script of package.json at once, since most of them use one core. Each prints when it has
 * ended.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

const { scripts } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

const ended = Object.entries(scripts)
  .filter(([name]) => name.startsWith('lint:'))
  .map(
    ([name, command]) =>
      new Promise((resolve) => {
        const child = spawn(command, { shell: true, stdio: ['ignore', 'pipe', 'pipe'] });
        let output = '';
        for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data));
        child.on('close', (code) => {
          console.log(`${name} ${code === 0 ? 'passed' : 'failed'}\n${output}`);
          resolve(code === 0);
        });
      }),
  );
if (!(await Promise.all(ended)).every(Boolean)) process.exitCode = 1;
