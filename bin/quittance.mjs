#!/usr/bin/env node
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

// A release has its programs in `lib` as JavaScript. In a checkout Node runs the TypeScript sources itself (type
// stripping). Both need Node 24; `npm ci` brings it.
const release = new URL('../lib/main.mjs', import.meta.url);
const isRelease = existsSync(release);
const major = Number(process.versions.node.split('.')[0]);
if (major < 24) {
  process.stderr.write(
    `quittance needs Node 24 or later, this is ${process.versions.node}. Inside the project "npx quittance" and "npm start" use the Node that "npm ci" installed.\n`,
  );
  process.exit(1);
}
if (!isRelease && import.meta.url.includes('/node_modules/')) {
  process.stderr.write(
    'Node runs no TypeScript inside node_modules. Run the service from a checkout, or install what "npm run build" makes; the client is the package @quittance/client.\n',
  );
  process.exit(1);
}
// A signal opens a debugger in Node, through which whoever may send one reads every secret. Only a flag prevents it, so
// a program that stays begins again with it, in the same process. The sandbox keeps its modules compiled, which halves
// its start; where live keys may be, sources alone run.
const stays = ['serve', 'signer', 'sandbox'].includes(process.argv[2]);
const kept =
  process.argv[2] === 'sandbox'
    ? { NODE_COMPILE_CACHE: fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url)) }
    : {};
if (stays && !process.execArgv.includes('--disable-sigusr1') && process.platform !== 'win32')
  process.execve(
    process.execPath,
    [process.execPath, '--disable-sigusr1', ...process.execArgv, ...process.argv.slice(1)],
    {
      ...kept,
      ...process.env,
    },
  );
if (isRelease) {
  const { main } = await import(release.href);
  await main(process.argv.slice(2));
} else {
  const { main } = await import('../src/main.ts');
  await main(process.argv.slice(2));
}
