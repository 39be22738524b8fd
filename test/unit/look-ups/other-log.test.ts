import { existsSync, mkdirSync, readFileSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { forgetOtherLog, type NotedLog, type OtherLogDeps } from '../../../src/look-ups/other-log.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

let dataDir: string;
let first: string | null;
let noteFile: string;

beforeEach(() => {
  dataDir = temporaryFolder('other-log');
  noteFile = join(dataDir, 'read-model.log');
  first = null;
});

const opened = (): Promise<NotedLog> => {
  const store = {
    readAll: async () => (first === null ? [] : [{ id: first }]),
    head: async () => null,
  } as unknown as OtherLogDeps['store'];
  return forgetOtherLog({
    dataDir,
    store,
    log: { kind: 'servers', connectionString: 'esdb://127.0.0.1', namespace: '' },
  });
};
const noteOf = async (log: NotedLog): Promise<string | null> => {
  log.taken();
  await log.noted();
  return existsSync(noteFile) ? readFileSync(noteFile, 'utf8') : null;
};

describe('the note of the log from which look-ups were built', () => {
  it('is written once the log has an event, and not before', async () => {
    const log = await opened();
    expect(await noteOf(log)).toBeNull();
    first = 'evt_1';
    expect(await noteOf(log)).toBe('evt_1');
  });

  it('is written with the next events if it could not be written before, which ends nothing', async () => {
    const log = await opened();
    first = 'evt_1';
    mkdirSync(noteFile);
    log.taken();
    await expect(log.noted()).resolves.toBeUndefined();
    rmdirSync(noteFile);
    expect(await noteOf(log)).toBe('evt_1');
  });
});
