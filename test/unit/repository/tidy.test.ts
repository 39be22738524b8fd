import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { REPOSITORY } from '../../support/repository.ts';

function filesUnder(folder: string, accept: (name: string) => boolean): string[] {
  const path = join(REPOSITORY, folder);
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .map((name) => join(path, name))
    .filter((name) => accept(name) && statSync(name).isFile());
}

const isSource = (name: string): boolean => /\.(ts|mjs|js|cjs)$/.test(name);
const read = (path: string): string => readFileSync(path, 'utf8');
const shown = (path: string): string => relative(REPOSITORY, path);
const withoutComments = (text: string): string =>
  text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '$1');

function offenders(files: readonly string[], pattern: RegExp): string[] {
  return files.filter((file) => pattern.test(withoutComments(read(file)))).map(shown);
}

const productFiles = [
  ...['src', 'state-machines', 'projections'].flatMap((folder) => filesUnder(folder, isSource)),
  // Written by a script.
  ...filesUnder('packages/client/src', (name) => isSource(name) && !name.endsWith('/wire.ts')),
];
const pureFiles = [
  ...filesUnder('src/domain', isSource),
  ...filesUnder('state-machines', isSource),
  ...filesUnder('projections', isSource),
];

describe('the house', () => {
  it('has no file that re-exports another', () => {
    expect(offenders(productFiles, /^export\s+(\*|(type\s+)?\{[^}]*\})\s+(as\s+\w+\s+)?from\s/m)).toEqual([]);
    expect(productFiles.filter((file) => /(^|\/)index\.ts$/.test(file)).map(shown)).toEqual([]);
  });

  it('numbers decisions without gaps, and keeps each to a screen', () => {
    const names = readdirSync(join(REPOSITORY, 'docs/adr')).toSorted();
    expect(names.map((name) => name.slice(0, 5))).toEqual(names.map((_, at) => `${String(at).padStart(4, '0')}-`));
    const lines = (name: string): number => read(join(REPOSITORY, 'docs/adr', name)).split('\n').length;
    expect(names.filter((name) => lines(name) > 64)).toEqual([]);
  });

  it('names every script in CONTRIBUTING', () => {
    const { scripts } = JSON.parse(read(join(REPOSITORY, 'package.json'))) as { scripts: Record<string, string> };
    const named = new Set(read(join(REPOSITORY, 'CONTRIBUTING.md')).match(/(?<=npm (run )?)[\w:-]+/g));
    expect(Object.keys(scripts).filter((script) => !named.has(script))).toEqual([]);
  });

  it('names source files in kebab-case', () => {
    const kebab = /^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+(-[a-z0-9]+)*)*$/;
    expect(productFiles.filter((file) => !kebab.test(file.split('/').at(-1)!)).map(shown)).toEqual([]);
  });

  it('has no open to-do marks and no disabled tests', () => {
    expect(productFiles.filter((file) => /\b(TODO|FIXME|XXX|HACK)\b/.test(read(file))).map(shown)).toEqual([]);
    const tests = filesUnder('test', (name) => name.endsWith('.test.ts')).filter(
      (file) => !file.endsWith('tidy.test.ts'),
    );
    expect(offenders(tests, /\b(it|test|describe)\.only\(/)).toEqual([]);
  });
});

describe('what is pure', () => {
  it('reads no clock, uses no randomness and starts no timer', () => {
    const impure =
      /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bset(Timeout|Interval|Immediate)\b|\bperformance\.|\bqueueMicrotask\b|\bprocess\.|\brandomUUID\b/;
    expect(offenders(pureFiles, impure)).toEqual([]);
  });

  it('has machines without timers, invocations and spawned actors', () => {
    const machines = filesUnder('state-machines', (name) => name.endsWith('.machine.ts'));
    expect(
      offenders(
        machines,
        /\b(after|invoke|delays|actors)\s*:|\b(spawn|spawnChild|sendTo|raise|fromPromise|fromCallback)\s*\(/,
      ),
    ).toEqual([]);
  });

  it('imports no input or output', () => {
    expect(offenders(pureFiles, /from\s+'(node:(?!crypto')[\w/]+|undici|ioredis|express)'/)).toEqual([]);
  });
});

describe('what is shipped', () => {
  it('locks packages without the address of a registry', () => {
    const lock = JSON.parse(read(join(REPOSITORY, 'package-lock.json'))) as {
      packages: Record<string, { resolved?: string; integrity?: string; link?: boolean }>;
    };
    const addressed = Object.entries(lock.packages).filter(([, entry]) => /^https?:/.test(entry.resolved ?? ''));
    expect(addressed.map(([name]) => name)).toEqual([]);
    expect(read(join(REPOSITORY, 'package-lock.json'))).not.toMatch(/registry\.[a-z]|localhost|127\.0\.0\.1/);
  });

  it('pins every dependency to one version', () => {
    const manifest = JSON.parse(read(join(REPOSITORY, 'package.json'))) as Record<
      string,
      Record<string, string> | undefined
    >;
    const versions = ['dependencies', 'devDependencies', 'optionalDependencies'].flatMap((kind) =>
      Object.entries(manifest[kind] ?? {}),
    );
    expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([]);
  });

  it('states the status and the date of every decision record', () => {
    const records = filesUnder('docs/adr', (name) => name.endsWith('.md'));
    expect(records.length).toBeGreaterThan(1);
    const incomplete = records.filter(
      (file) =>
        !/^- Status: \S/m.test(read(file)) ||
        !/^- Date: \d{4}-\d{2}-\d{2}$/m.test(read(file)) ||
        !/^\d{4}-/.test(file.split('/').at(-1)!),
    );
    expect(incomplete.map(shown)).toEqual([]);
  });
});
