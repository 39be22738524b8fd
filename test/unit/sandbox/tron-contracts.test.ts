import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { REPOSITORY } from '../../support/repository.ts';

const FOLDER = join(REPOSITORY, 'src', 'sandbox', 'tron-facade', 'contracts');

describe('the contracts of the TRON sandbox', () => {
  it('are what the pinned compiler makes of their source', async () => {
    const { compile } = (await import(join(FOLDER, 'compile.mjs'))) as { compile: () => string };
    expect(JSON.parse(readFileSync(join(FOLDER, 'sandbox-trc20.json'), 'utf8'))).toEqual(JSON.parse(compile()));
  });
});
