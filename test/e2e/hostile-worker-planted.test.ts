import { expect, it } from 'vitest';
import { failedOf, runWithout } from '../mutants/run-without.ts';
import { CHEAPEST, SIGNER_MUTANTS } from '../mutants/signer-mutants.ts';

/* `npm run test:signer-plants` puts every hole back. */

it('a hole that is planted in the signer program is found by the tests that name it', async () => {
  const { foundBy } = SIGNER_MUTANTS.find(({ without }) => without === CHEAPEST)!;
  const seen = await runWithout('signer', CHEAPEST, foundBy, ['hostile-worker.test.ts']);
  for (const pattern of foundBy) expect(failedOf(seen, pattern)).toBeGreaterThan(0);
});
