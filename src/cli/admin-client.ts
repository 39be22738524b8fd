import { existsSync } from 'node:fs';
import { request } from 'node:http';
import type { JsonValue } from '../ports/read-model.ts';
import { CommandRefused, type AdminArguments } from './admin-commands.ts';
import { adminSocketPath } from './admin-server.ts';

/** No service listens on the data directory's socket. */
export class NoService extends Error {
  override readonly name = 'NoService';
}

/** Runs a command in the service that owns the data directory. Throws `NoService` when none runs. */
export async function callAdmin(dataDir: string, command: string, args: AdminArguments): Promise<JsonValue> {
  const socketPath = adminSocketPath(dataDir);
  if (!existsSync(socketPath)) throw new NoService(socketPath);
  const { status, text } = await post(socketPath, `/${encodeURIComponent(command)}`, JSON.stringify(args));
  const body = JSON.parse(text) as JsonValue;
  if (status === 200) return body;
  throw new CommandRefused((body as { error?: string }).error ?? `the service answered ${status}`);
}

function post(socketPath: string, path: string, body: string): Promise<{ status: number; text: string }> {
  return new Promise((done, failed) => {
    const call = request({ socketPath, path, method: 'POST', headers: { 'content-type': 'application/json' } }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', failed);
      response.on('end', () => done({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') }));
    });
    call.on('error', (error: NodeJS.ErrnoException) =>
      failed(error.code === 'ECONNREFUSED' || error.code === 'ENOENT' ? new NoService(socketPath) : error),
    );
    call.end(body);
  });
}
