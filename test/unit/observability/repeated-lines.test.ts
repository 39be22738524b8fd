import { describe, expect, it } from 'vitest';
import { createLogger, onLogLine } from '../../../src/observability/logger.ts';
import { RepeatedLines } from '../../../src/observability/repeated-lines.ts';

describe('the log lines of an outage', () => {
  it('are bounded for each thing that they are of, whatever their number', () => {
    let nowMs = 0;
    const lines = new RepeatedLines(() => nowMs);
    const told: (number | null)[] = [];
    // Ten minutes without Redis: a try to get each of twelve leases every second, and a connection that comes and goes
    // every two.
    for (; nowMs < 600_000; nowMs += 1_000) {
      for (let lease = 0; lease < 12; lease += 1)
        told.push(lines.take('a lease cannot be requested', { lease, err: new Error(String(nowMs)) }));
      if (nowMs % 2_000 === 0)
        told.push(lines.take('the connection to Redis has a fault', { err: new Error('ECONNREFUSED') }));
    }
    const written = told.filter((withheld) => withheld !== null);
    expect(told.length).toBe(7_500);
    expect(written.length).toBe(13 * (5 + 9));
    // What was left out is counted, but for what the last minute still holds.
    expect(written.reduce((sum, withheld) => sum + withheld, 0)).toBeGreaterThan(6_000);
  });

  it('are logged again at once when the outage had ended in between, or for anything else', () => {
    let nowMs = 0;
    const lines = new RepeatedLines(() => nowMs);
    const tell = (session: string): number | null => lines.take('a refund waits', { session });
    expect(Array.from({ length: 7 }, () => tell('cs_1'))).toEqual([0, 0, 0, 0, 0, null, null]);
    expect(tell('cs_2')).toBe(0);
    nowMs = 60_000;
    expect(tell('cs_1')).toBe(2);
    expect(tell('cs_1')).toBeNull();
  });

  it('are left to the logger where their facts lead in a circle', () => {
    const facts: Record<string, unknown> = {};
    facts['itself'] = facts;
    const lines = new RepeatedLines();
    expect(Array.from({ length: 9 }, () => lines.take('round', facts))).toEqual(Array.from({ length: 9 }, () => 0));
  });

  it('are counted all the same, and errors are never left out', () => {
    const printed: string[] = [];
    const log = createLogger('info', { write: (line) => void printed.push(line) });
    let counted = 0;
    onLogLine(log, () => (counted += 1));
    for (let line = 0; line < 20; line += 1) log.warn({ provider: 'one', attempt: line }, 'it does not answer');
    for (let line = 0; line < 20; line += 1) log.error({ provider: 'one' }, 'it is wrong');
    expect(counted).toBe(40);
    expect(printed.filter((line) => line.includes('it does not answer'))).toHaveLength(5);
    expect(printed.filter((line) => line.includes('it is wrong'))).toHaveLength(20);
  });
});
