import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { folderObjects } from '../../../src/adapters/node/folder-objects.ts';
import { nodeRandom } from '../../../src/adapters/node/random.ts';
import { openSqliteEventStore, type SqliteEventStore } from '../../../src/adapters/sqlite/event-log/event-store.ts';
import { openSqlitePersonalKeys } from '../../../src/adapters/sqlite/event-log/personal-keys.ts';
import { LogShipping } from '../../../src/backup/ship-log.ts';
import { shippedLines } from '../../../src/backup/shipped-lines.ts';
import { shippingFaults, shippingPlace } from '../../../src/backup/shipping-place.ts';
import { readConfig } from '../../../src/config.ts';
import { recordAct } from '../../../src/operator/server/acts.ts';
import type { ObjectStore } from '../../../src/ports/event-log/object-store.ts';
import { systemClock } from '../../../src/ports/clock.ts';
import { AuditKey } from '../../../src/signer/audit/key.ts';
import { AuditSigner } from '../../../src/signer/audit/signer.ts';
import { Journal } from '../../../src/signer/journal/journal.ts';
import { appendOf, FIRST } from '../../contract/event-store-samples.ts';
import { appendRandomHistory, signNow } from '../../support/audited-log.ts';
import { S3_KEYS, startS3Server } from '../../support/s3-server.ts';
import { openedPlace, runOnPlace, SHIPPING_KEYS } from '../../support/shipped-place.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

let folder: string;
let dataDir: string;
let place: string;
let store: SqliteEventStore;
const told: string[] = [];
const log = {
  info: (_: object, line: string) => void told.push(line),
  error: (facts: object) => void told.push(JSON.stringify(facts)),
};

const shippingTo = (objects: ObjectStore, of = store, dir = dataDir): LogShipping =>
  new LogShipping({
    objects,
    keys: SHIPPING_KEYS,
    store: of,
    dataDir: dir,
    signerDirectory: `${dir}-signer`,
    everyMs: 5,
    clock: systemClock,
    log,
  });

/** Everything there is, once. */
async function shipAll(objects: ObjectStore = folderObjects(place)): Promise<LogShipping> {
  const shipping = shippingTo(objects);
  await shipping.close();
  return shipping;
}

const run = (command: string, args: object, env: object = {}, dir = join(folder, 'restored')) =>
  runOnPlace(command, args, { DATA_DIR: dir, ...env });

const eventsOf = async (of: SqliteEventStore): Promise<unknown[]> => of.readAll({ after: null, limit: 100_000 });

beforeEach(async () => {
  told.length = 0;
  folder = temporaryFolder('shipping');
  dataDir = join(folder, 'data');
  place = join(folder, 'place');
  mkdirSync(place);
  store = await openSqliteEventStore({ dataDir });
});
afterEach(() => store.close());

describe('a shipped log', () => {
  it('is restored event for event, with salts, journal and checkpoints', async () => {
    await appendRandomHistory(store);
    const keys = openSqlitePersonalKeys({ dataDir, random: nodeRandom });
    const { salt, coCommit } = await keys.create('cs_kept');
    await store.append(appendOf('kept-1', FIRST, 1, [coCommit!]));
    await signNow(store, dataDir, AuditSigner.open(`${dataDir}-signer`, new AuditKey(Buffer.alloc(64, 7))));
    const journal = Journal.open(join(`${dataDir}-signer`, 'payouts-live-1.jsonl'));
    journal.append({ kind: 'stopped', by: 'ada' }, 1);
    const shipping = shippingTo(folderObjects(place));
    shipping.start();
    await expect.poll(() => shipping.ageSec(), { timeout: 10_000 }).toBe(0);
    journal.append({ kind: 'stopped', by: 'ben' }, 2);
    await store.append(appendOf('later-1', FIRST, 2));
    await expect.poll(() => shipping.ageSec(), { timeout: 10_000 }).toBe(0);
    await shipping.close();
    expect(shipping.health()).toMatchObject([{ state: 'ok' }]);
    const shipped = await eventsOf(store);

    const report = await run('backup.verify', { folder: place });
    expect(report).toMatchObject({ ok: true, events: shipped.length, faults: [] });
    const restored = await run('backup.restore', { from: place, actor: 'olga' });
    expect(restored).toMatchObject({ data_dir: join(folder, 'restored') });
    const copy = await openSqliteEventStore({ dataDir: join(folder, 'restored') });
    const copied = await eventsOf(copy);
    expect(copied.slice(0, -1)).toEqual(shipped);
    expect(copied.at(-1)).toMatchObject({ type: 'EventLogRestored' });
    const salts = openSqlitePersonalKeys({ dataDir: join(folder, 'restored'), random: nodeRandom });
    expect(Buffer.from((await salts.get('cs_kept'))!)).toEqual(Buffer.from(salt));
    await salts.close();
    const file = (dir: string): string => readFileSync(join(`${dir}-signer`, 'payouts-live-1.jsonl'), 'utf8');
    // It is stopped, since it may lack what was signed in the last seconds.
    expect(file(join(folder, 'restored')).startsWith(file(dataDir))).toBe(true);
    expect(file(join(folder, 'restored')).slice(file(dataDir).length)).toMatch(
      /^\{"seq":3,.*"kind":"stopped","by":"olga".*\}\n$/,
    );
    // What was restored goes on being shipped to the same place.
    await shippingTo(folderObjects(place), copy, join(folder, 'restored')).close();
    expect(await run('backup.verify', { folder: place })).toMatchObject({ ok: true, events: copied.length });
    await copy.close();
    await keys.close();
    journal.close();
  });

  it('goes to a bucket and comes back from it', async () => {
    const server = await startS3Server('payments');
    const env = {
      LOG_SHIPPING_TO: 's3://payments/shop',
      LOG_SHIPPING_S3_ENDPOINT: server.url,
      LOG_SHIPPING_S3_REGION: S3_KEYS.region,
      LOG_SHIPPING_S3_ACCESS_KEY_ID: S3_KEYS.accessKeyId,
      LOG_SHIPPING_S3_SECRET_ACCESS_KEY: S3_KEYS.secretAccessKey,
    };
    await store.append(appendOf('some-1', FIRST, 40));
    const shipping = shippingTo(shippingPlace(readConfig(env))!);
    server.isDown = true;
    shipping.start();
    await expect.poll(() => shipping.health()[0]!.detail, { timeout: 10_000 }).toMatch(/answered 503 SlowDown/);
    expect(await shipping.ageSec()).toBeGreaterThanOrEqual(0);
    server.isDown = false;
    await expect.poll(() => shipping.health()[0]!.state, { timeout: 10_000 }).toBe('ok');
    await expect.poll(() => shipping.ageSec(), { timeout: 10_000 }).toBe(0);
    expect(told).toContain('the event log is shipped again');
    await shipping.close();
    const restored = await run('backup.restore', { from: 's3://payments/shop', actor: 'olga' }, env);
    expect(restored).toMatchObject({ backup: { ok: true, events: (await eventsOf(store)).length } });
    await server.close();
  });

  it('holds no salt of a person who was forgotten, also where it was shipped before', async () => {
    const keys = openSqlitePersonalKeys({ dataDir, random: nodeRandom });
    const salts = new Map<string, string>();
    for (const subject of ['cs_one', 'cs_two', 'cs_three']) {
      const { salt, coCommit } = await keys.create(subject);
      salts.set(subject, Buffer.from(salt).toString('base64'));
      await store.append(appendOf(`of-${subject}`, FIRST, 1, [coCommit!]));
    }
    await shipAll();
    const saltsIn = async (): Promise<string> => {
      let text = '';
      for await (const lines of shippedLines(openedPlace(place), 'salts/'))
        text += lines.map((line) => line.text).join('\n');
      return text;
    };
    expect(await saltsIn()).toContain(salts.get('cs_three'));
    await recordAct({ store, clock: systemClock, random: nodeRandom }, 'session.forget', 'cs_three', { actor: 'olga' });
    await keys.erase('cs_three');
    await shipAll();
    expect(await saltsIn()).not.toContain(salts.get('cs_three'));
    const { coCommit } = await keys.create('cs_four');
    await store.append(appendOf('of-cs_four', FIRST, 1, [coCommit!]));
    await shipAll();
    expect(await saltsIn()).toMatch(/cs_one[^]*cs_two[^]*cs_four/);
    await keys.close();
  });

  it('is not continued by a different event log, or an older one', async () => {
    await store.append(appendOf('some-1', FIRST, 40));
    await shipAll();
    const other = await openSqliteEventStore({ dataDir: join(folder, 'other') });
    await other.append(appendOf('other-1', FIRST, 3));
    const shipping = shippingTo(folderObjects(place), other, join(folder, 'other'));
    await shipping.close();
    await other.close();
    expect(shipping.health()).toMatchObject([
      { state: 'degraded', detail: expect.stringContaining('newer, or of another installation') },
    ]);
    expect(told.join()).toContain('Restore from there, or set LOG_SHIPPING_TO to another destination');
    expect(await run('backup.verify', { folder: place })).toMatchObject({
      ok: true,
      events: (await eventsOf(store)).length,
    });
  });

  it('is not started among other things', async () => {
    writeFileSync(join(place, 'holiday.jpg'), 'x');
    expect((await shipAll()).health()).toMatchObject([
      { state: 'degraded', detail: expect.stringContaining('the destination has other contents') },
    ]);
  });

  it('can be restored wherever shipping stopped, and never with a journal that is older than the event log', async () => {
    const keys = openSqlitePersonalKeys({ dataDir, random: nodeRandom });
    const journal = Journal.open((mkdirSync(`${dataDir}-signer`), join(`${dataDir}-signer`, 'payouts-live-1.jsonl')));
    await store.append(appendOf('before-1', FIRST, 1));
    await shipAll();
    const { coCommit } = await keys.create('cs_one');
    journal.append({ kind: 'stopped', by: 'ada' }, 1);
    await store.append(appendOf('signed-1', FIRST, 1, [coCommit!]));
    const outcomes: string[] = [];
    for (let allowed = 0; allowed <= 4; allowed += 1) {
      const copy = `${place}-${allowed}`;
      cpSync(place, copy, { recursive: true });
      let left = allowed;
      const objects = folderObjects(copy);
      const cut: ObjectStore = {
        ...objects,
        put: (name, bytes) => ((left -= 1) < 0 ? Promise.reject(new Error('cut')) : objects.put(name, bytes)),
      };
      await shipAll(cut);
      const dir = join(folder, `restored-${allowed}`);
      await run('backup.restore', { from: copy, actor: 'olga' }, {}, dir);
      const restored = await openSqliteEventStore({ dataDir: dir });
      const hasEvent = (await restored.readStream('signed-1')).length > 0;
      await restored.close();
      const salts = openSqlitePersonalKeys({ dataDir: dir, random: nodeRandom });
      const hasSalt = (await salts.get('cs_one')) !== null;
      await salts.close();
      const names = await objects.list('journals/');
      outcomes.push(`${names.length} ${String(hasSalt)} ${String(hasEvent)}`);
    }
    expect(outcomes).toEqual(['0 false false', '1 false false', '1 true false', '1 true true', '1 true true']);
    await keys.close();
    journal.close();
  });
});

describe('LOG_SHIPPING_TO', () => {
  it.each([
    [{ LOG_SHIPPING_TO: 'somewhere' }, 'LOG_SHIPPING_TO must be an absolute path or s3://bucket/prefix'],
    [{ LOG_SHIPPING_TO: '/srv/data/copy' }, 'LOG_SHIPPING_TO must be outside DATA_DIR, ideally on another machine'],
    [{ LOG_SHIPPING_TO: 's3://Bad_Bucket' }, expect.stringContaining('LOG_SHIPPING_TO must be s3://bucket/prefix')],
    [
      { LOG_SHIPPING_TO: 's3://good/x', LOG_SHIPPING_S3_ACCESS_KEY_ID: 'A' },
      expect.stringContaining('LOG_SHIPPING_S3_SECRET_ACCESS_KEY is missing'),
    ],
    [
      { LOG_SHIPPING_TO: 's3://good/x', LOG_SHIPPING_S3_ENDPOINT: 'http://127.evil.example' },
      expect.stringContaining('ENDPOINT must be https'),
    ],
    [
      { LOG_SHIPPING_TO: '/srv/copy', EVENTSTORE_URL: 'esdb://x' },
      expect.stringContaining('LOG_SHIPPING_TO is for the embedded store'),
    ],
  ])('%j is refused with a sentence', async (env, sentence) => {
    expect(shippingFaults(readConfig({ DATA_DIR: '/srv/data', ...env }))).toEqual([sentence]);
  });
});
