import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Settlements, type Batch } from '../../../../src/features/webhooks/settlements.ts';

describe('how far the log was handled', () => {
  it('passes events without notifications at once', () => {
    const settlements = new Settlements(null, () => undefined);
    settlements.begin('1', 0);
    settlements.begin('2', 0);
    expect(settlements.position).toBe('2');
  });

  it('waits for the oldest notification, and then skips all that are settled', () => {
    let moves = 0;
    const settlements = new Settlements('0', () => (moves += 1));
    const first = settlements.begin('1', 2);
    const second = settlements.begin('2', 1);
    settlements.begin('3', 0);
    settlements.settle(second);
    settlements.settle(first);
    expect([settlements.position, moves, settlements.unsettled]).toEqual(['0', 0, 1]);
    settlements.settle(first);
    expect([settlements.position, moves, settlements.unsettled]).toEqual(['3', 1, 0]);
  });

  it('makes new events wait until there is room', async () => {
    const settlements = new Settlements(null, () => undefined);
    const batch = settlements.begin('1', 3);
    let isOver = false;
    const waiting = settlements.below(2).then(() => (isOver = true));
    settlements.settle(batch);
    await Promise.resolve();
    expect(isOver).toBe(false);
    settlements.settle(batch);
    await waiting;
    expect(isOver).toBe(true);
  });

  it('never passes an unsettled notification, whatever the order of settling', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(3), { minLength: 1, maxLength: 20 }), fc.infiniteStream(fc.nat()), (sizes, picks) => {
        const settlements = new Settlements('0', () => undefined);
        const batches = sizes.map((size, index): Batch => settlements.begin(String(index + 1), size));
        const open = batches.flatMap((batch) => Array<Batch>(batch.unsettled).fill(batch));
        const expected = (): string => {
          const first = batches.findIndex((batch) => batch.unsettled > 0);
          return String(first < 0 ? batches.length : first);
        };
        expect(settlements.position).toBe(expected());
        while (open.length > 0) {
          settlements.settle(open.splice((picks.next().value as number) % open.length, 1)[0]!);
          expect(settlements.position).toBe(expected());
        }
      }),
    );
  });
});
