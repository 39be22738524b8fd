import { chmodSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { holding, readWritten } from '../../domain/values/written-json.ts';
import type { JsonValue } from '../../ports/read-model/read-model.ts';
import {
  CommandRefused,
  named,
  type AdminArguments,
  type AdminCommands,
  type AdminStream,
  type AdminStreams,
} from './commands.ts';
import { messageOf } from '../../runtime/util/message-of.ts';
import { KeyNotHeld } from '../../runtime/cryptography/sealing.ts';
import { bodyOf } from '../../runtime/http/body-of.ts';
import { makeFolder } from '../../runtime/files/make-folder.ts';

export const adminSocketPath = (dataDir: string): string => join(dataDir, 'admin.sock');

const MAX_BODY_BYTES = 1 << 20;
/** Number of entries that a stream reads. */
export const ENTRIES_HEADER = 'x-entries';

/**
 * Serves the operator's commands on `DATA_DIR/admin.sock` (mode 0600): whoever can write there controls the service
 * anyway.
 */
export async function serveAdmin(dataDir: string, commands: AdminCommands, streams: AdminStreams): Promise<Server> {
  const path = adminSocketPath(dataDir);
  // With external stores nothing else creates the directory.
  makeFolder(dataDir);
  rmSync(path, { force: true });
  const server = createServer((request, response) => {
    void answer(request, commands, streams).then((given) => {
      if ('stream' in given) return sendStream(response, given.stream);
      response.writeHead(given.status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(given.body));
    });
  });
  await new Promise<void>((done, failed) => {
    server.once('error', failed);
    server.listen(path, done);
  });
  chmodSync(path, 0o600);
  return server;
}

/** Writes as fast as the reader reads; a reader that falls behind notices that the answer is cut off. */
export async function sendStream(
  response: ServerResponse,
  { contentType, entries, chunks }: AdminStream,
): Promise<void> {
  response.writeHead(200, {
    'content-type': contentType,
    'cache-control': 'no-store',
    [ENTRIES_HEADER]: String(entries),
  });
  await pipeline(Readable.from(chunks, { objectMode: false }), response).catch(() => response.destroy());
}

type Answer = { readonly status: number; readonly body: JsonValue } | { readonly stream: AdminStream };

async function answer(request: IncomingMessage, commands: AdminCommands, streams: AdminStreams): Promise<Answer> {
  try {
    const name = decodeURIComponent((request.url ?? '/').slice(1));
    const stream = named(streams, name);
    if (stream) return { stream: await stream(await readArguments(request)) };
    const command = named(commands, name);
    if (!command)
      return { status: 404, body: { error: 'unknown command; is the running service older than this CLI?' } };
    return { status: 200, body: await command(await readArguments(request)) };
  } catch (error) {
    const refused = error instanceof CommandRefused || error instanceof KeyNotHeld;
    return { status: refused ? 400 : 500, body: { error: messageOf(error) } };
  }
}

export async function readArguments(request: IncomingMessage): Promise<AdminArguments> {
  const body = await bodyOf(request, MAX_BODY_BYTES);
  if (body === null) throw new CommandRefused('arguments are too large');
  return body.length === 0 ? {} : readWritten(body.toString('utf8'), holding<AdminArguments>());
}
