import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { JsonValue } from '../ports/read-model.ts';
import { StoreUnavailable } from '../ports/event-store.ts';
import { CommandRefused, type AdminArguments, type AdminCommands, type AdminStreams } from './commands.ts';
import { readArguments, sendStream } from './socket-server.ts';

/** A path of the operator's API and the command behind it. Parts of a path in braces become arguments of the same name. */
export interface AdminRoute {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly command: string;
  /** Parameters that may be given in the query, in snake case; the command gets them in camel case. */
  readonly query: readonly string[];
}

export interface AdminHttpOptions {
  readonly host: string;
  readonly port: number;
  readonly token: string;
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

/** Rows that are made anew take seconds, or minutes. */
const RETRY_AFTER_SEC = 5;

const UNAUTHENTICATED = new NotAnswered(401, 'authentication_failed', 'Authentication failed.');
const NOT_FOUND = new NotAnswered(404, 'not_found', 'No such resource.');

/** The operator's commands over HTTP, apart from the public port: every request carries `Authorization: Bearer <ADMIN_TOKEN>`. */
export async function startAdminHttpServer(options: AdminHttpOptions): Promise<Server> {
  const server = createServer((request, response) => {
    answer(options, request, response).catch((error: unknown) => sendError(options, request, response, error));
  });
  await new Promise<void>((done, failed) => {
    server.once('error', failed);
    server.listen(options.port, options.host, done);
  });
  return server;
}

async function answer({ token, routes, commands, streams }: AdminHttpOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (!isBearer(request.headers.authorization, token)) throw UNAUTHENTICATED;
  const url = URL.parse(request.url ?? '/', 'http://operator');
  const found = url && routes.flatMap((route) => matchOf(route, url.pathname) ?? []);
  if (!url || !found || found.length === 0) throw NOT_FOUND;
  const match = found.find(({ route }) => route.method === request.method);
  if (!match) {
    const allowed = found.map(({ route }) => route.method).join(', ');
    response.setHeader('allow', allowed);
    throw new NotAnswered(405, 'method_not_allowed', `Use ${allowed}.`);
  }
  const body = request.method === 'POST' ? await readArguments(request).catch(malformed) : {};
  const args = { ...body, ...queryOf(match.route, url.searchParams), ...match.params };
  const stream = streams[match.route.command];
  if (stream) return sendStream(response, await stream(args));
  const command = commands[match.route.command];
  if (!command) throw NOT_FOUND;
  send(response, 200, await command(args));
}

function malformed(error: unknown): never {
  throw error instanceof SyntaxError ? new NotAnswered(400, 'invalid_request', 'the body must be JSON') : error;
}

/** Compared as hashes, so that the time it takes tells nothing of the token, its length included. */
function isBearer(header: string | undefined, token: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(header ?? ''), digest(`Bearer ${token}`));
}

function matchOf(route: AdminRoute, path: string): { route: AdminRoute; params: Record<string, string> } | null {
  const wanted = route.path.split('/');
  const given = path.split('/');
  if (wanted.length !== given.length) return null;
  const params: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const name = /^\{(\w+)\}$/.exec(part)?.[1];
    if (name === undefined && part !== given[index]) return null;
    if (name !== undefined) params[name] = decoded(given[index]!);
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
    if (!query.includes(name)) throw new NotAnswered(400, 'unknown_field', `${name} is not a parameter of this request`);
    args[name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())] = value;
  }
  return args;
}

function sendError({ onError }: AdminHttpOptions, request: IncomingMessage, response: ServerResponse, error: unknown): void {
  if (response.headersSent) return void response.destroy();
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof NotAnswered) return send(response, error.status, { error: { code: error.code, message } });
  if (error instanceof CommandRefused) return send(response, 400, { error: { code: 'invalid_request', message } });
  if (error instanceof StoreUnavailable && request.method === 'GET') return send(response, 503, { error: { code: 'service_unavailable', message } });
  onError(error);
  send(response, 500, { error: { code: 'internal_error', message: 'The service failed. Nothing is known about the request.' } });
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
