import { parseJson } from '../runtime/util/parse-json.ts';
import { existsSync } from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import type { JsonValue } from '../ports/read-model/read-model.ts';
import { CommandRefused, type AdminArguments, type AdminStream } from '../operator/server/commands.ts';
import { adminSocketPath, ENTRIES_HEADER } from '../operator/server/socket-server.ts';

/** No service listens on the data directory's socket. */
export class NoService extends Error {
  override readonly name = 'NoService';
}

/** Runs a command in the service that owns the data directory. Throws `NoService` when none runs. */
export async function callAdmin(dataDir: string, command: string, args: AdminArguments): Promise<JsonValue> {
  const response = await post(dataDir, command, args);
  const body = await bodyOf(response);
  if (response.statusCode === 200) return body;
  throw refusal(response, body);
}

/** Like `callAdmin`, for an answer too long to hold in memory. */
export async function streamAdmin(dataDir: string, command: string, args: AdminArguments): Promise<AdminStream> {
  const response = await post(dataDir, command, args);
  if (response.statusCode !== 200) throw refusal(response, await bodyOf(response));
  return {
    contentType: response.headers['content-type'] ?? '',
    entries: Number(response.headers[ENTRIES_HEADER] ?? 0),
    chunks: response,
  };
}

const refusalForm = z.object({ error: z.string().optional() });

const refusal = (response: IncomingMessage, body: JsonValue): CommandRefused =>
  new CommandRefused(refusalForm.parse(body).error ?? `the service answered ${response.statusCode}`);

const bodyOf = async (response: IncomingMessage): Promise<JsonValue> => parseJson(await text(response));

async function post(dataDir: string, command: string, args: AdminArguments): Promise<IncomingMessage> {
  const socketPath = adminSocketPath(dataDir);
  if (!existsSync(socketPath)) throw new NoService(socketPath);
  return new Promise((done, failed) => {
    const headers = { 'content-type': 'application/json' };
    const call = request({ socketPath, path: `/${encodeURIComponent(command)}`, method: 'POST', headers }, done);
    call.on('error', (error: NodeJS.ErrnoException) =>
      failed(error.code === 'ECONNREFUSED' || error.code === 'ENOENT' ? new NoService(socketPath) : error),
    );
    call.end(JSON.stringify(args));
  });
}
