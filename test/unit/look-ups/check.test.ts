import { expect, it } from 'vitest';
import { lookUpProof } from '../../../src/look-ups/check.ts';

const MINUTE_MS = 60_000;

it('proofs of a look-up take at most a twentieth of the time, however often they are requested', async () => {
  let [nowMs, spentMs] = [0, 0];
  const comparison = {
    compare: async () => {
      nowMs += 10 * MINUTE_MS;
      spentMs += 10 * MINUTE_MS;
      return [];
    },
  };
  const prove = lookUpProof(comparison, 'ledger', () => nowMs);
  const asked: boolean[] = [];
  const beganMs = nowMs;
  while (nowMs < 100 * 60 * MINUTE_MS) {
    asked.push(await prove());
    nowMs += MINUTE_MS;
  }
  expect(asked[0]).toBe(true);
  expect(spentMs / (nowMs - beganMs)).toBeGreaterThan(0.045);
  // The first one may use what an hour would have saved.
  expect(spentMs).toBeLessThanOrEqual(0.05 * (nowMs - beganMs) + 13 * MINUTE_MS);
});

it('a look-up that differs from the event log is no proof', async () => {
  const drifted = { projection: 'ledger@1', through: '7', rows: 9, differing: 3, digest: 'a', replayed: 'b' };
  const prove = lookUpProof({ compare: async () => [{ ...drifted, examples: [] }] }, 'ledger');
  await expect(prove()).rejects.toThrow('3 rows of ledger@1 differ from the event log');
});
