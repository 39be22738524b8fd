import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { folderObjects } from '../../../src/adapters/node/folder-objects.ts';
import { nodeRandom } from '../../../src/adapters/node/random.ts';
import { s3Objects } from '../../../src/adapters/s3/s3-objects.ts';
import { openSqliteEventStore, type SqliteEventStore } from '../../../src/adapters/sqlite/event-log/event-store.ts';
import { openSqlitePersonalKeys } from '../../../src/adapters/sqlite/event-log/personal-keys.ts';
import { LogShipping } from '../../../src/backup/ship-log.ts';
import { systemClock } from '../../../src/ports/clock.ts';
import type { ObjectStore } from '../../../src/ports/event-log/object-store.ts';
import { appendOf, FIRST } from '../../contract/event-store-samples.ts';
import { S3_KEYS, startS3Server, type S3Server } from '../../support/s3-server.ts';
import { runOnPlace, SHIPPING_KEYS } from '../../support/shipped-place.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

let folder: string;
let dataDir: string;
let place: string;
let store: SqliteEventStore;
let server: S3Server;
let nowMs: number;
const started = new Set<LogShipping>();
const told: string[] = [];

function startShipping(objects: ObjectStore, of = store, dir = dataDir): LogShipping {
  const parts = { objects, keys: SHIPPING_KEYS, store: of, dataDir: dir, signerDirectory: `${dir}-signer`, everyMs: 5 };
  const clock = { ...systemClock, nowMs: () => nowMs };
  const shipping = new LogShipping({
    ...parts,
    clock,
    log: { info: () => undefined, error: (facts) => void told.push(JSON.stringify(facts)) },
  });
  shipping.start();
  started.add(shipping);
  return shipping;
}

async function stop(shipping: LogShipping): Promise<void> {
  started.delete(shipping);
  await shipping.close();
}

const run = (command: string, args: object, env: object = {}, dir = join(folder, 'restored')) =>
  runOnPlace(command, args, { DATA_DIR: dir, ...env });

const settled = async (shipping: LogShipping, detail: string | RegExp): Promise<void> =>
  expect.poll(() => shipping.health()[0]!.detail, { timeout: 5_000 }).toMatch(detail);

const bucket = (): ObjectStore =>
  s3Objects({ endpoint: server.url, bucket: 'payments', prefix: 'shop/', credentials: S3_KEYS });
const bucketEnv = (): object => ({
  ...{ LOG_SHIPPING_S3_ENDPOINT: server.url, LOG_SHIPPING_S3_REGION: S3_KEYS.region },
  ...{ LOG_SHIPPING_S3_ACCESS_KEY_ID: S3_KEYS.accessKeyId, LOG_SHIPPING_S3_SECRET_ACCESS_KEY: S3_KEYS.secretAccessKey },
});

beforeEach(async () => {
  folder = temporaryFolder('shipping');
  dataDir = join(folder, 'data');
  place = join(folder, 'place');
  mkdirSync(place);
  told.length = 0;
  nowMs = Date.now();
  store = await openSqliteEventStore({ dataDir });
  server = await startS3Server('payments');
});
afterEach(async () => {
  for (const shipping of started) await stop(shipping);
  await store.close();
  await server.close();
});

describe('a log shipping destination', () => {
  it.each([
    ['folder', () => folderObjects(place), () => place],
    ['bucket', bucket, () => 's3://payments/shop'],
  ])(
    'in a %s is written by one service alone: one that was thought dead replaces nothing of the one that was restored',
    async (_, objects, from) => {
      await store.append(appendOf('some-1', FIRST, 3));
      const first = startShipping(objects());
      await settled(first, /^3 events/);
      await run('backup.restore', { from: from(), actor: 'olga' }, bucketEnv());
      const restored = await openSqliteEventStore({ dataDir: join(folder, 'restored') });
      await restored.append(appendOf('paid-1', FIRST, 1));
      const second = startShipping(objects(), restored, join(folder, 'restored'));
      await settled(second, /^5 events/);

      await store.append(appendOf('late-1', FIRST, 1));
      await settled(first, /newer, or of another installation/);
      expect(told.join()).toMatch(/another service ships to the same place/);
      await restored.append(appendOf('paid-2', FIRST, 1));
      await settled(second, /^6 events/);
      expect(await run('backup.verify', { folder: from() }, bucketEnv())).toMatchObject({ ok: true, events: 6 });
      await stop(second);
      await restored.close();
    },
  );

  it('continues after requests that were executed but not confirmed', async () => {
    await store.append(appendOf('some-1', FIRST, 3));
    const shipping = startShipping(bucket());
    await settled(shipping, /^3 events/);
    server.losesAnswers = true;
    await store.append(appendOf('some-2', FIRST, 2));
    // Told, not read of its health: the next round finds what was carried out, and all is well again.
    await expect.poll(() => told.join()).toMatch(/did not answer PUT/);
    server.losesAnswers = false;
    await settled(shipping, /^5 events/);
    expect(await run('backup.verify', { folder: 's3://payments/shop' }, bucketEnv())).toMatchObject({
      ok: true,
      events: 5,
    });
  });

  it('whose mount is gone receives nothing, even after a restart, until it is back', async () => {
    await store.append(appendOf('some-1', FIRST, 3));
    const shipping = startShipping(folderObjects(place));
    await settled(shipping, /^3 events/);
    renameSync(place, `${place}-unmounted`);
    mkdirSync(place);
    await store.append(appendOf('some-2', FIRST, 1));
    await settled(shipping, /was emptied, or is not mounted/);
    await stop(shipping);
    const again = startShipping(folderObjects(place));
    await settled(again, /was emptied, or is not mounted/);
    expect(await folderObjects(place).list('')).toEqual([]);
    rmSync(place, { recursive: true });
    renameSync(`${place}-unmounted`, place);
    await settled(again, /^4 events/);
  });

  it.each(['salts/', 'log/'])(
    'that lost an object below %s cannot be restored from, and says so within the hour',
    async (prefix) => {
      const keys = openSqlitePersonalKeys({ dataDir, random: nodeRandom });
      const { coCommit } = await keys.create('cs_one');
      await store.append(appendOf('some-1', FIRST, 3, [coCommit!]));
      const shipping = startShipping(folderObjects(place));
      await settled(shipping, /^4 events|^3 events/);
      const [name] = await folderObjects(place).list(prefix);
      const lost = readFileSync(join(place, name!));
      rmSync(join(place, name!));
      await expect(run('backup.verify', { folder: place })).rejects.toThrow(/objects are missing/);
      await expect(run('backup.restore', { from: place, actor: 'olga' })).rejects.toThrow(/objects are missing/);
      nowMs += 3_600_001;
      await settled(shipping, /objects are missing/);
      writeFileSync(join(place, name!), lost);
      await settled(shipping, / events are in /);
      expect(await run('backup.verify', { folder: place })).toMatchObject({ ok: true });
      await keys.close();
    },
  );

  it('receives the salts that are created after a restore, even if earlier ones were erased', async () => {
    const keys = openSqlitePersonalKeys({ dataDir, random: nodeRandom });
    for (const subject of ['cs_one', 'cs_two', 'cs_three'])
      await keys.create(subject).then(({ coCommit }) => store.append(appendOf(subject, FIRST, 1, [coCommit!])));
    await keys.erase('cs_one');
    await stop(startShipping(folderObjects(place)));
    await keys.close();
    const dir = join(folder, 'restored');
    await run('backup.restore', { from: place, actor: 'olga' });
    const restored = await openSqliteEventStore({ dataDir: dir });
    const newKeys = openSqlitePersonalKeys({ dataDir: dir, random: nodeRandom });
    const { salt, coCommit } = await newKeys.create('cs_four');
    await restored.append(appendOf('of-four', FIRST, 1, [coCommit!]));
    await stop(startShipping(folderObjects(place), restored, dir));
    await newKeys.close();
    await restored.close();
    await run('backup.restore', { from: place, actor: 'olga' }, {}, `${dir}-again`);
    const last = openSqlitePersonalKeys({ dataDir: `${dir}-again`, random: nodeRandom });
    expect(Buffer.from((await last.get('cs_four'))!)).toEqual(Buffer.from(salt));
    await last.close();
  });

  it('can be restored where the first shipment was cut short behind a page', async () => {
    for (let stream = 0; stream < 6; stream += 1) await store.append(appendOf(`some-${stream}`, FIRST, 250));
    let pages = 0;
    const objects = folderObjects(place);
    const cut = (name: string): boolean => name.startsWith('log/') && (pages += 1) > 1;
    startShipping({
      ...objects,
      put: (name, bytes) => (cut(name) ? Promise.reject(new Error('cut')) : objects.put(name, bytes)),
    });
    await expect.poll(() => pages).toBeGreaterThan(1);
    expect(await run('backup.verify', { folder: place })).toMatchObject({ ok: true, events: 1_000 });
  });
});
