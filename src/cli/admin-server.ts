import { chmodSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { join } from 'node:path';
import type { JsonValue } from '../ports/read-model.ts';
import { CommandRefused, type AdminArguments, type AdminCommands } from './admin-commands.ts';

export const adminSocketPath = (dataDir: string): string => join(dataDir, 'admin.sock');

const MAX_BODY_BYTES = 1 << 20;

/** Serves the operator's commands on `DATA_DIR/admin.sock` (mode 0600): whoever may write there owns the service anyway. */
export async function serveAdmin(dataDir: string, commands: AdminCommands): Promise<Server> {
  const path = adminSocketPath(dataDir);
  rmSync(path, { force: true });
  const server = createServer((request, response) => {
    void answer(request, commands).then(({ status, body }) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    });
  });
  await new Promise<void>((done, failed) => {
    server.once('error', failed);
    server.listen(path, done);
  });
  chmodSync(path, 0o600);
  return server;
}

async function answer(request: IncomingMessage, commands: AdminCommands): Promise<{ status: number; body: JsonValue }> {
  try {
    const command = commands[decodeURIComponent((request.url ?? '/').slice(1))];
    if (!command) return { status: 404, body: { error: 'unknown command; is the running service older than this CLI?' } };
    return { status: 200, body: await command(await readArguments(request)) };
  } catch (error) {
    const refused = error instanceof CommandRefused;
    return { status: refused ? 400 : 500, body: { error: error instanceof Error ? error.message : String(error) } };
  }
}

async function readArguments(request: IncomingMessage): Promise<AdminArguments> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new CommandRefused('arguments are too large');
    chunks.push(chunk);
  }
  return size === 0 ? {} : (JSON.parse(Buffer.concat(chunks).toString('utf8')) as AdminArguments);
}
