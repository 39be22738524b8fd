import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { CrashWorld } from '../crash/crash-world.ts';
import { planted } from '../crash/plants.ts';

const SCENARIOS = join(import.meta.dirname, '../crash/signer-scenarios.ts');

/** A part of `npm run test:crash`, which kills at every point on every network, and plants more bugs. */
describe('a refund whose process is killed', () => {
  it('is paid exactly once, wherever it was, also when it is killed again while it recovers', async () => {
    const world = await CrashWorld.create('ethereum');
    try {
      for (const points of [
        ['after-reserve', 'signer-after-journal', 'after-signed-event'],
        ['after-broadcast', 'before-landed-event'],
      ]) {
        expect(await world.through('refund', points)).toMatchObject({ reached: points, transfers: 1, violation: null });
      }
    } finally {
      await world.remove();
    }
    // Seven starts of the service, one after the other.
  }, 480_000);
});

describe('the crash tests', () => {
  it('find the planted bug record-after-send', async () => {
    const world = await CrashWorld.create('tron', planted('record-after-send'));
    try {
      expect(await world.through('refund', ['after-broadcast'])).toMatchObject({
        transfers: 2,
        violation: '2 transfers',
      });
    } finally {
      await world.remove();
    }
  });

  it.each([
    ['cap-by-wall-clock', ['a clock that is set back frees no cap']],
    ['no-journal', ['a signer that starts anew remembers what it signed']],
    ['', []],
  ])('find the planted bug %s in the signer', async (bug, broken) => {
    const { stdout } = await promisify(execFile)(process.execPath, [SCENARIOS], {
      env: { ...process.env, ...(bug ? planted(bug) : {}) },
    });
    expect(JSON.parse(stdout)).toEqual(broken);
  });
});
