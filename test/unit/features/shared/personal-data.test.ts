import { afterEach, beforeEach, expect, test } from 'vitest';
import { nodeRandom } from '../../../../src/adapters/node/random.ts';
import { openSqliteEventStore, type SqliteEventStore } from '../../../../src/adapters/sqlite/event-log/event-store.ts';
import {
  openSqlitePersonalKeys,
  type SqlitePersonalKeys,
} from '../../../../src/adapters/sqlite/event-log/personal-keys.ts';
import type { SessionId } from '../../../../src/domain/values/ids.ts';
import type { CoCommit } from '../../../../src/ports/event-log/event-store.ts';
import { createPersonalSealer, parseMasterKeys } from '../../../../src/runtime/cryptography/sealing.ts';
import { PersonalData } from '../../../../src/features/shared/personal-data.ts';
import { appendOf, FIRST } from '../../../contract/event-store-samples.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

const MASTER_KEY = 'a1b2c3d4e5f60718293a4b5c6d7e8f900112233445566778899aabbccddeeff0';
const ID = 'cs_k7w2q5m4n6p3r7s2t5v4x6y3z7a2b5c4' as SessionId;
let dataDir: string;
let store: SqliteEventStore;
let keys: SqlitePersonalKeys;
let personal: PersonalData;
let streams = 0;

beforeEach(async () => {
  dataDir = temporaryFolder('personal');
  store = await openSqliteEventStore({ dataDir });
  keys = openSqlitePersonalKeys({ dataDir, random: nodeRandom });
  personal = new PersonalData(keys, createPersonalSealer(parseMasterKeys(MASTER_KEY)));
});
afterEach(async () => {
  await keys.close();
  await store.close();
});

/** Stores an event with what rides along. */
const stored = async (sealed: { readonly coCommit?: CoCommit } | null): Promise<void> =>
  void (await store.append(appendOf(`s-${(streams += 1)}`, FIRST, 1, sealed?.coCommit ? [sealed.coCommit] : [])));

test('texts that are sealed at the same time for a session that had none can all be read', async () => {
  const [one, two] = await Promise.all([personal.sealText(ID, 'broken', []), personal.sealText(ID, 'late', [])]);
  await stored(one);
  await stored(two);
  expect(await personal.openText(ID, one!.sealed)).toBe('broken');
  expect(await personal.openText(ID, two!.sealed)).toBe('late');
});

test('a text whose command was refused leaves nothing behind that affects a later one', async () => {
  await personal.sealText(ID, 'refused', []);
  const later = await personal.sealText(ID, 'accepted', []);
  await stored(later);
  expect(await personal.openText(ID, later!.sealed)).toBe('accepted');
});

test('a forgotten session is given no text again, so that what it had is still read as forgotten', async () => {
  const first = await personal.sealNew(ID, { description: 'for Ada' });
  await stored(first);
  await personal.erase(ID);
  expect(await personal.sealText(ID, 'broken', [first!.sealed])).toBeNull();
  expect(await personal.open(ID, first!.sealed)).toBeNull();
});
