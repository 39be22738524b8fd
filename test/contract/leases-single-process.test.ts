import { createSingleProcessLeases } from '../../src/adapters/memory/leases.ts';
import { leasesContract } from './leases.contract.ts';

leasesContract('the embedded profile', async () => {
  let nowMs = 1_800_000_000_000;
  const leases = createSingleProcessLeases({ nowMs: () => nowMs });
  return { mine: leases, theirs: leases, pass: async (ms) => void (nowMs += ms), dispose: () => leases.close() };
});
