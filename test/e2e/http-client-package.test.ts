import { execFile, execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { wireTypes } from '../../scripts/client-wire-types.ts';
import { startTestServer, type TestServer } from '../support/http-api.ts';
import { REPOSITORY } from '../support/repository.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const PACKAGE = join(REPOSITORY, 'packages/client');
/** What an installation may weigh, and what of it a program loads. */
const LIMITS = { installedKb: 350, loadedKb: 25 };

let folder: string;
let tarball: string;
let project: string;
let installed: string;
let service: TestServer;

beforeAll(async () => {
  folder = temporaryFolder('client');
  execFileSync('npm', ['pack', '--pack-destination', folder], { cwd: PACKAGE, stdio: 'pipe' });
  tarball = join(
    folder,
    readdirSync(folder).find((name) => name.endsWith('.tgz'))!,
  );
  project = join(folder, 'shop');
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{ "name": "shop", "private": true }');
  execFileSync('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball], { cwd: project, stdio: 'pipe' });
  installed = join(project, 'node_modules/@quittance/client');
  service = await startTestServer();
});
afterAll(() => service?.close());

const bytesOf = (path: string): number =>
  readdirSync(path, { recursive: true, encoding: 'utf8' })
    .map((name) => statSync(join(path, name)))
    .reduce((sum, file) => sum + (file.isFile() ? file.size : 0), 0);
const read = (path: string): string => readFileSync(join(installed, path), 'utf8');

const PROGRAM = `
const quittance = createClient({ baseUrl: process.env.BASE, apiKey: process.env.KEY, apiSecret: process.env.SECRET });
async function main() {
  const session = await quittance.sessions.create({ amount: '10.00', currency: 'USD', order_id: 'packed' });
  const missing = await quittance.refunds.get('re_x').catch((error) => error instanceof NotFoundError);
  const refused = await verifyWebhook('{}', {}, { secret: 's' }).catch((error) => error.name);
  console.log(JSON.stringify([session.payment_status, missing, refused]));
}
main();`;
const NAMES = [
  ['{ createClient }', '@quittance/client'],
  ['{ NotFoundError }', '@quittance/client/errors'],
  ['{ verifyWebhook }', '@quittance/client/webhooks'],
] as const;

describe('the client as it is packed', () => {
  it('brings no other package along', () => {
    expect(readdirSync(join(project, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual(['@quittance']);
    expect(readdirSync(join(project, 'node_modules/@quittance'))).toEqual(['client']);
  });

  it.each([
    ['import', 'shop.mjs', NAMES.map(([names, from]) => `import ${names} from '${from}';`)],
    ['require', 'shop.cjs', NAMES.map(([names, from]) => `const ${names} = require('${from}');`)],
  ])('runs after %s in an empty folder', async (_, file, imports) => {
    writeFileSync(join(project, file), imports.join('\n') + PROGRAM);
    const env = { PATH: process.env.PATH, BASE: service.base, KEY: service.key.apiKey, SECRET: service.key.secret };
    const { stdout } = await promisify(execFile)(process.execPath, [file], { cwd: project, env });
    expect(JSON.parse(stdout)).toEqual(['unpaid', true, 'WebhookVerificationError']);
  });

  it.each(['esm', 'cjs'])('imports nothing but its own files and the web platform (%s)', (format) => {
    const scripts = readdirSync(join(installed, 'dist', format)).filter((name) => name.endsWith('.js'));
    expect(scripts.length).toBeGreaterThan(4);
    for (const name of scripts) {
      const source = read(`dist/${format}/${name}`);
      const imports = [...source.matchAll(/(?:from |require\()["']([^"']+)["']/g)].map((match) => match[1]!);
      expect(imports.filter((from) => !/^\.\/[\w-]+\.js$/.test(from))).toEqual([]);
      expect(source).not.toMatch(/\b(process|Buffer|__dirname)\b/);
      if (format === 'esm') expect(source).not.toMatch(/\brequire\b/);
    }
  });

  it('is as small as its README says', () => {
    // What shops and their tests load besides is named by its entry.
    const loaded = readdirSync(join(installed, 'dist/esm')).filter((name) => /^(?!shop).*\.js$/.test(name));
    const loadedBytes = loaded.reduce((sum, name) => sum + statSync(join(installed, 'dist/esm', name)).size, 0);
    expect(bytesOf(installed) / 1024).toBeLessThan(LIMITS.installedKb);
    expect(loadedBytes / 1024).toBeLessThan(LIMITS.loadedKb);
    expect(read('README.md')).toContain(
      `less than ${LIMITS.installedKb} KB on disk, of which a program loads less than ${LIMITS.loadedKb} KB`,
    );
  });

  it('passes publint', async () => {
    const { messages } = await publint({ pkgDir: installed, pack: false, strict: true });
    expect(messages).toEqual([]);
  });

  it('has the right types with import and require', async () => {
    const analysis = await checkPackage(createPackageFromTarballData(readFileSync(tarball)));
    if (!analysis.types) throw new Error('the package has no types');
    // Resolution from before `exports` finds the main entry alone.
    const problems = analysis.problems.filter(
      (problem) => !('resolutionKind' in problem) || problem.resolutionKind !== 'node10',
    );
    expect(problems).toEqual([]);
    expect(Object.keys(analysis.entrypoints)).toEqual(
      expect.arrayContaining(['.', './errors', './shop-kit', './shop-plans', './shops', './signing', './webhooks']),
    );
  });

  it('has types made from the schemas as they are', () =>
    expect(readFileSync(join(PACKAGE, 'src/wire.ts'), 'utf8')).toBe(wireTypes()));

  const SHOP = `import { createClient, type PaymentSession } from '@quittance/client';
import { verifyWebhook } from '@quittance/client/webhooks';
const quittance = createClient({ baseUrl: 'https://pay.example', apiKey: 'k', apiSecret: 's' });
export async function shop(): Promise<string | undefined> {
  const session: PaymentSession = await quittance.sessions.create({ amount: '10.00', currency: 'USD', order_id: 'o' });
  for await (const refund of quittance.refunds.all({ status: 'COMPLETED' })) console.log(refund.tx_hash satisfies string | null);
  const event = await verifyWebhook('{}', new Headers(), { secret: 's' });
  if (event.type === 'payment.completed') console.log(event.data.object.order_id satisfies string);
  // @ts-expect-error a number is no amount
  void quittance.sessions.create({ amount: 10, currency: 'USD', order_id: 'o' });
  // @ts-expect-error no such field
  void quittance.sessions.create({ amount: '10', currency: 'USD', order_id: 'o', colour: 'red' });
  // @ts-expect-error no such status
  void quittance.refunds.page({ status: 'LOST' });
  return session.payment_options[0]?.address;
}
`;

  it.each([
    ['modules of both kinds', ['shop.mts', 'shop.cts'], 'nodenext', 'nodenext'],
    ['a bundler', ['shop.ts'], 'esnext', 'bundler'],
  ])('has types that a strict project can use in %s', async (_, files, module, moduleResolution) => {
    const typed = join(folder, `typed-${moduleResolution}`);
    mkdirSync(typed);
    cpSync(join(project, 'node_modules'), join(typed, 'node_modules'), { recursive: true });
    for (const file of files) writeFileSync(join(typed, file), SHOP);
    const lib = ['es2023', 'dom', 'dom.iterable', 'esnext.disposable'];
    const compilerOptions = {
      noEmit: true,
      strict: true,
      target: 'es2022',
      lib,
      module,
      moduleResolution,
      types: [],
      skipLibCheck: false,
    };
    writeFileSync(join(typed, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
    const tsc = join(REPOSITORY, 'node_modules/typescript/bin/tsc');
    const said = await promisify(execFile)(process.execPath, [tsc, '-p', 'tsconfig.json'], { cwd: typed }).catch(
      (error: unknown) => error,
    );
    expect((said as { stdout: string }).stdout).toBe('');
  });
});
