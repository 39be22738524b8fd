import { cpSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { build, type Metafile, type Plugin } from 'esbuild';

/*
 * `npm run build [-- FOLDER]`: a release as plain JavaScript in `dist`, complete in itself. Its folder can be copied to
 * a host and run without installing anything: every program and thread is one entry, packages are inside, and the one
 * addon (libsecp256k1, which has a JavaScript fallback) comes with its binaries. The sandbox and its chains stay out.
 */

const ROOT = resolve(import.meta.dirname, '..');
const OUT = resolve(ROOT, process.argv[2] ?? 'dist');
const LIB = join(OUT, 'lib');

/** Packages that are native code and therefore copied as they are, with what they load. */
const ADDONS = ['secp256k1', 'node-gyp-build'];
/** Programs that never run in production; a release says so where one is asked for. */
const CHECKOUT_ONLY = ['src/composition/sandbox.ts', 'src/composition/sandbox-node.ts'];
const PROGRAMS = ['src/main.ts', 'src/signer/main.ts'];
/** The name makes the command line print the sentence alone. */
const NO_SANDBOX = `throw Object.assign(new Error('The sandbox is not part of a release: run "npm start" in a checkout.'), { name: 'CommandRefused' });`;
/** What a release carries beside its programs. */
const CARRIED = ['CHANGELOG.md', 'LICENSE', 'SECURITY.md', 'docs/*.md', 'ops/**/*'];

/** `new URL('./thread.ts', import.meta.url)`, or a file or folder beside the module, up to a placeholder. */
const PLACE = /new URL\((['"`])(\.{0,2}[^'"`]*?)(\$\{[^}]+\})?\1, import\.meta\.url\)/g;
const LOADED_LATE = /createRequire\(import\.meta\.url\)\('([^']+)'\)/g;

const inRoot = (path: string): string => relative(ROOT, path);
const entryOf = (path: string): string =>
  inRoot(path)
    .replace(/^src\//, '')
    .replace(/\.ts$/, '')
    .replaceAll('/', '-');

/** Modules are moved into one folder: what they find by their own place is named by its new one. */
class Places {
  readonly threads = new Set<string>();
  readonly files = new Set<string>();

  renamed(text: string, module: string): string {
    const moved = text
      .replaceAll(PLACE, (_, quote: string, path: string, placeholder = '') => {
        const target = resolve(dirname(module), path);
        const kept = path.endsWith('/') ? '/' : '';
        if (target.endsWith('.ts')) this.threads.add(target);
        else this.files.add(target);
        const to = target.endsWith('.ts') ? `${entryOf(target)}.mjs` : `files/${inRoot(target)}${kept}`;
        return `new URL(${quote}./${to}${placeholder}${quote}, import.meta.url)`;
      })
      .replaceAll(LOADED_LATE, (call, name: string) =>
        ADDONS.includes(name.split('/')[0]!) ? call : `require('${name}')`,
      );
    const forgotten = /import\.meta\.(dirname|filename)|import\.meta\.url(?!\))/.exec(moved);
    if (forgotten)
      throw new Error(`${inRoot(module)} finds something by ${forgotten[0]} in a way that a release does not know`);
    return moved;
  }
}

function moving(places: Places): Plugin {
  return {
    name: 'places',
    setup(builder) {
      builder.onLoad({ filter: /\.ts$/ }, ({ path }) => {
        if (path.includes('/node_modules/')) return null;
        if (CHECKOUT_ONLY.includes(inRoot(path))) return { contents: NO_SANDBOX };
        return { contents: places.renamed(readFileSync(path, 'utf8'), path), loader: 'ts' };
      });
    },
  };
}

async function bundle(entries: readonly string[], places: Places): Promise<Metafile> {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: Object.fromEntries(entries.map((path) => [entryOf(path), path])),
    outdir: LIB,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    outExtension: { '.js': '.mjs' },
    chunkNames: 'shared-[hash]',
    external: ADDONS.flatMap((name) => [name, `${name}/*`]),
    // A module that is also a program would run in every bundle.
    define: { 'import.meta.main': 'false' },
    banner: {
      js: `import { createRequire as requireOf } from 'node:module';\nconst require = requireOf(import.meta.url);`,
    },
    legalComments: 'none',
    plugins: [moving(places)],
    metafile: true,
    logLevel: 'warning',
  });
  return metafile;
}

/** The folders of the packages that are inside. */
function packagesOf(metafile: Metafile): string[] {
  const inputs = Object.keys(metafile.inputs);
  const folders = inputs.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []);
  return [...new Set([...folders, ...ADDONS.map((name) => `node_modules/${name}`)])].sort();
}

/** Their licences, as most of them demand. */
function notice(folder: string): string {
  const read = (file: string): string => readFileSync(join(ROOT, folder, file), 'utf8').trim();
  const { name, version, license } = JSON.parse(read('package.json')) as Record<string, string>;
  const texts = readdirSync(join(ROOT, folder)).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file));
  return [`${name} ${version} (${license})`, ...texts.map(read)].join('\n\n');
}

/** What npm and `update.sh` read of a release: no packages to install, no scripts to run. */
function manifest(): string {
  const source = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<string, unknown>;
  const { name, version, description, license, type, bin } = source;
  const kept = {
    name,
    version,
    description,
    license,
    type,
    bin,
    engines: { node: '>=24' },
    bundleDependencies: ADDONS,
  };
  return `${JSON.stringify({ ...kept, dependencies: Object.fromEntries(ADDONS.map((addon) => [addon, '*'])) }, null, 2)}\n`;
}

const places = new Places();
const sources = globSync('{src,state-machines,projections,packages/client/src}/**/*.ts', { cwd: ROOT });
for (const path of sources.filter((path) => !path.startsWith('src/sandbox/')))
  places.renamed(readFileSync(join(ROOT, path), 'utf8'), join(ROOT, path));

rmSync(OUT, { recursive: true, force: true });
mkdirSync(LIB, { recursive: true });
const metafile = await bundle([...PROGRAMS.map((path) => join(ROOT, path)), ...places.threads], places);
for (const path of places.files) cpSync(path, join(LIB, 'files', inRoot(path)), { recursive: true });
for (const path of [
  ...globSync(CARRIED, { cwd: ROOT }),
  'bin/quittance.mjs',
  ...ADDONS.map((name) => `node_modules/${name}`),
])
  cpSync(join(ROOT, path), join(OUT, path), { recursive: true });
writeFileSync(join(OUT, 'package.json'), manifest());
const line = '-'.repeat(80);
writeFileSync(join(OUT, 'THIRD-PARTY-NOTICES'), `${packagesOf(metafile).map(notice).join(`\n\n${line}\n\n`)}\n`);
const bytes = Object.values(metafile.outputs).reduce((sum, output) => sum + output.bytes, 0);
console.log(`${relative(process.cwd(), OUT) || OUT}: ${(bytes / 1e6).toFixed(1)} MB of programs`);
