import { rmSync } from 'node:fs';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { createIntervalClock, type BlockClock } from '../../../../src/sandbox/tron-facade/block-clock.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

const PACE = { busyMs: 150, idleMs: 1_000, busyBlocks: 40 };
const BUSY_FOR_MS = PACE.busyMs * PACE.busyBlocks;
const START_MS = 1_700_000_000_000;
const folders: string[] = [];
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

function world() {
  const directory = temporaryFolder('block-clock');
  folders.push(directory);
  let now = START_MS;
  return {
    pass: (ms: number): void => void (now += ms),
    start: (): BlockClock => createIntervalClock(directory, PACE, () => now),
    nowMs: () => now,
  };
}

/** Blocks made in that time. */
function madeIn(clock: BlockClock, pass: (ms: number) => void, ms: number): number {
  const before = clock.head();
  pass(ms);
  return clock.head() - before;
}

describe('the clock of the TRON sandbox', () => {
  it('has two blocks at once, since tronweb cannot refer to block 0', () => expect(world().start().head()).toBe(1));

  it('is quick at first and slows down when nothing happens', () => {
    const { pass, start } = world();
    const clock = start();
    expect(madeIn(clock, pass, 3_000)).toBe(20);
    pass(BUSY_FOR_MS);
    expect(madeIn(clock, pass, 20_000)).toBe(20);
  });

  it('is quick from a transaction on until it is final with room to spare, however long it was idle', () => {
    const { pass, start } = world();
    const clock = start();
    pass(3_600_000);
    clock.head();
    clock.hurry();
    expect(madeIn(clock, pass, BUSY_FOR_MS)).toBe(PACE.busyBlocks);
    expect(madeIn(clock, pass, 20_000)).toBe(20);
  });

  it('stays fast as long as transactions come', () => {
    const { pass, start } = world();
    const clock = start();
    for (let round = 0; round < 20; round += 1) {
      clock.hurry();
      expect(madeIn(clock, pass, 3_000)).toBe(20);
    }
  });

  it('never removes a block, changes its date, or makes one in the future, across transactions, pauses, ends and kills', () => {
    const step = fc.oneof(
      fc.record({
        kind: fc.constant('pass' as const),
        ms: fc.oneof(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 0, max: 30_000 })),
      }),
      fc.record({ kind: fc.constant('hurry' as const) }),
      fc.record({ kind: fc.constant('restart' as const) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const { pass, start, nowMs } = world();
        let clock = start();
        const shown = new Map<number, number>();
        let highest = 0;
        for (const now of steps) {
          if (now.kind === 'pass') pass(now.ms);
          else if (now.kind === 'hurry') clock.hurry();
          else clock = start();
          const head = clock.head();
          expect(head).toBeGreaterThanOrEqual(highest);
          // A restart goes on behind what was reserved, at most two seconds ahead.
          expect(clock.timeMsOf(head)).toBeLessThanOrEqual(nowMs() + 4_000);
          for (const [number, timeMs] of shown) expect(clock.timeMsOf(number)).toBe(timeMs);
          for (let number = Math.max(highest, head - 5); number <= head; number += 1)
            shown.set(number, clock.timeMsOf(number));
          const times = [...shown].sort(([a], [b]) => a - b).map(([, timeMs]) => timeMs);
          expect(times).toEqual([...times].sort((a, b) => a - b));
          highest = head;
        }
      }),
    );
  });
});
