import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PLANTS } from '../crash/plants.ts';

const ROOT = join(import.meta.dirname, '../..');

/* A planted bug that does not fit its source finds nothing, and is noticed late: the crash tests are slow. */
describe('each planted bug', () => {
  it.each(Object.entries(PLANTS))('%s fits the sources, which run with it', (_, changes) => {
    const directory = mkdtempSync(join(tmpdir(), 'crash-plants-'));
    try {
      for (const file of new Set(changes.map((change) => change.file))) {
        let source = readFileSync(join(ROOT, file), 'utf8');
        for (const { from, to } of changes.filter((change) => change.file === file)) {
          expect(source).toContain(from);
          source = source.replace(from, to);
        }
        const planted = join(directory, 'planted.mjs');
        writeFileSync(planted, stripTypeScriptTypes(source));
        execFileSync(process.execPath, ['--check', planted], { stdio: 'pipe' });
      }
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });
});
