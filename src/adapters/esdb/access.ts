import type { CallOptions, Metadata, ServiceError } from '@grpc/grpc-js';
import {
  ANY,
  BACKWARDS,
  convertToCommandError,
  END,
  ErrorType,
  jsonEvent,
  type EventStoreDBClient,
  type StreamMetadata,
} from '@eventstore/db-client';
import usersGrpc from '@eventstore/db-client/generated/users_grpc_pb.js';
import users from '@eventstore/db-client/generated/users_pb.js';
import type { UsersClient } from '@eventstore/db-client/generated/users_grpc_pb.js';
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
    const set = async (what: string, task: (client: EventStoreDBClient) => Promise<boolean>): Promise<void> => {
      if (await connection.run(`setting the rights of ${what}`, task)) changed.push(what);
    };
    await set(SETTINGS, (client) => setUsual(connection, client, access.usual));
    await set(ALL, (client) => setOf(client, ALL, { readRoles: [...access.wholeLog] }));
    for (const [stream, own] of access.streams) await set(stream, (client) => setOf(client, stream, aclOf(own)));
    for (const user of access.users)
      await connection.run(`setting the user ${user.name}`, (client) => setUser(client, user));
    const ops = { name: OPS, password: access.opsPassword };
    const opsPasswordSet = await connection.run(`setting the password of ${OPS}`, (client) => setPassword(client, ops));
    return { users: access.users.map(({ name }) => name), opsPasswordSet, streams: access.streams.size, changed };
  } finally {
    await connection.close();
  }
}

type Acl = Exclude<NonNullable<StreamMetadata['acl']>, string>;

const aclOf = ({ read, append, delete: remove }: StreamAccess): Acl => ({
  readRoles: [...read, ...ADMINISTRATORS],
  writeRoles: [...append, ...ADMINISTRATORS],
  deleteRoles: [...remove, ...ADMINISTRATORS],
  metaReadRoles: ADMINISTRATORS,
  metaWriteRoles: ADMINISTRATORS,
});

const onServer = ({
  readRoles,
  writeRoles,
  deleteRoles,
  metaReadRoles,
  metaWriteRoles,
}: Acl): Record<string, unknown> => ({
  ...{ $r: readRoles, $w: writeRoles, $d: deleteRoles, $mr: metaReadRoles, $mw: metaWriteRoles },
});

/** The server uses the last event of this stream as the default for streams without rights of their own. */
async function setUsual(connection: EsdbConnection, client: EventStoreDBClient, usual: StreamAccess): Promise<boolean> {
  const nobody = aclOf({ read: [], append: [], delete: [] });
  const data = { $userStreamAcl: onServer(aclOf(usual)), $systemStreamAcl: onServer(nobody) };
  if (isSame(await lastOf(connection, client, SETTINGS), data)) return false;
  await client.appendToStream(SETTINGS, jsonEvent({ type: 'update-default-acl', data }), {
    expectedRevision: ANY,
    requiresLeader: true,
  });
  return true;
}

async function lastOf(connection: EsdbConnection, client: EventStoreDBClient, stream: string): Promise<unknown> {
  try {
    const read = client.readStream(stream, {
      direction: BACKWARDS,
      fromRevision: END,
      maxCount: 1,
      requiresLeader: true,
    });
    const [found] = await connection.collect(read);
    return found?.event?.data ?? null;
  } catch (error) {
    if (isFault(error, ErrorType.STREAM_NOT_FOUND)) return null;
    throw error;
  }
}

async function setOf(client: EventStoreDBClient, stream: string, acl: Acl): Promise<boolean> {
  const { metadata } = await client.getStreamMetadata(stream, { requiresLeader: true });
  if (isSame(metadata?.acl, acl)) return false;
  await client.setStreamMetadata(stream, { ...metadata, acl }, { expectedRevision: ANY, requiresLeader: true });
  return true;
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** Private parts of the driver, which has no API for users. */
interface Calls {
  execute<Value>(
    client: typeof usersGrpc.UsersClient,
    name: string,
    action: (client: UsersClient) => Promise<Value>,
  ): Promise<Value>;
  callArguments(options: { readonly deadline: number }): [Metadata, Partial<CallOptions>];
}

type Done = (error: ServiceError | null) => void;

/** Runs one call of the users' service. */
function call(
  client: EventStoreDBClient,
  send: (users: UsersClient, metadata: Metadata, options: Partial<CallOptions>, done: Done) => void,
): Promise<void> {
  const calls = client as unknown as Calls;
  return calls.execute(usersGrpc.UsersClient, 'users', (service) => {
    const [metadata, options] = calls.callArguments({ deadline: ATTEMPT_MS });
    return new Promise<void>((resolve, reject) =>
      send(service, metadata, options, (error) => (error ? reject(convertToCommandError(error)) : resolve())),
    );
  });
}

/**
 * Creates a user, and sets its password, groups and state whether it is new or not, so that it has no more rights than
 * these. A server may answer like the first time when it creates a user that it has.
 */
async function setUser(client: EventStoreDBClient, user: NamedUser): Promise<void> {
  const { name, password } = user;
  const create = new users.CreateReq();
  create.setOptions(new users.CreateReq.Options().setLoginName(name).setFullName(name).setPassword(password));
  try {
    await call(client, (service, metadata, options, done) => void service.create(create, metadata, options, done));
  } catch (error) {
    if (!isFault(error, ErrorType.USER_CONFLICT)) throw error;
  }
  const update = new users.UpdateReq();
  update.setOptions(new users.UpdateReq.Options().setLoginName(name).setFullName(name).setGroupsList([]));
  await call(client, (service, metadata, options, done) => void service.update(update, metadata, options, done));
  await setPassword(client, user);
  const enable = new users.EnableReq();
  enable.setOptions(new users.EnableReq.Options().setLoginName(name));
  await call(client, (service, metadata, options, done) => void service.enable(enable, metadata, options, done));
}

/** False if there is no such user. */
async function setPassword(client: EventStoreDBClient, { name, password }: NamedUser): Promise<boolean> {
  const reset = new users.ResetPasswordReq();
  reset.setOptions(new users.ResetPasswordReq.Options().setLoginName(name).setNewPassword(password));
  try {
    await call(
      client,
      (service, metadata, options, done) => void service.resetPassword(reset, metadata, options, done),
    );
    return true;
  } catch (error) {
    if (isFault(error, ErrorType.USER_NOT_FOUND)) return false;
    throw error;
  }
}
