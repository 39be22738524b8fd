import type { Metadata, sendUnaryData, ServerUnaryCall, ServiceError } from '@grpc/grpc-js';
import users from '@eventstore/db-client/generated/users_pb.js';
import type { CreateReq, EnableReq, ResetPasswordReq, UpdateReq } from '@eventstore/db-client/generated/users_pb.js';
import { accessDenied, noSuchUser, unauthenticated, userExists } from './double-faults.ts';
import type { DoubleLog } from './double-log.ts';

export type Operation = 'read' | 'write' | 'delete';
type Field = '$r' | '$w' | '$d' | '$mr' | '$mw';
type Acl = Readonly<Partial<Record<Field, string | readonly string[]>>>;

interface User {
  password: string;
  groups: readonly string[];
  isDisabled?: boolean;
}

/** For so long after its start a server knows no rights but the administrators'. */
const DENIES_FOR_MS = 1_000;

const ADMINS = '$admins';
const EVERYBODY = '$all';
const everybody: Acl = { $r: EVERYBODY, $w: EVERYBODY, $d: EVERYBODY, $mr: EVERYBODY, $mw: EVERYBODY };
const administrators: Acl = { $r: ADMINS, $w: ADMINS, $d: ADMINS, $mr: ADMINS, $mw: ADMINS };
const FIELDS = { read: '$r', write: '$w', delete: '$d' } as const;
const OF_METADATA = { read: '$mr', write: '$mw', delete: null } as const;

/**
 * Users and access control lists of a server, from its documentation ("Access control lists": stream, default and
 * built-in lists, field by field) and its sources (`LegacyStreamPermissionAssertion`): who is in `$admins` may do
 * everything; nobody writes to or deletes `$all`, or deletes a metadata stream; a metadata stream is judged by the
 * stream that it is of.
 */
export class DoubleAccess {
  readonly #log: DoubleLog;
  readonly #users = new Map<string, User>();

  #deniesUntilMs = 0;

  constructor(log: DoubleLog, adminPassword: string) {
    this.#log = log;
    this.#users.set('admin', { password: adminPassword, groups: [ADMINS] });
    // As published.
    this.#users.set('ops', { password: 'changeit', groups: ['$ops'] });
  }

  /** The same users after a restart of their server: the others are denied for a second (seen on KurrentDB 26.1.0). */
  restarted(): this {
    this.#deniesUntilMs = Date.now() + DENIES_FOR_MS;
    return this;
  }

  /** What somebody did with the server's own tools. */
  change(name: string, user: Partial<User>): void {
    Object.assign(this.#users.get(name)!, user);
  }

  user(name: string): Readonly<User> | undefined {
    return this.#users.get(name);
  }

  /** Somebody with a name or password that there is not. */
  isUnknown(metadata: Metadata): boolean {
    return metadata.get('authorization').length > 0 && !this.#caller(metadata);
  }

  /** Null when whoever calls may do it. */
  refusal(metadata: Metadata, operation: Operation, stream: string): ServiceError | null {
    const caller = this.#caller(metadata);
    if (!caller) return this.isUnknown(metadata) ? unauthenticated() : accessDenied();
    const isMetastream = stream.startsWith('$$');
    const original = isMetastream ? stream.slice(2) : stream;
    const field = (isMetastream ? OF_METADATA : FIELDS)[operation];
    if (field === null || (stream === '$all' && operation !== 'read')) return accessDenied();
    if (caller.groups.includes(ADMINS)) return null;
    if (Date.now() < this.#deniesUntilMs) return accessDenied();
    const roles = [this.#roles(original, field)].flat();
    return roles.some((role) => role === EVERYBODY || role === caller.name || caller.groups.includes(role))
      ? null
      : accessDenied();
  }

  users() {
    const answering =
      <Request, Answer>(run: (request: Request) => Answer | ServiceError) =>
      (call: ServerUnaryCall<Request, Answer>, answer: sendUnaryData<Answer>): void => {
        const caller = this.#caller(call.metadata);
        if (!caller) return answer(unauthenticated());
        if (!caller.groups.includes(ADMINS)) return answer(accessDenied());
        const result = run(call.request);
        if (result instanceof Error) answer(result);
        else answer(null, result);
      };
    const changing = <Answer>(name: string, answer: Answer, change: (user: User) => void): Answer | ServiceError => {
      const user = this.#users.get(name);
      if (!user) return noSuchUser(name);
      change(user);
      return answer;
    };
    return {
      create: answering((request: CreateReq) => {
        const options = request.getOptions()!;
        const name = options.getLoginName();
        const known = this.#users.get(name);
        // Answered as if it was made (KurrentDB 26.1.0), and nothing changes.
        if (known) return known.password === options.getPassword() ? new users.CreateResp() : userExists(name);
        this.#users.set(name, { password: options.getPassword(), groups: options.getGroupsList() });
        return new users.CreateResp();
      }),
      update: answering((request: UpdateReq) => {
        const options = request.getOptions()!;
        return changing(
          options.getLoginName(),
          new users.UpdateResp(),
          (user) => (user.groups = options.getGroupsList()),
        );
      }),
      resetPassword: answering((request: ResetPasswordReq) => {
        const options = request.getOptions()!;
        return changing(
          options.getLoginName(),
          new users.ResetPasswordResp(),
          (user) => (user.password = options.getNewPassword()),
        );
      }),
      enable: answering((request: EnableReq) =>
        changing(request.getOptions()!.getLoginName(), new users.EnableResp(), (user) => (user.isDisabled = false)),
      ),
    };
  }

  #caller(metadata: Metadata): { readonly name: string; readonly groups: readonly string[] } | null {
    const [given] = metadata.get('authorization');
    const [name = '', ...password] = Buffer.from(String(given ?? '').replace(/^Basic /, ''), 'base64')
      .toString('utf8')
      .split(':');
    const user = this.#users.get(name);
    return user && !user.isDisabled && user.password === password.join(':') ? { name, groups: user.groups } : null;
  }

  #roles(stream: string, field: Field): string | readonly string[] {
    const isSystem = stream.startsWith('$');
    const settings = this.#last('$settings') as {
      readonly $systemStreamAcl?: Acl;
      readonly $userStreamAcl?: Acl;
    } | null;
    const usual = isSystem ? settings?.$systemStreamAcl : settings?.$userStreamAcl;
    const own = (this.#last(`$$${stream}`) as { readonly $acl?: Acl } | null)?.$acl;
    return own?.[field] ?? usual?.[field] ?? (isSystem ? administrators : everybody)[field]!;
  }

  #last(stream: string): unknown {
    const last = this.#log.stream(stream).at(-1);
    return last ? JSON.parse(Buffer.from(last.data).toString('utf8')) : null;
  }
}
