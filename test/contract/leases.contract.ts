import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Leases } from '../../src/ports/leases.ts';

export interface OpenedLeases {
  /** One for each process that wants to hold; the same one where only one process is possible. */
  readonly mine: Leases;
  readonly theirs: Leases;
  /** Lets at least this much of the leases' time go by. */
  pass(ms: number): Promise<void>;
  dispose(): Promise<void>;
}

/** What every `Leases` must do. */
export function leasesContract(name: string, open: () => Promise<OpenedLeases>): void {
  describe(`${name} as leases`, () => {
    let opened: OpenedLeases;
    beforeEach(async () => void (opened = await open()));
    afterEach(() => opened.dispose());

    test('one holds a name at a time, and others hold other names', async () => {
      expect(await opened.mine.acquire('watch-bsc', 60_000)).toMatchObject({ name: 'watch-bsc' });
      expect(await opened.theirs.acquire('watch-bsc', 60_000)).toBeNull();
      expect(await opened.mine.acquire('watch-bsc', 60_000)).toBeNull();
      expect(await opened.theirs.acquire('watch-tron', 60_000)).toMatchObject({ name: 'watch-tron' });
    });

    test('of many who ask at once exactly one is granted', async () => {
      const asked = Array.from({ length: 40 }, (_, index) =>
        (index % 2 === 0 ? opened.mine : opened.theirs).acquire('one', 60_000),
      );
      expect((await Promise.all(asked)).filter((lease) => lease !== null)).toHaveLength(1);
    });

    test('a released name is granted again, with a higher token', async () => {
      const first = (await opened.mine.acquire('one', 60_000))!;
      await first.release();
      const second = (await opened.theirs.acquire('one', 60_000))!;
      expect(second.token).toBeGreaterThan(first.token);
    });

    test('a lease that ran out goes to the next, and its old holder can neither renew nor release it', async () => {
      const first = (await opened.mine.acquire('one', 40))!;
      await opened.pass(60);
      const second = (await opened.theirs.acquire('one', 60_000))!;
      expect(second.token).toBeGreaterThan(first.token);
      expect(await first.renew()).toBe(false);
      await first.release();
      expect(await opened.mine.acquire('one', 60_000)).toBeNull();
      expect(await second.renew()).toBe(true);
    });

    test('a lease that ran out is lost even when nobody took it', async () => {
      const lease = (await opened.mine.acquire('one', 40))!;
      await opened.pass(60);
      expect(await lease.renew()).toBe(false);
    });

    test('a renewed lease outlives its first time', async () => {
      const lease = (await opened.mine.acquire('one', 2_000))!;
      for (let round = 0; round < 3; round += 1) {
        await opened.pass(700);
        expect(await lease.renew()).toBe(true);
      }
      expect(await opened.theirs.acquire('one', 60_000)).toBeNull();
    });
  });
}
