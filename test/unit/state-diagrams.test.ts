import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { drawnDocuments } from '../../scripts/draw-machines.ts';

it.each(Object.entries(drawnDocuments()))('%s shows the machines as they are', (path, text) => {
  expect(readFileSync(join(import.meta.dirname, '../..', path), 'utf8')).toBe(text);
});
