import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { REPOSITORY } from '../support/repository.ts';

const CASES = join(REPOSITORY, 'test/simulation/cases');
const ROUNDS_MS = 180_000;

/** A program of its own: it takes the runtime's clock over. */
function simulate(...args: string[]): { readonly digests: readonly string[]; readonly text: string; readonly status: number | null } {
  const { stdout, stderr, status } = spawnSync(process.execPath, ['test/simulation/main.ts', '--no-shrink', ...args], {
    cwd: REPOSITORY,
    encoding: 'utf8',
  });
  return { digests: [...stdout.matchAll(/: ([0-9a-f]{64}) /g)].map(([, digest]) => digest!), text: stdout + stderr, status };
}

describe('a whole installation in virtual time', () => {
  it('keeps its promises under the faults of some seeds', { timeout: ROUNDS_MS }, () => {
    const { text, status } = simulate('--seed', 'every-time', '--runs', '2', '--steps', '12');
    expect(text).toContain('2 runs');
    expect(status, text).toBe(0);
  });

  it('is the same for the same seed, to the byte', { timeout: ROUNDS_MS }, () => {
    const [one, other] = [simulate('--seed', 'twice', '--steps', '8'), simulate('--seed', 'twice', '--steps', '8')];
    expect(one.digests).toHaveLength(1);
    expect(other.digests).toEqual(one.digests);
  });

  it.each(readdirSync(CASES).filter((name) => name.endsWith('.json')))('does not fall back into %s', { timeout: ROUNDS_MS }, (name) => {
    const { text, status } = simulate('--replay', join(CASES, name));
    expect(status, text).toBe(0);
  });

  it.each([
    ['--runs', 'many', '--runs must be a whole number, not many'],
    ['--network', 'dogecoin', '--network must be ethereum or bsc, not dogecoin'],
    ['--replay', 'nowhere.json', '--replay: nowhere.json cannot be read as a plan'],
  ])('refuses %s %s in clear words', (option, value, words) => {
    const { text, status } = simulate(option, value);
    expect(text).toContain(words);
    expect(status).toBe(2);
  });
});
