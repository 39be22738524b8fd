import { expect, it } from 'vitest';
import { outageSince } from '../../../../src/features/deposits/network-watcher.ts';

const STATUS = {
  ...{ headBlock: null, scannedBlock: null, scannedToSec: null, finalizedBlock: null, coveredBlock: null },
  ...{ trackedDeposits: 0, consecutiveFailures: 0 },
};

it.each([
  ['before the first look', undefined, null],
  ['while the first look lasts', STATUS, null],
  ['when nothing could be read since the start', { ...STATUS, consecutiveFailures: 3 }, 1_000],
  [
    'when it fails, from the last second that was read',
    { ...STATUS, consecutiveFailures: 3, scannedToSec: 5_000 },
    5_000,
  ],
  ['when it is read', { ...STATUS, scannedToSec: 5_050 }, null],
  ['when it makes no blocks', { ...STATUS, scannedToSec: 4_900 }, 4_900],
])('a network is out of order %s', (_, status, since) => {
  expect(outageSince(status, 5_060, 1_000)).toBe(since);
});
