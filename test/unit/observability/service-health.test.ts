import { expect, it } from 'vitest';
import { chainFacts } from '../../../src/observability/service-health.ts';

const NOW_MS = 1_800_000_000_000;
const facts = (change: object) =>
  chainFacts(
    [
      {
        settings: { mode: 'live', network: 'bsc' },
        watcher: {
          status: () => ({
            ...{ headBlock: 9, scannedBlock: 9, scannedToSec: NOW_MS / 1000 - 1, finalizedBlock: 8, coveredBlock: 8 },
            ...{ trackedDeposits: 0, consecutiveFailures: 0, ...change },
          }),
        },
      },
    ],
    NOW_MS,
  );

it.each([
  ['is read', {}, 'ok', 'read to 1 s ago'],
  ['is read quickly', { readPace: 8 }, 'ok', 'read to 1 s ago'],
  ['is read slower than its blocks', { readPace: 0.9 }, 'degraded', 'read at 0.90 times the pace of its blocks'],
  ['was never read', { scannedToSec: null }, 'degraded', 'nothing read yet'],
])('a network that %s says so', (_, change, state, detail) => {
  expect(facts(change)).toEqual([{ name: 'chain:live:bsc', state, detail: expect.stringContaining(detail) }]);
});
