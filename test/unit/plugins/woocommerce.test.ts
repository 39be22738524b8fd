import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { REPOSITORY } from '../../support/repository.ts';

/* The cases are PHP, against stubs of the documented interfaces of WordPress and WooCommerce. */

const PLUGIN = join(REPOSITORY, 'plugins/woocommerce');
const installed = spawnSync('php', ['--version']).status === 0;

interface Case {
  readonly name: string;
  readonly fault: string | null;
}

describe.skipIf(!installed)('the WooCommerce plugin', () => {
  let cases: readonly Case[];
  beforeAll(() => {
    const vectors = join(REPOSITORY, 'docs/signature-vectors.json');
    const options = { encoding: 'utf8', env: { ...process.env, SIGNATURE_VECTORS: vectors } } as const;
    const { stdout, stderr, status } = spawnSync('php', ['-d', 'zend.assertions=1', 'tests/run.php'], {
      ...options,
      cwd: PLUGIN,
    });
    expect([status, stderr]).toEqual([0, '']);
    cases = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Case);
  });

  it('passes every case', () => {
    expect(cases.filter(({ fault }) => fault !== null)).toEqual([]);
    expect(cases.length).toBeGreaterThan(50);
  });
});
