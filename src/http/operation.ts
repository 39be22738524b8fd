import type { ZodType, z } from 'zod';
import type { Scope } from '../domain/api-keys.ts';
import type { ErrorCode } from '../domain/errors.ts';
import type { Caller } from '../features/shared/merchant-api.ts';
import type { Answer } from './answer.ts';
import type { Tag } from './openapi/tags.ts';

export type Method = 'get' | 'post' | 'patch';

/** One operation of the API. Router and OpenAPI document use the same value. */
export interface Operation<Body extends ZodType = ZodType, Query extends ZodType = ZodType> {
  /** Name in the OpenAPI document, in metrics and in traces. */
  readonly id: string;
  readonly method: Method;
  /** With parameters in braces: `/v1/refunds/{id}`. */
  readonly path: string;
  readonly tag: Tag;
  /** The scope that a restricted key needs. */
  readonly scope: Scope;
  /** Body fields that need another scope; all other fields need the operation's own. */
  readonly fieldScopes?: Readonly<Record<string, Scope>>;
  readonly summary: string;
  readonly description: string;
  /** Absent: the operation takes no body (an empty one, or `{}` on POST). */
  readonly body?: Body;
  readonly bodyRequired?: boolean;
  readonly query?: Query;
  readonly response: ZodType;
  /** Response formats other than JSON, by the value of `format`. */
  readonly files?: Readonly<Record<string, { readonly contentType: string; readonly description: string }>>;
  /** The answer comes from look-ups, so a caller may ask for one that is at least as recent as another process's. */
  readonly readsLookUps?: boolean;
  /** Refusals in addition to those of every operation. */
  readonly errors: readonly ErrorCode[];
  /** The handler passes `Caller.nonceCoCommit` to a command, so that the nonce is committed with its event. */
  readonly nonceRidesWithCommand?: boolean;
  readonly example: { readonly body?: unknown; readonly response: unknown };
}

/** A request that was authenticated and validated. */
export interface Call<Body = unknown, Query = unknown> {
  readonly caller: Caller;
  readonly params: Readonly<Record<string, string>>;
  readonly body: Body;
  readonly query: Query;
}

export type Handler<Body = unknown, Query = unknown> = (call: Call<Body, Query>) => Promise<Answer>;

export interface Route {
  readonly operation: Operation;
  readonly handle: Handler;
}

/** Ties a handler to its operation with the types from its schemas. */
export function route<Body extends ZodType, Query extends ZodType>(
  operation: Operation<Body, Query>,
  handle: Handler<z.output<Body>, z.output<Query>>,
): Route {
  return { operation, handle: handle as Handler };
}

/** A path in Express's notation. */
export const expressPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1');
