import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { drawnDocuments } from '../../../scripts/draw-machines.ts';
import { REPOSITORY } from '../../support/repository.ts';

it.each(Object.entries(drawnDocuments()))('%s shows the machines as they are', (path, text) => {
  expect(readFileSync(join(REPOSITORY, path), 'utf8')).toBe(text);
});
