import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { CoCommit } from '../../src/ports/event-log/event-store.ts';
import type { Nonces } from '../../src/ports/event-log/nonces.ts';

export interface OpenedNonces {
  readonly nonces: Nonces;
  /** Opens the same nonces as a new process would at this time; the old ones are closed first. */
  restart(nowSec: number): Promise<Nonces>;
  /** Appends something that carries the coCommit, as a command does. */
  commit(coCommit: CoCommit): Promise<void>;
  dispose(): Promise<void>;
}

const NOW = 1_800_000_000;

/** What every `Nonces` must do. `open` gives empty ones to each test, at the time 1,800,000,000. */
export function noncesContract(name: string, open: (nowSec: number) => Promise<OpenedNonces>): void {
  describe(`${name} as used nonces`, () => {
    let opened: OpenedNonces;
    let nonces: Nonces;
    beforeEach(async () => {
      opened = await open(NOW);
      nonces = opened.nonces;
    });
    afterEach(() => opened.dispose());

    const burn = async (
      key: string,
      nonce: string,
      nowSec = NOW,
      durable: 'now' | 'with-command' = 'now',
    ): Promise<boolean> => (await nonces.burn(key, nonce, nowSec, durable)).accepted;

    test('a nonce is accepted once', async () => {
      expect(await burn('key_a', 'n-1')).toBe(true);
      expect(await burn('key_a', 'n-1')).toBe(false);
      expect(await burn('key_a', 'n-2')).toBe(true);
    });

    test('a nonce belongs to its key: another key may use the same, and no two pairs are confused', async () => {
      expect(await burn('key_a', 'n-1')).toBe(true);
      expect(await burn('key_b', 'n-1')).toBe(true);
      expect(await burn('key_an', '-1')).toBe(true);
      expect(await burn('key_', 'an-1')).toBe(true);
    });

    test('of a hundred burns of one nonce at once exactly one is accepted', async () => {
      for (const durable of ['now', 'with-command'] as const) {
        const answers = await Promise.all(
          Array.from({ length: 100 }, () => burn('key_a', `many-${durable}`, NOW, durable)),
        );
        expect(answers.filter(Boolean)).toHaveLength(1);
      }
    });

    test('a nonce is remembered for 600 seconds and then forgotten', async () => {
      expect(await burn('key_a', 'n-1')).toBe(true);
      expect(await burn('key_a', 'n-1', NOW + 299)).toBe(false);
      expect(await burn('key_a', 'n-1', NOW + 600)).toBe(false);
      expect(await burn('key_a', 'n-1', NOW + 601)).toBe(true);
      expect(await burn('key_a', 'n-1', NOW + 700)).toBe(false);
    });

    test('a burnt nonce survives a restart, until its time is over', async () => {
      await burn('key_a', 'n-1');
      nonces = await opened.restart(NOW + 100);
      expect(await burn('key_a', 'n-1', NOW + 100)).toBe(false);
      expect(await burn('key_a', 'n-2', NOW + 100)).toBe(true);
      nonces = await opened.restart(NOW + 601);
      expect(await burn('key_a', 'n-1', NOW + 601)).toBe(true);
      expect(await burn('key_a', 'n-2', NOW + 601)).toBe(false);
    });

    test("a command's nonce survives a restart once its events are stored, or once it was settled", async () => {
      const stored = await nonces.burn('key_a', 'stored', NOW, 'with-command');
      if (stored.coCommit) await opened.commit(stored.coCommit);
      await nonces.burn('key_a', 'settled', NOW, 'with-command');
      await nonces.settle('key_a', 'settled', NOW);
      nonces = await opened.restart(NOW + 5);
      expect(await burn('key_a', 'stored', NOW + 5)).toBe(false);
      expect(await burn('key_a', 'settled', NOW + 5)).toBe(false);
    });

    test('any sequence of burns and restarts accepts what a plain list of (key, nonce, time) accepts', async () => {
      const step = fc.record({
        key: fc.constantFrom('a', 'b'),
        nonce: fc.nat(3),
        wait: fc.constantFrom(0, 0, 1, 59, 60, 300, 601),
        restart: fc.nat(9),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
          const fresh = await open(NOW);
          try {
            let current = fresh.nonces;
            let nowSec = NOW;
            const usedAt = new Map<string, number>();
            for (const { key, nonce, wait, restart } of steps) {
              nowSec += wait;
              if (restart === 0) current = await fresh.restart(nowSec);
              const pair = `${key}/${nonce}`;
              const expected = nowSec - (usedAt.get(pair) ?? 0) > 600;
              expect((await current.burn(key, `n-${nonce}`, nowSec, 'now')).accepted).toBe(expected);
              if (expected) usedAt.set(pair, nowSec);
            }
          } finally {
            await fresh.dispose();
          }
        }),
        { numRuns: 15 },
      );
    }, 60_000);
  });
}
