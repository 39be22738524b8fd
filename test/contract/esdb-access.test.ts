import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ANY, EventStoreDBClient, binaryEvent, START, FORWARDS } from '@eventstore/db-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openEsdbEventStore } from '../../src/adapters/esdb/event-store.ts';
import { openEsdbPersonalKeys } from '../../src/adapters/esdb/personal-keys.ts';
import { nodeRandom } from '../../src/adapters/node/random.ts';
import { FIXED_STREAMS, nameOfUser, STORE_USERS, type StoreUser } from '../../src/composition/commands/store-access.ts';
import { forgetOnServers, setStoreUsers } from '../../src/composition/commands/store-users.ts';
import { productionFaults } from '../../src/settings/production-faults.ts';
import { readConfig } from '../../src/config.ts';
import { forgetSession } from '../../src/operator/merchants/forget.ts';
import { systemClock } from '../../src/ports/clock.ts';
import type { SessionId } from '../../src/domain/values/ids.ts';
import { sessionStream } from '../../src/domain/values/streams.ts';
import { MayNotErase } from '../../src/ports/event-log/personal-keys.ts';
import { EsdbDouble } from '../support/esdb-double/esdb-double.ts';
import { CertificateAuthority } from '../support/certificates.ts';
import { REPOSITORY } from '../support/repository.ts';
import { appendOf, FIRST } from './event-store-samples.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/*
 * What the user of each role may do to an event store with access control, and that `docs/security.md` says so: each
 * cell of its table is tried.
 */

const ADMIN = 'the-administrators-own';
const passwordOf = (user: StoreUser): string => `password-of-the-${user}`;
const directory = temporaryFolder('access');
const authority = new CertificateAuthority();
const clients = new Map<StoreUser | 'admin', EventStoreDBClient>();
const doubles: EsdbDouble[] = [];
let double: EsdbDouble;

const urlOf = (name: string, password: string, { port } = double): string =>
  `esdb://${name}:${password}@localhost:${port}?tls=true&tlsCAFile=${join(directory, 'ca.crt')}`;
const urlOfUser = (user: StoreUser, on = double): string => urlOf(nameOfUser(user), passwordOf(user), on);
const environment = (on = double) => ({
  EVENTSTORE_ADMIN_URL: urlOf('admin', ADMIN, on),
  ...Object.fromEntries(STORE_USERS.map((user) => [`EVENTSTORE_${user.toUpperCase()}_PASSWORD`, passwordOf(user)])),
});
const clientOf = (user: StoreUser | 'admin'): EventStoreDBClient => clients.get(user)!;
/** One call for each append: the driver's batches of several clients get in each other's way. */
const opened = (url: string): EventStoreDBClient =>
  Object.defineProperty(EventStoreDBClient.connectionString(url), 'supports', { value: () => Promise.resolve(false) });
const anEvent = () =>
  binaryEvent({ id: randomUUID(), type: 'Sample', data: new Uint8Array(4), metadata: new Uint8Array(0) });

async function startedServer(): Promise<EsdbDouble> {
  const certificate = authority.issue({ name: 'node', hosts: ['localhost', '127.0.0.1'] });
  const started = await EsdbDouble.start({ secured: { adminPassword: ADMIN, certificate } });
  doubles.push(started);
  await setStoreUsers(environment(started));
  return started;
}

beforeAll(async () => {
  writeFileSync(join(directory, 'ca.crt'), authority.cert);
  double = await startedServer();
  clients.set('admin', opened(urlOf('admin', ADMIN)));
  for (const user of STORE_USERS) clients.set(user, opened(urlOfUser(user)));
});
afterAll(async () => {
  await Promise.all([...clients.values()].map((client) => client.dispose()));
  await Promise.all(doubles.map((each) => each.stop()));
});

/** Whether it was done, on a stream that is there or not; only a right that is missing counts as refused. */
async function may(task: () => Promise<unknown>): Promise<boolean> {
  try {
    await task();
    return true;
  } catch (error) {
    const { type } = error as { readonly type?: string };
    if (type !== 'access-denied' && type !== 'stream-not-found') throw error;
    return type === 'stream-not-found';
  }
}

const ATTEMPTS = {
  read: async (user: StoreUser, stream: string) => {
    for await (const _ of clientOf(user).readStream(stream, { direction: FORWARDS, fromRevision: START, maxCount: 1 }));
  },
  append: (user: StoreUser, stream: string) =>
    clientOf(user).appendToStream(stream, anEvent(), { expectedRevision: ANY }),
  delete: async (user: StoreUser, stream: string) => clientOf(user).deleteStream(stream),
  close: async (user: StoreUser, stream: string) => clientOf(user).tombstoneStream(stream),
  truncate: (user: StoreUser, stream: string) =>
    clientOf(user).setStreamMetadata(stream, { truncateBefore: 1, maxCount: 1 }),
  'give themselves a right': (user: StoreUser, stream: string) =>
    clientOf(user).setStreamMetadata(stream, {
      acl: { deleteRoles: [nameOfUser(user)], writeRoles: [nameOfUser(user)] },
    }),
} as const;

async function readsAll(user: StoreUser): Promise<void> {
  for await (const _ of clientOf(user).readAll({ maxCount: 1 }));
}

describe('the table of docs/security.md on what each user may', () => {
  const [header, , ...rows] = tableAfter('## The users of the event store');
  const columns = header!.slice(1) as StoreUser[];

  it('has a column for every user and a row for every stream', () => {
    expect(columns).toEqual([...STORE_USERS]);
    const named = rows.flatMap(([streams]) => [...streams!.matchAll(/`([^`]+)`/g)].map((match) => match[1]!));
    const known = FIXED_STREAMS.flatMap(({ streams }) => streams);
    for (const stream of known)
      expect(
        named.filter((pattern) => isNamed(stream, pattern)),
        stream,
      ).toHaveLength(1);
  });

  it.each(rows.map((row) => [row[0]!, row] as const))('is right about %s', async (name, row) => {
    const patterns = [...name.matchAll(/`([^`]+)`/g)].map((match) => match[1]!);
    const streams = patterns.flatMap((pattern) => {
      const fixed = FIXED_STREAMS.flatMap((each) => each.streams).filter((stream) => isNamed(stream, pattern));
      return fixed.length > 0 ? fixed : [pattern.replaceAll(/<[^>]+>/g, 'cs_1')];
    });
    const told = async (
      user: StoreUser,
      stream: string,
      what: keyof typeof ATTEMPTS,
      expected: boolean,
    ): Promise<void> =>
      expect({ user, stream, [what]: await may(() => ATTEMPTS[what](user, stream)) }).toEqual({
        user,
        stream,
        [what]: expected,
      });
    const ofUser = async (user: StoreUser, cell: string): Promise<void> => {
      for (const stream of streams) {
        await told(user, stream, 'append', cell.includes('append'));
        await told(user, stream, 'read', cell.includes('read'));
      }
      const never = [
        'truncate',
        'give themselves a right',
        ...(cell.includes('erase') ? [] : (['delete', 'close'] as const)),
      ] as const;
      for (const stream of [streams[0]!, streams.at(-1)!])
        for (const what of never) await told(user, stream, what, false);
    };
    await Promise.all(columns.map((user, index) => ofUser(user, row[index + 1]!)));
    const erasers = columns.filter((_, index) => row[index + 1]!.includes('erase'));
    for (const user of erasers)
      for (const stream of streams) expect(await may(() => ATTEMPTS.close(user, stream))).toBe(true);
  });
});

describe('the users of the event store', () => {
  it('follow the whole log where they may read, and no other', async () => {
    const following = await Promise.all(
      STORE_USERS.map(async (user) => [user, await may(() => readsAll(user))] as const),
    );
    expect(Object.fromEntries(following)).toEqual({
      api: true,
      worker: true,
      signer: true,
      auditor: true,
      eraser: false,
      metrics: false,
    });
  });

  it('cannot make themselves users or administrators, nor change what holds for all', async () => {
    for (const user of STORE_USERS) {
      await expect(setStoreUsers({ ...environment(), EVENTSTORE_ADMIN_URL: urlOfUser(user) })).rejects.toThrow(
        /denies it to the user/,
      );
      for (const stream of ['$settings', '$user-evil', '$users', '$$$settings', '$$$all'])
        expect({ user, stream, done: await may(() => ATTEMPTS.append(user, stream)) }).toMatchObject({ done: false });
    }
  });

  it('are set as often as one likes, and keep no right that somebody added', async () => {
    await clientOf('admin').setStreamMetadata('audit', { acl: { writeRoles: ['quittance-api'] } });
    const report = (await setStoreUsers(environment())) as { changed: string[]; users: string[] };
    expect(report.changed).toEqual(['audit']);
    expect(report.users).toEqual(STORE_USERS.map(nameOfUser));
    expect(await may(() => ATTEMPTS.append('api', 'audit'))).toBe(false);
    expect(await may(() => ATTEMPTS.append('signer', 'audit'))).toBe(true);
  });

  it.each([
    ['the same password', {}],
    ['another password', { password: 'set-by-somebody' }],
  ])('lose groups that somebody added and are enabled again, although they have %s', async (_, change) => {
    const server = await startedServer();
    server.access!.change(nameOfUser('worker'), { groups: ['$admins'], isDisabled: true, ...change });
    await setStoreUsers(environment(server));
    expect(server.access!.user(nameOfUser('worker'))).toEqual({
      ...{ password: passwordOf('worker'), groups: [], isDisabled: false },
    });
  });

  it('leave no user of the server with its published password', async () => {
    const server = await startedServer();
    expect(server.access!.user('ops')!.password).toMatch(/^[0-9a-f]{64}$/);
    const own = { EVENTSTORE_OPS_PASSWORD: 'of-those-who-stop-nodes' };
    expect(await setStoreUsers({ ...environment(server), ...own })).toMatchObject({ opsPasswordSet: true });
    expect(server.access!.user('ops')!.password).toBe('of-those-who-stop-nodes');
    await expect(setStoreUsers({ ...environment(server), EVENTSTORE_OPS_PASSWORD: 'short' })).rejects.toThrow(
      /^EVENTSTORE_OPS_PASSWORD must have at least 16 characters/,
    );
  });

  it('work on while their server restarts and denies them everything for a second', async () => {
    const server = await startedServer();
    const store = await openEsdbEventStore({ connectionString: urlOfUser('api', server) });
    await store.append(appendOf('session-cs_1', FIRST));
    await server.stop();
    const { log, port, access } = server;
    const certificate = authority.issue({ name: 'node', hosts: ['localhost', '127.0.0.1'] });
    doubles.push(
      await EsdbDouble.start({ log, port, access: access!, secured: { adminPassword: ADMIN, certificate } }),
    );
    expect(await store.readStream('session-cs_1')).toHaveLength(1);
    await store.close();
  });

  it('are refused by name of the setting where a password is short, shared, or no user is named', async () => {
    const { EVENTSTORE_ADMIN_URL } = environment();
    await expect(setStoreUsers({})).rejects.toThrow(/^EVENTSTORE_ADMIN_URL is missing/);
    await expect(setStoreUsers({ EVENTSTORE_ADMIN_URL })).rejects.toThrow(/^no user is named/);
    await expect(setStoreUsers({ EVENTSTORE_ADMIN_URL, EVENTSTORE_API_PASSWORD: 'short' })).rejects.toThrow(
      /^EVENTSTORE_API_PASSWORD must have at least 16 characters/,
    );
    const same = { EVENTSTORE_API_PASSWORD: passwordOf('api'), EVENTSTORE_WORKER_PASSWORD: passwordOf('api') };
    await expect(setStoreUsers({ EVENTSTORE_ADMIN_URL, ...same })).rejects.toThrow(
      /^EVENTSTORE_WORKER_PASSWORD is also the password of another user/,
    );
  });

  it('get a clear error for a wrong password', async () => {
    const connectionString = urlOf(nameOfUser('api'), 'not-the-password');
    await expect(openEsdbEventStore({ connectionString })).rejects.toThrow(
      /the event store denies it to the user of its connection string/,
    );
  });
});

describe('erasing the personal data of a session', () => {
  const id = 'cs_k7w2q5m4n6p3r7s2t5v4x6y3z7a2b5c4' as SessionId;

  it('is done by the eraser only, alongside the nodes, and recorded', async () => {
    const server = await startedServer();
    const connectionString = urlOfUser('api', server);
    const [store, keys] = [
      await openEsdbEventStore({ connectionString }),
      openEsdbPersonalKeys({ connectionString, random: nodeRandom }),
    ];
    await store.append(appendOf(sessionStream(id), FIRST, 1));
    await keys.create(id);
    await expect(keys.erase(id)).rejects.toThrow(MayNotErase);
    const parts = { store, clock: systemClock, random: nodeRandom };
    await expect(forgetSession({ ...parts, erase: (each) => keys.erase(each) }, { session_id: id })).rejects.toThrow(
      /^nothing was erased: the user of EVENTSTORE_URL may not, .* EVENTSTORE_ERASER_URL/,
    );
    expect(await keys.get(id)).not.toBeNull();
    const config = readConfig({ EVENTSTORE_URL: connectionString, EVENTSTORE_ERASER_URL: urlOfUser('eraser', server) });
    expect(await forgetOnServers(config, { session_id: id, operator: 'olga' })).toEqual({ id, erased: true });
    expect([await keys.get(id), await keys.create(id)]).toEqual([null, null]);
    const acts = (await store.readStream('operator-acts')).map(
      ({ data }) => JSON.parse(data) as { readonly actor: string },
    );
    expect(acts.at(-1)).toMatchObject({ act: 'session.forget', subject: id, actor: 'olga' });
    expect(await store.readStream(sessionStream(id))).toHaveLength(1);
    await Promise.all([store.close(), keys.close()]);
  });

  it('has no place in a node', () => {
    const env = { EVENTSTORE_ADMIN_URL: 'esdb://admin:secret@store:2113' };
    const faults = productionFaults(readConfig({ EVENTSTORE_ERASER_URL: 'esdb://eraser:secret@store:2113' }), env).join(
      '\n',
    );
    expect(faults).toContain('EVENTSTORE_ERASER_URL must not be set');
    expect(faults).toContain('EVENTSTORE_ADMIN_URL must not be set');
    expect(faults).not.toContain('secret@');
  });
});

const isNamed = (stream: string, pattern: string): boolean =>
  new RegExp(`^${pattern.replaceAll(/<[^>]+>/g, '[a-z-]+')}$`).test(stream) &&
  (pattern.includes('<') || stream === pattern);

/** The cells of the first table after a heading. */
function tableAfter(heading: string): string[][] {
  const text = readFileSync(join(REPOSITORY, 'docs/security.md'), 'utf8');
  const lines = text.slice(text.indexOf(heading)).split('\n');
  const first = lines.findIndex((line) => line.startsWith('|'));
  const end = lines.findIndex((line, index) => index > first && !line.startsWith('|'));
  return lines.slice(first, end).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}
