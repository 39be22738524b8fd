import { statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SqliteDeliveryAnswers } from '../../../../src/adapters/sqlite/delivery-answers.ts';
import type { NotificationId } from '../../../../src/domain/values/ids.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

const ID = 'evt_1' as NotificationId;
const DAY_MS = 86_400_000;
let dataDir: string;
let nowMs: number;
let answers: SqliteDeliveryAnswers;
const open = (): SqliteDeliveryAnswers => new SqliteDeliveryAnswers({ dataDir, nowMs: () => nowMs });

beforeEach(() => {
  dataDir = temporaryFolder('answers');
  nowMs = 1_800_000_000_000;
  answers = open();
});
afterEach(() => answers.close());

describe('the responses of receivers', () => {
  it('are kept byte for byte, by attempt, over a restart', async () => {
    const bytes = Uint8Array.from([0, 255, 27, 10]);
    answers.keep({ notificationId: ID, attempt: 1, atMs: nowMs, body: bytes });
    answers.keep({ notificationId: ID, attempt: 2, atMs: nowMs, body: new Uint8Array(4_096) });
    answers.keep({ notificationId: 'evt_2' as NotificationId, attempt: 1, atMs: nowMs, body: bytes });
    await answers.close();
    answers = open();
    const found = await answers.of(ID);
    expect([...found.keys()]).toEqual([1, 2]);
    expect(new Uint8Array(found.get(1)!)).toEqual(bytes);
  });

  it('are gone after their lifetime, from sight and from the file', async () => {
    answers.keep({ notificationId: ID, attempt: 1, atMs: nowMs, body: Uint8Array.from([1]) });
    nowMs += 31 * DAY_MS;
    expect((await answers.of(ID)).size).toBe(0);
    await answers.close();
    nowMs -= 31 * DAY_MS;
    answers = open();
    expect((await answers.of(ID)).size).toBe(0);
  });

  it('that cannot be written affect no delivery, and later ones are kept', async () => {
    const other = new DatabaseSync(join(dataDir, 'delivery-answers.db'));
    other.exec(
      "CREATE TRIGGER no_room BEFORE INSERT ON answers BEGIN SELECT RAISE(ABORT, 'as if the disk were full'); END",
    );
    const keep = (attempt: number): void =>
      answers.keep({ notificationId: ID, attempt, atMs: nowMs, body: Uint8Array.from([1]) });
    for (let attempt = 1; attempt <= 1_100; attempt += 1) keep(attempt);
    // The rest is written after a moment, with nobody to tell of a failure.
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect((await answers.of(ID)).size).toBe(0);
    other.exec('DROP TRIGGER no_room');
    other.close();
    keep(1_101);
    expect([...(await answers.of(ID)).keys()]).toEqual([1_101]);
  });

  it('are readable to nobody else on the machine', async () => {
    answers.keep({ notificationId: ID, attempt: 1, atMs: nowMs, body: Uint8Array.from([1]) });
    expect(statSync(join(dataDir, 'delivery-answers.db')).mode & 0o077).toBe(0);
  });
});
