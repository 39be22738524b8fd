import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { CrashWorld } from '../crash/crash-world.ts';

const FOLDER = join(import.meta.dirname, '../crash');
const planted = (bug: string): Record<string, string> => ({ PLANT: bug, NODE_OPTIONS: `--import ${join(FOLDER, 'plant.mjs')}` });

/** A part of `npm run test:crash`, which kills at every point on every network. */
describe('a refund whose process is killed', () => {
  it('is paid exactly once, wherever it was, also when it is killed again while it recovers', async () => {
    const world = await CrashWorld.create('ethereum');
    try {
      for (const points of [
        ['after-reserve'],
        ['signer-after-journal', 'after-sign'],
        ['after-signed-event', 'before-broadcast'],
        ['after-broadcast', 'before-landed-event'],
      ]) {
        expect(await world.through('refund', points)).toMatchObject({ reached: points, transfers: 1, violation: null });
      }
    } finally {
      await world.remove();
    }
  });
});

describe('the crash tests', () => {
  it.each([
    ['record-after-send', 'after-broadcast'],
    ['new-transaction-on-retry', 'before-broadcast'],
  ])('find the planted bug %s', async (bug, point) => {
    const world = await CrashWorld.create('tron', planted(bug));
    try {
      const outcome = await world.through('refund', [point]);
      expect(outcome.transfers).toBe(2);
      expect(outcome.violation).toBe('2 transfers');
    } finally {
      await world.remove();
    }
  });

  it('find nothing when the process alone signs anew, since the signer does not', async () => {
    const world = await CrashWorld.create('tron', planted('new-transaction-on-retry-in-the-process-only'));
    try {
      expect(await world.through('refund', ['before-broadcast'])).toMatchObject({ transfers: 1, violation: null });
    } finally {
      await world.remove();
    }
  });

  it.each([
    ['cap-by-wall-clock', ['a clock that is set back frees no cap']],
    ['no-journal', ['a signer that starts anew remembers what it signed']],
    ['', []],
  ])('find the planted bug %s in the signer', async (bug, broken) => {
    const { stdout } = await promisify(execFile)(process.execPath, [join(FOLDER, 'signer-scenarios.ts')], {
      env: { ...process.env, ...(bug ? planted(bug) : {}) },
    });
    expect(JSON.parse(stdout)).toEqual(broken);
  });
});
