import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Operator, Operators } from '../../ports/people/operators.ts';
import type { LocalRateLimiter } from '../../ports/rate-limiter.ts';
import type { JsonValue } from '../../ports/read-model/read-model.ts';
import { StoreUnavailable } from '../../ports/event-log/event-store.ts';
import { CommandRefused, type AdminArguments, type AdminCommands, type AdminStreams } from './commands.ts';
import { addressGroup } from '../../runtime/http/client-address.ts';
import { readArguments, sendStream } from './socket-server.ts';
import { messageOf } from '../../runtime/util/message-of.ts';
import { KeyNotHeld } from '../../runtime/cryptography/sealing.ts';
import { must } from '../../domain/values/must.ts';

/** A path of the operator's API and its command. Path segments in braces become arguments of the same name. */
export interface AdminRoute {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly command: string;
  /** Allowed query parameters, in snake case; the command gets them in camel case. */
  readonly query: readonly string[];
}

export interface AdminHttpOptions {
  readonly host: string;
  readonly port: number;
  readonly operators: Pick<Operators, 'find'>;
  /** Limits wrong tokens, by address. */
  readonly limiter: LocalRateLimiter;
  readonly clientAddress: (request: IncomingMessage) => string;
  /** Called for every rejected token. */
  readonly onRefused: (address: string, path: string) => void;
  readonly routes: readonly AdminRoute[];
  readonly commands: AdminCommands;
  readonly streams: AdminStreams;
  readonly onError: (error: unknown) => void;
}

class NotAnswered extends Error {
  override readonly name = 'NotAnswered';
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Rebuilding rows takes seconds, or minutes. */
const RETRY_AFTER_SEC = 5;

/** The minimum delay before a wrong token is answered. */
const REFUSAL_DELAY_MS = 500;
const MAX_CONNECTIONS = 1_000;

const UNAUTHENTICATED = new NotAnswered(401, 'authentication_failed', 'Authentication failed.');
const READS_ONLY = new NotAnswered(403, 'forbidden', 'A viewer can only read.');
const ACTOR_GIVEN = new NotAnswered(400, 'invalid_request', 'actor must not be given: it is the owner of the token');
const NOT_FOUND = new NotAnswered(404, 'not_found', 'No such resource.');

/**
 * The operator's commands over HTTP, separate from the public port: every request carries an operator's `Authorization:
 * Bearer <token>`.
 */
export async function startAdminHttpServer(options: AdminHttpOptions): Promise<Server> {
  const server = createServer((request, response) => {
    answer(options, request, response).catch((error: unknown) => sendError(options, request, response, error));
  });
  server.maxConnections = MAX_CONNECTIONS;
  await new Promise<void>((done, failed) => {
    server.once('error', failed);
    server.listen(options.port, options.host, done);
  });
  return server;
}

async function answer(options: AdminHttpOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { routes, commands, streams } = options;
  const operator = operatorOf(options, request) ?? (await refused(options, request, response));
  const url = URL.parse(request.url ?? '/', 'http://operator');
  const found = url && routes.flatMap((route) => matchOf(route, url.pathname) ?? []);
  if (!url || !found || found.length === 0) throw NOT_FOUND;
  const match = found.find(({ route }) => route.method === request.method);
  if (!match) {
    const allowed = found.map(({ route }) => route.method).join(', ');
    response.setHeader('allow', allowed);
    throw new NotAnswered(405, 'method_not_allowed', `Use ${allowed}.`);
  }
  if (request.method !== 'GET' && operator.role === 'viewer') throw READS_ONLY;
  const body = request.method === 'POST' ? await readArguments(request).catch(malformed) : {};
  if (body['actor'] !== undefined) throw ACTOR_GIVEN;
  const args = { ...body, ...queryOf(match.route, url.searchParams), ...match.params, actor: operator.name };
  const stream = streams[match.route.command];
  if (stream) return sendStream(response, await stream(args));
  const command = commands[match.route.command];
  if (!command) throw NOT_FOUND;
  send(response, 200, await command(args));
}

function malformed(error: unknown): never {
  throw error instanceof SyntaxError ? new NotAnswered(400, 'invalid_request', 'the body must be JSON') : error;
}

function operatorOf({ operators }: AdminHttpOptions, { headers }: IncomingMessage): Operator | null {
  const token = /^Bearer ([\x21-\x7e]{8,256})$/i.exec(headers.authorization ?? '')?.[1];
  return token === undefined ? null : operators.find(token);
}

/** Counted only once the token was wrong: guesses by others at the same address lock nobody out. */
async function refused(
  { limiter, clientAddress, onRefused }: AdminHttpOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<never> {
  const address = clientAddress(request);
  onRefused(address, must((request.url ?? '').split('?', 1)[0]));
  const { allowed, retryAfterSec } = limiter.take(addressGroup(address), Date.now());
  await sleep(REFUSAL_DELAY_MS);
  response.setHeader('connection', 'close');
  if (allowed) throw UNAUTHENTICATED;
  response.setHeader('retry-after', String(retryAfterSec));
  throw new NotAnswered(429, 'rate_limited', 'Too many requests without a valid token from this address.');
}

function matchOf(route: AdminRoute, path: string): { route: AdminRoute; params: Record<string, string> } | null {
  const wanted = route.path.split('/');
  const given = path.split('/');
  if (wanted.length !== given.length) return null;
  const params: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const name = /^\{(\w+)\}$/.exec(part)?.[1];
    if (name === undefined && part !== given[index]) return null;
    if (name !== undefined) params[name] = decoded(must(given[index]));
  }
  return { route, params };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw NOT_FOUND;
  }
}

function queryOf({ query }: AdminRoute, given: URLSearchParams): AdminArguments {
  const args: Record<string, JsonValue> = {};
  for (const [name, value] of given) {
    if (!query.includes(name))
      throw new NotAnswered(400, 'unknown_field', `${name} is not a parameter of this request`);
    args[name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())] = value;
  }
  return args;
}

function sendError(
  { onError }: AdminHttpOptions,
  request: IncomingMessage,
  response: ServerResponse,
  error: unknown,
): void {
  if (response.headersSent) return void response.destroy();
  const message = messageOf(error);
  if (error instanceof NotAnswered) return send(response, error.status, { error: { code: error.code, message } });
  if (error instanceof CommandRefused || error instanceof KeyNotHeld)
    return send(response, 400, { error: { code: 'invalid_request', message } });
  if (error instanceof StoreUnavailable && request.method === 'GET')
    return send(response, 503, { error: { code: 'service_unavailable', message } });
  onError(error);
  send(response, 500, {
    error: { code: 'internal_error', message: 'The service failed. Whether the request took effect is unknown.' },
  });
}

function send(response: ServerResponse, status: number, body: JsonValue): void {
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...(status === 401 && { 'www-authenticate': 'Bearer' }),
    ...(status === 503 && { 'retry-after': String(RETRY_AFTER_SEC) }),
  });
  response.end(`${JSON.stringify(body)}\n`);
}
