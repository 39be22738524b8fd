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
  readonly users: readonly { readonly name: string; readonly password: string }[];
}

export interface AccessReport {
  readonly users: readonly {
    readonly name: string;
    readonly state: 'made' | 'was there: password and groups set anew';
  }[];
  readonly streams: number;
  readonly changed: readonly string[];
}

const ATTEMPT_MS = 10_000;
const TOTAL_MS = 60_000;
const SETTINGS = '$settings';
const ALL = '$all';
const ADMINISTRATORS = ['$admins'];

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
    await set(SETTINGS, (client) => setUsual(client, access.usual));
    await set(ALL, (client) => setOf(client, ALL, { readRoles: [...access.wholeLog] }));
    for (const [stream, own] of access.streams) await set(stream, (client) => setOf(client, stream, aclOf(own)));
    const made: AccessReport['users'][number][] = [];
    for (const user of access.users) {
      const isNew = await connection.run(`making the user ${user.name}`, (client) => makeUser(client, user));
      made.push({ name: user.name, state: isNew ? 'made' : 'was there: password and groups set anew' });
    }
    return { users: made, streams: access.streams.size, changed };
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
async function setUsual(client: EventStoreDBClient, usual: StreamAccess): Promise<boolean> {
  const nobody = aclOf({ read: [], append: [], delete: [] });
  const data = { $userStreamAcl: onServer(aclOf(usual)), $systemStreamAcl: onServer(nobody) };
  if (isSame(await lastOf(client, SETTINGS), data)) return false;
  await client.appendToStream(SETTINGS, jsonEvent({ type: 'update-default-acl', data }), {
    expectedRevision: ANY,
    requiresLeader: true,
  });
  return true;
}

async function lastOf(client: EventStoreDBClient, stream: string): Promise<unknown> {
  try {
    const read = client.readStream(stream, {
      direction: BACKWARDS,
      fromRevision: END,
      maxCount: 1,
      requiresLeader: true,
    });
    for await (const { event } of read) return event?.data;
    return null;
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

/**
 * Creates or updates a user. Returns whether it is new. Password, groups and state of an existing user are overwritten,
 * so that it has no more rights than these.
 */
async function makeUser(
  client: EventStoreDBClient,
  { name, password }: { readonly name: string; readonly password: string },
): Promise<boolean> {
  const calls = client as unknown as Calls;
  const call = (
    send: (
      users: UsersClient,
      metadata: Metadata,
      options: Partial<CallOptions>,
      done: (error: ServiceError | null) => void,
    ) => void,
  ) =>
    calls.execute(usersGrpc.UsersClient, 'users', (service) => {
      const [metadata, options] = calls.callArguments({ deadline: ATTEMPT_MS });
      return new Promise<void>((resolve, reject) =>
        send(service, metadata, options, (error) => (error ? reject(convertToCommandError(error)) : resolve())),
      );
    });
  const create = new users.CreateReq();
  create.setOptions(new users.CreateReq.Options().setLoginName(name).setFullName(name).setPassword(password));
  try {
    await call((service, metadata, options, done) => void service.create(create, metadata, options, done));
    return true;
  } catch (error) {
    if (!isFault(error, ErrorType.USER_CONFLICT)) throw error;
  }
  const update = new users.UpdateReq();
  update.setOptions(new users.UpdateReq.Options().setLoginName(name).setFullName(name).setGroupsList([]));
  await call((service, metadata, options, done) => void service.update(update, metadata, options, done));
  const reset = new users.ResetPasswordReq();
  reset.setOptions(new users.ResetPasswordReq.Options().setLoginName(name).setNewPassword(password));
  await call((service, metadata, options, done) => void service.resetPassword(reset, metadata, options, done));
  const enable = new users.EnableReq();
  enable.setOptions(new users.EnableReq.Options().setLoginName(name));
  await call((service, metadata, options, done) => void service.enable(enable, metadata, options, done));
  return false;
}
