import { rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { z } from 'zod';
import type { SignerAnswer } from '../ports/signer/protocol.ts';
import { jsonLine, readJsonLines } from '../runtime/util/json-lines.ts';
import type { Door } from './door.ts';
import { MethodRefused, type SignerContext } from './method.ts';
import { callMethod } from './methods.ts';

const requestSchema = z.strictObject({ id: z.int().min(0), method: z.string().max(64), params: z.unknown() });
const GREETING_TIMEOUT_MS = 5_000;
/** Unauthenticated connections; more are refused. */
const MAX_STRANGERS = 8;

export interface SignerServer {
  close(): void;
}

/** Another process answers on the socket that this one was told to open. */
export class SocketInUse extends Error {
  override readonly name = 'SocketInUse';
}

/**
 * Serves the methods on a Unix socket that only this user may open, or also this user's group if a service of another
 * user connects. Throws `SocketInUse` and leaves the socket alone where somebody serves it.
 */
export async function startSignerServer(socketPath: string, door: Door, context: SignerContext): Promise<SignerServer> {
  let strangers = 0;
  let inside: Socket | null = null;

  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    if (strangers >= MAX_STRANGERS) return socket.destroy();
    strangers += 1;
    const timer = setTimeout(() => socket.destroy(), GREETING_TIMEOUT_MS);
    let admitted = false;
    const caller = door.caller();
    const welcome = (): void => {
      clearTimeout(timer);
      strangers -= 1;
    };
    socket.once('close', () => {
      if (!admitted) welcome();
    });
    readJsonLines(socket, {
      onFault: () => socket.destroy(),
      onValue: (value) => {
        if (admitted) return void answer(value, socket, context);
        const welcomed = caller.admit(value);
        if (!welcomed) return socket.destroy();
        admitted = true;
        welcome();
        // A restarted service replaces its earlier connection, which is closed.
        inside?.destroy();
        inside = socket;
        socket.write(jsonLine(welcomed));
      },
    });
    if (caller.hello) socket.write(jsonLine(caller.hello));
  });
  if (await isServed(socketPath)) throw new SocketInUse(`another signer serves ${socketPath}`);
  return listen(server, socketPath, door.forGroup ? 0o117 : 0o177);
}

/** Whether somebody accepts connections there; a socket that a dead process left behind refuses them. */
function isServed(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const tell = (answer: boolean): void => {
      socket.destroy();
      resolve(answer);
    };
    const socket = connect(socketPath)
      .once('connect', () => tell(true))
      .once('error', () => tell(false));
  });
}

function listen(server: Server, socketPath: string, umask: number): Promise<SignerServer> {
  rmSync(socketPath, { force: true });
  process.umask(umask);
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(socketPath, () => {
      process.umask(0o077);
      resolve({ close: () => void server.close() });
    });
  });
}

async function answer(value: unknown, socket: Socket, context: SignerContext): Promise<void> {
  const request = requestSchema.safeParse(value);
  if (!request.success) return void socket.destroy();
  const { id, method, params } = request.data;
  let reply: SignerAnswer;
  try {
    reply = { id, ok: true, result: await callMethod(method, params, context) };
  } catch (error) {
    const known = error instanceof MethodRefused;
    // The text of an unexpected error might contain its input, so only its class leaves this process.
    reply = {
      id,
      ok: false,
      error: known
        ? { code: error.code, message: error.message }
        : { code: 'internal', message: error instanceof Error ? error.name : 'unknown' },
    };
  }
  if (!socket.destroyed) socket.write(jsonLine(reply));
}
