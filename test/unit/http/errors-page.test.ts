import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { errorsPage } from '../../../src/http/openapi/errors-page.ts';

it('docs/errors.md says what the error table says', () => {
  expect(readFileSync(new URL('../../../docs/errors.md', import.meta.url), 'utf8')).toBe(errorsPage());
});
