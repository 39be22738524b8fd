import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CLOCK_TOLERANCE_MS, ClockCheck, type BlockTime } from '../../src/runtime/util/clock-check.ts';
import { runsOf } from '../support/runs.ts';

const NOW_MS = 1_800_000_000_000;
const ROUND_TRIP_MS = 200;
/** Beyond the tolerance and everything that a `Date` header cuts off. */
const WRONG_MS = CLOCK_TOLERANCE_MS + 5_000;

/** The true time goes on by itself; ours is off by `off.ms`, which may change at any moment. */
function world() {
  let trueMs = NOW_MS;
  const off = { ms: 0 };
  const blocks: BlockTime[] = [];
  const check = new ClockCheck({ nowMs: () => trueMs + off.ms }, () => trueMs - NOW_MS);
  check.watchBlocks(() => blocks);
  return {
    check,
    off,
    pass: (ms: number) => void (trueMs += ms),
    /** As a header has it: whole seconds, half a round trip ago. */
    hears: (source: string, wrongByMs = 0) =>
      check.heard(source, Math.floor((trueMs + wrongByMs - ROUND_TRIP_MS / 2) / 1000) * 1000, ROUND_TRIP_MS),
    sees: (source: string, ageSec = 0) => {
      blocks.splice(blocks.findIndex((block) => block.source === source) >>> 0, 1);
      blocks.push({ source, timeSec: Math.floor(trueMs / 1000) - ageSec });
    },
  };
}

const skew = fc.integer({ min: WRONG_MS, max: 86_400_000 }).chain((ms) => fc.constantFrom(ms, -ms));
const honest = fc.integer({ min: 1, max: 6 });

describe('the clock', () => {
  it('is in doubt for every skew beyond the tolerance, whichever few lie in its favour', () => {
    fc.assert(
      fc.property(skew, honest, fc.integer({ min: 0, max: 5 }), (ms, servers, liars) => {
        fc.pre(liars < servers);
        const { check, off, hears } = world();
        off.ms = ms;
        for (let i = 0; i < servers; i += 1) hears(`server-${i}`);
        for (let i = 0; i < liars; i += 1) hears(`liar-${i}`, ms);
        expect(check.verdict().isInDoubt).toBe(true);
      }),
      { numRuns: runsOf(100) },
    );
  });

  it('is trusted while it is right, whatever a minority says and however old the blocks are', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -20_000, max: 20_000 }),
        honest,
        skew,
        fc.integer({ min: 0, max: 100_000 }),
        (ms, servers, lie, ageSec) => {
          const { check, off, hears, sees, pass } = world();
          off.ms = ms;
          for (let i = 0; i < servers; i += 1) hears(`server-${i}`);
          for (let i = 0; i < servers - 1; i += 1) hears(`liar-${i}`, lie);
          sees('chain:live:bsc', ageSec);
          pass(60_000);
          expect(check.verdict().isInDoubt).toBe(false);
        },
      ),
      { numRuns: runsOf(100) },
    );
  });

  it('that jumps is in doubt at once, before any new response, and trusted at once when it jumps back', () => {
    fc.assert(
      fc.property(skew, honest, fc.integer({ min: 0, max: 500_000 }), (ms, servers, laterMs) => {
        const { check, off, hears, pass } = world();
        for (let i = 0; i < servers; i += 1) hears(`server-${i}`);
        pass(laterMs);
        expect(check.isInDoubt).toBe(false);
        off.ms = ms;
        expect(check.isInDoubt).toBe(true);
        off.ms = 0;
        expect(check.isInDoubt).toBe(false);
      }),
      { numRuns: runsOf(100) },
    );
  });
});

describe('blocks', () => {
  it('from the future say that the clock is slow, and none says that it is fast', () => {
    const { check, off, sees } = world();
    sees('chain:live:tron');
    sees('chain:live:bsc');
    off.ms = -7_200_000;
    expect(check.isInDoubt).toBe(true);
    off.ms = 7_200_000;
    expect(check.isInDoubt).toBe(false);
  });
});

describe('a witness', () => {
  it('that is silent for ten minutes no longer counts', () => {
    const { check, off, hears, pass } = world();
    hears('server');
    off.ms = WRONG_MS;
    pass(599_000);
    expect(check.isInDoubt).toBe(true);
    pass(2_000);
    expect(check.verdict()).toEqual({ isInDoubt: false, offsetMs: null, witnesses: [] });
  });

  it('on this machine can only contradict: it shares our clock', () => {
    const { check, off, hears } = world();
    off.ms = WRONG_MS;
    hears('127.0.0.1:8545', WRONG_MS);
    hears('localhost:1', WRONG_MS);
    hears('server');
    expect(check.verdict()).toMatchObject({ isInDoubt: true, witnesses: [{ source: 'server' }] });
  });

  it('that responds slowly, or without a time, is ignored', () => {
    const { check } = world();
    check.heard('slow', NOW_MS + 7_200_000, 6_000);
    check.heard('without', NaN, 10);
    expect(check.verdict().witnesses).toEqual([]);
  });
});
