import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { Mailboxes } from '../../../../src/runtime/commands/mailboxes.ts';

const keep =
  (value: string) =>
  async (box: { value: string | null }): Promise<string | null> => {
    const before = box.value;
    box.value = value;
    return before;
  };

describe('mailboxes', () => {
  it('keep the values of the most recently used keys, up to the limit', async () => {
    const boxes = new Mailboxes<string>(10);
    for (let key = 0; key < 100; key++) await boxes.run(`key-${key}`, keep('kept'));
    const kept = Array.from({ length: 100 }, (_, key) => boxes.peek(`key-${key}`) !== null);
    expect(kept.filter(Boolean).length).toBeLessThanOrEqual(10);
    expect(kept.slice(-5)).toEqual([true, true, true, true, true]);
  });

  it('keep a frequently used value, whatever comes in between', async () => {
    const boxes = new Mailboxes<string>(10);
    await boxes.run('often', keep('kept'));
    for (let key = 0; key < 100; key++) {
      await boxes.run(`key-${key}`, keep('passing'));
      if (key % 4 === 0) expect(await boxes.run('often', keep('kept'))).toBe('kept');
    }
  });

  it('forget a null at once', async () => {
    const boxes = new Mailboxes<string>(4);
    await boxes.run('a', keep('kept'));
    await boxes.run('a', async (box) => void (box.value = null));
    expect(await boxes.run('a', keep('new'))).toBeNull();
  });

  it('never run two tasks of one key at a time, among hundreds of others', async () => {
    const boxes = new Mailboxes<string>(4);
    const order: string[] = [];
    let finish = (): void => undefined;
    const slow = boxes.run('a', async (box) => {
      order.push('first begins');
      await new Promise<void>((resolve) => (finish = resolve));
      box.value = 'left by the first';
      order.push('first ends');
    });
    for (let key = 0; key < 300; key++) await boxes.run(`key-${key}`, keep('passing'));
    const next = boxes.run('a', async (box) => void order.push(`second finds what was ${box.value}`));
    await nextTurn();
    finish();
    await Promise.all([slow, next]);
    expect(order).toEqual(['first begins', 'first ends', 'second finds what was left by the first']);
  });

  it('continue after a failed task', async () => {
    const boxes = new Mailboxes<string>(4);
    const failed = boxes.run('a', async () => Promise.reject(new Error('no')));
    const next = boxes.run('a', keep('kept'));
    await expect(failed).rejects.toThrow('no');
    expect(await next).toBeNull();
  });
});
