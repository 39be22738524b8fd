import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { folderObjects } from '../../../src/adapters/node/folder-objects.ts';
import { nodeRandom } from '../../../src/adapters/node/random.ts';
import { openSqliteEventStore, type SqliteEventStore } from '../../../src/adapters/sqlite/event-log/event-store.ts';
import { openSqlitePersonalKeys } from '../../../src/adapters/sqlite/event-log/personal-keys.ts';
import { runBackupCommand } from '../../../src/backup/commands.ts';
import { LogShipping } from '../../../src/backup/ship-log.ts';
import { authenticationKeys } from '../../../src/settings/sealing-keys.ts';
import { storeFindings } from '../../../src/doctor/store-checks.ts';
import { readConfig } from '../../../src/config.ts';
import { systemClock } from '../../../src/ports/clock.ts';
import { parseMasterKeys } from '../../../src/runtime/cryptography/sealing.ts';
import { Journal } from '../../../src/signer/journal/journal.ts';
import { appendOf, FIRST } from '../../contract/event-store-samples.ts';
import { SHIPPING_KEYS, SHIPPING_MASTER_KEY } from '../../support/shipped-place.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** One of each kind that a place holds. */
const OBJECTS = [
  'shipped.json',
  'end',
  'log/0000000000000001',
  'salts/0000000000000001',
  'journals/payouts-live-1.jsonl/',
  'files/data/operators.json',
  'files/signer/addresses-1.json',
] as const;

let folder: string;
let place: string;
let earlier: string;
const told: string[] = [];

interface Installation {
  readonly store: SqliteEventStore;
  /** Leaves a newer version of every kind of object. */
  goOn(): Promise<void>;
  ship(): Promise<void>;
  close(): Promise<void>;
}

async function installationAt(dataDir: string, to: string, keys = SHIPPING_KEYS): Promise<Installation> {
  const signerDirectory = `${dataDir}-signer`;
  for (const directory of [to, signerDirectory]) mkdirSync(directory, { recursive: true });
  const store = await openSqliteEventStore({ dataDir });
  const salts = openSqlitePersonalKeys({ dataDir, random: nodeRandom });
  const journal = Journal.open(join(signerDirectory, 'payouts-live-1.jsonl'));
  let round = 0;
  const parts = { objects: folderObjects(to), keys, store, dataDir, signerDirectory, everyMs: 5 };
  const log = { info: () => undefined, error: (facts: object) => void told.push(JSON.stringify(facts)) };
  return {
    store,
    goOn: async () => {
      round += 1;
      const { coCommit } = await salts.create(`cs_${round}`);
      await store.append(appendOf(`some-${round}`, FIRST, 1, [coCommit!]));
      journal.append({ kind: 'stopped', by: `ada-${round}` }, round);
      writeFileSync(join(dataDir, 'operators.json'), `{"round":${round}}`);
      writeFileSync(join(signerDirectory, 'addresses-1.json'), `{"round":${round}}`);
    },
    ship: () => new LogShipping({ ...parts, clock: systemClock, log }).close(),
    close: async () => {
      await salts.close();
      await store.close();
      journal.close();
    },
  };
}

const run = (command: string, args: object, env: object = {}): Promise<unknown> =>
  runBackupCommand(
    readConfig({ DATA_DIR: join(folder, 'restored'), MASTER_KEY: SHIPPING_MASTER_KEY, ...env }),
    command,
    { ...args },
  );

async function pathOf(kind: string, of = place): Promise<string> {
  const [name] = await folderObjects(of).list(kind);
  return join(of, name!);
}

async function demandRefused(sentence: RegExp): Promise<void> {
  await expect(run('backup.verify', { folder: place })).rejects.toThrow(sentence);
  await expect(run('backup.restore', { from: place, actor: 'olga' })).rejects.toThrow(sentence);
  expect(existsSync(join(folder, 'restored'))).toBe(false);
}

/** Made once: a place at two times, its data directory, and a place of another installation with the same master key. */
let made: string;
beforeAll(async () => {
  made = temporaryFolder('shipped');
  for (const name of ['own', 'other']) {
    const installation = await installationAt(join(made, `${name}-data`), join(made, name));
    for (const round of [1, 2, 3]) {
      await installation.goOn();
      await installation.ship();
      if (round === 1) cpSync(join(made, name), join(made, `${name}-earlier`), { recursive: true });
    }
    await installation.close();
  }
}, 60_000);

beforeEach(() => {
  told.length = 0;
  folder = temporaryFolder('tampered');
  place = join(folder, 'place');
  earlier = join(made, 'own-earlier');
  cpSync(join(made, 'own'), place, { recursive: true });
});

/** The installation that shipped to the place, started again. */
function startedAgain(keys = SHIPPING_KEYS): Promise<Installation> {
  for (const part of ['', '-signer'])
    cpSync(join(made, `own-data${part}`), join(folder, `data${part}`), { recursive: true });
  rmSync(join(folder, 'data', 'log-shipped-to'));
  return installationAt(join(folder, 'data'), place, keys);
}

describe('a shipped log that somebody tampered with', () => {
  it('is whole before', async () => {
    expect(told).toEqual([]);
    await expect(run('backup.verify', { folder: place })).resolves.toMatchObject({ ok: true, faults: [] });
  });

  it.each(OBJECTS)('is refused by name when one bit of %s was turned', async (kind) => {
    const path = await pathOf(kind);
    const bytes = readFileSync(path);
    // In the middle of the key of a place, which is what the mark says.
    const at = kind === 'shipped.json' ? bytes.indexOf('v1.') + 40 : bytes.length - 2;
    bytes[at]! ^= 1;
    writeFileSync(path, bytes);
    await demandRefused(new RegExp(`${kind}.* (is forged or damaged|does not open|is damaged)`, 's'));
  });

  it.each(OBJECTS.filter((kind) => kind !== 'shipped.json'))('is refused by name when %s was dropped', async (kind) => {
    rmSync(await pathOf(kind));
    await demandRefused(kind === 'end' ? /holds no shipped log \(shipped.json and end\)/ : /objects are missing/);
  });

  it.each(OBJECTS.filter((kind) => kind !== 'shipped.json'))(
    'is refused by name if an old version of %s was restored',
    async (kind) => {
      cpSync(await pathOf(kind, earlier), await pathOf(kind));
      await demandRefused(new RegExp(`${kind.replace(/[0-9]+$/, '')}.*(put an old one back|objects are missing)`));
    },
  );

  it.each(OBJECTS.filter((kind) => kind !== 'shipped.json'))(
    'is refused by name when %s comes from a place of the same master key',
    async (kind) => {
      cpSync(await pathOf(kind, join(made, 'other')), await pathOf(kind));
      await demandRefused(new RegExp(`${kind}.* is forged or damaged`));
    },
  );

  it('is refused when two of its objects changed their places', async () => {
    const [one, two] = [await pathOf('files/data/operators.json'), await pathOf('files/signer/addresses-1.json')];
    const [first, second] = [readFileSync(one), readFileSync(two)];
    writeFileSync(one, second);
    writeFileSync(two, first);
    await demandRefused(/files\/data\/operators.json.* is forged or damaged/);
  });

  it('is refused as a whole when somebody without the key made it', async () => {
    const forger = await installationAt(
      join(folder, 'forger'),
      join(folder, 'forged'),
      authenticationKeys(parseMasterKeys('c3'.repeat(31) + 'd4')),
    );
    await forger.goOn();
    await forger.ship();
    await forger.close();
    rmSync(place, { recursive: true });
    cpSync(join(folder, 'forged'), place, { recursive: true });
    await demandRefused(/shipped.json in .* does not open with MASTER_KEY, so its contents cannot be authenticated/);
  });

  it('is refused without any key to check it by', async () => {
    await expect(run('backup.verify', { folder: place }, { MASTER_KEY: undefined })).rejects.toThrow(
      /API_SECRETS_KEY or MASTER_KEY is missing: the event log, and what is shipped of it, are authenticated under it/,
    );
  });

  it('is found by the doctor, who otherwise says how far it has come', async () => {
    const config = readConfig({
      DATA_DIR: join(folder, 'data'),
      MASTER_KEY: SHIPPING_MASTER_KEY,
      LOG_SHIPPING_TO: place,
    });
    expect(await storeFindings(config)).toMatchObject([
      { state: 'ok', why: expect.stringContaining('3 events are there, the last sent') },
    ]);
    cpSync(await pathOf('end', join(made, 'other')), await pathOf('end'));
    expect(await storeFindings(config)).toMatchObject([
      { state: 'fault', why: expect.stringMatching(/^end in .* is forged or damaged/) },
    ]);
  });

  it('is not continued', async () => {
    cpSync(await pathOf('files/data/operators.json', earlier), await pathOf('files/data/operators.json'));
    const own = await startedAgain();
    await own.goOn();
    await own.ship();
    await own.close();
    expect(told.join()).toMatch(/files\/data\/operators.json.*put an old one back/);
  });

  it('opens with a new key once the service has run with both', async () => {
    const newKey = 'e5'.repeat(31) + 'f6';
    const own = await startedAgain(authenticationKeys(parseMasterKeys(`${newKey},${SHIPPING_MASTER_KEY}`)));
    await own.ship();
    await own.close();
    await expect(run('backup.verify', { folder: place }, { MASTER_KEY: newKey })).resolves.toMatchObject({ ok: true });
    await demandRefused(/shipped.json in .* does not open with MASTER_KEY/);
  });
});
