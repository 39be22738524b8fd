import { randomUUID } from 'node:crypto';
import type { EsdbClient } from './client/client.ts';
import { EsdbConnection } from './connection.ts';
import { isFault } from './faults.ts';

/** Rights on a stream, by user names. The server's administrators may do everything. */
export interface StreamAccess {
  readonly read: readonly string[];
  readonly append: readonly string[];
  readonly delete: readonly string[];
}

export interface StoreAccess {
  /** For every stream without rights of its own. */
  readonly usual: StreamAccess;
  /** By the stream's name on the server. */
  readonly streams: ReadonlyMap<string, StreamAccess>;
  /** Users who may read and follow the whole log. */
  readonly wholeLog: readonly string[];
  /** Users without any group. Those that exist are set to this, too. */
  readonly users: readonly NamedUser[];
  /** Password for the server's own user `ops`, whose published one stops nodes. */
  readonly opsPassword: string;
}

interface NamedUser {
  readonly name: string;
  readonly password: string;
}

export interface AccessReport {
  /** Each has the given password and no group, and is enabled. */
  readonly users: readonly string[];
  /** False on a server without that user. */
  readonly opsPasswordSet: boolean;
  readonly streams: number;
  readonly changed: readonly string[];
}

const ATTEMPT_MS = 10_000;
const TOTAL_MS = 60_000;
const SETTINGS = '$settings';
const ALL = '$all';
const ADMINISTRATORS = ['$admins'];
const OPS = 'ops';

/**
 * Sets users and rights on an EventStoreDB or KurrentDB server through its own access control lists. Rights are set
 * first, so that no new user ever has more. Only administrators may write metadata (which could grant further rights)
 * or truncate. May be repeated.
 */
export async function setStoreAccess(connectionString: string, access: StoreAccess): Promise<AccessReport> {
  const connection = new EsdbConnection(connectionString, { attemptMs: ATTEMPT_MS, totalMs: TOTAL_MS });
  try {
    const changed: string[] = [];
    const set = async (what: string, task: (client: EsdbClient) => Promise<boolean>): Promise<void> => {
      if (await connection.run(`setting the rights of ${what}`, task)) changed.push(what);
    };
    await set(SETTINGS, (client) => setUsual(connection, client, access.usual));
    await set(ALL, (client) => setOf(connection, client, ALL, { $r: access.wholeLog }));
    for (const [stream, own] of access.streams)
      await set(stream, (client) => setOf(connection, client, stream, aclOf(own)));
    for (const user of access.users)
      await connection.run(`setting the user ${user.name}`, (client) => setUser(client, user));
    const ops = { name: OPS, password: access.opsPassword };
    const opsPasswordSet = await connection.run(`setting the password of ${OPS}`, (client) => setPassword(client, ops));
    return { users: access.users.map(({ name }) => name), opsPasswordSet, streams: access.streams.size, changed };
  } finally {
    await connection.close();
  }
}

/** Who may read, write and delete a stream, and read and write its metadata, as the server names it. */
type Acl = Readonly<Partial<Record<'$r' | '$w' | '$d' | '$mr' | '$mw', readonly string[]>>>;

const aclOf = ({ read, append, delete: remove }: StreamAccess): Acl => ({
  $r: [...read, ...ADMINISTRATORS],
  $w: [...append, ...ADMINISTRATORS],
  $d: [...remove, ...ADMINISTRATORS],
  $mr: ADMINISTRATORS,
  $mw: ADMINISTRATORS,
});

/** The server uses the last event of this stream as the default for streams without rights of their own. */
async function setUsual(connection: EsdbConnection, client: EsdbClient, usual: StreamAccess): Promise<boolean> {
  const nobody = aclOf({ read: [], append: [], delete: [] });
  const data = { $userStreamAcl: aclOf(usual), $systemStreamAcl: nobody };
  if (isSame(await lastOf(connection, client, SETTINGS), data)) return false;
  await write(client, SETTINGS, 'update-default-acl', data);
  return true;
}

/** In a stream's own metadata, the rest of which stays. */
async function setOf(connection: EsdbConnection, client: EsdbClient, stream: string, acl: Acl): Promise<boolean> {
  const metadata = await lastOf(connection, client, `$$${stream}`);
  if (isSame(metadata['$acl'], acl)) return false;
  await write(client, `$$${stream}`, '$metadata', { ...metadata, $acl: acl });
  return true;
}

/** The content of the stream's last event; nothing for none. */
async function lastOf(
  connection: EsdbConnection,
  client: EsdbClient,
  stream: string,
): Promise<Readonly<Record<string, unknown>>> {
  const [last] = await connection.collect(client, { stream, from: 'end', backwards: true, count: 1 });
  const content: unknown = last ? JSON.parse(Buffer.from(last.data).toString('utf8')) : {};
  if (typeof content !== 'object' || content === null) throw new TypeError(`stream ${stream} ends with no object`);
  return { ...content };
}

const write = (client: EsdbClient, stream: string, type: string, content: unknown): Promise<unknown> =>
  client.append({
    stream,
    expected: 'any',
    events: [
      {
        id: randomUUID(),
        type,
        isJson: true,
        data: Buffer.from(JSON.stringify(content)),
        metadata: new Uint8Array(0),
      },
    ],
    deadlineMs: ATTEMPT_MS,
  });

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/**
 * Creates a user, and sets its password, groups and state whether it is new or not, so that it has no more rights than
 * these. A server may answer like the first time when it creates a user that it has.
 */
async function setUser(client: EsdbClient, user: NamedUser): Promise<void> {
  const { name, password } = user;
  try {
    await client.ofUsers({ method: 'Create', name, password }, ATTEMPT_MS);
  } catch (error) {
    if (!isFault(error, 'user-exists')) throw error;
  }
  await client.ofUsers({ method: 'Update', name }, ATTEMPT_MS);
  await setPassword(client, user);
  await client.ofUsers({ method: 'Enable', name }, ATTEMPT_MS);
}

/** False if there is no such user. */
async function setPassword(client: EsdbClient, { name, password }: NamedUser): Promise<boolean> {
  try {
    await client.ofUsers({ method: 'ResetPassword', name, password }, ATTEMPT_MS);
    return true;
  } catch (error) {
    if (isFault(error, 'no-such-user')) return false;
    throw error;
  }
}
