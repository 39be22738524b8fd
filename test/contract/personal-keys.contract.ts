import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { CoCommit } from '../../src/ports/event-log/event-store.ts';
import type { PersonalKeys } from '../../src/ports/event-log/personal-keys.ts';

export interface OpenedPersonalKeys {
  readonly keys: PersonalKeys;
  /** Appends something that carries the coCommit; answers whether it was accepted. */
  commit(coCommit: CoCommit, accepted?: boolean): Promise<void>;
  /** Opens the same keys as a new process would. */
  restart(): Promise<PersonalKeys>;
  dispose(): Promise<void>;
}

/** What every `PersonalKeys` must do. `open` gives empty ones to each test. */
export function personalKeysContract(name: string, open: () => Promise<OpenedPersonalKeys>): void {
  describe(`${name} as personal keys`, () => {
    let opened: OpenedPersonalKeys;
    let keys: PersonalKeys;
    beforeEach(async () => {
      opened = await open();
      keys = opened.keys;
    });
    afterEach(() => opened.dispose());

    async function make(subject: string): Promise<Uint8Array> {
      const { salt, coCommit } = (await keys.create(subject))!;
      if (coCommit) await opened.commit(coCommit);
      return salt;
    }

    test('every subject gets its own 256-bit salt', async () => {
      const salts = [await make('session-a'), await make('session-b')];
      expect(salts.map(({ length }) => length)).toEqual([32, 32]);
      expect(salts[0]).not.toEqual(salts[1]);
      expect(await keys.get('session-a')).toEqual(new Uint8Array(salts[0]!));
      expect(await keys.get('session-b')).toEqual(new Uint8Array(salts[1]!));
    });

    test('a subject that was never there has no salt', async () => {
      await make('session-a');
      expect(await keys.get('session-b')).toBeNull();
    });

    test('a salt survives a restart', async () => {
      const salt = await make('session-a');
      keys = await opened.restart();
      expect(await keys.get('session-a')).toEqual(new Uint8Array(salt));
    });

    test('an erased salt is gone, also after a restart, and no other is touched', async () => {
      await make('session-a');
      const kept = await make('session-b');
      await keys.erase('session-a');
      expect(await keys.get('session-a')).toBeNull();
      keys = await opened.restart();
      expect(await keys.get('session-a')).toBeNull();
      expect(await keys.get('session-b')).toEqual(new Uint8Array(kept));
    });

    test('erasing what is not there changes nothing', async () => {
      const salt = await make('session-a');
      await keys.erase('session-b');
      await keys.erase('session-b');
      expect(await keys.get('session-a')).toEqual(new Uint8Array(salt));
    });
  });
}
