import { hash, timingSafeEqual } from 'node:crypto';
import { rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { z } from 'zod';
import type { SignerAnswer } from '../ports/signer-protocol.ts';
import { jsonLine, readJsonLines } from '../runtime/util/json-lines.ts';
import { MethodRefused, type SignerContext } from './method.ts';
import { callMethod } from './methods.ts';

const greetingSchema = z.strictObject({ token: z.string() });
const requestSchema = z.strictObject({ id: z.int().min(0), method: z.string().max(64), params: z.unknown() });
const GREETING_TIMEOUT_MS = 5_000;
/** Connections that have not shown the token yet; more are turned away. */
const MAX_STRANGERS = 8;

export interface SignerServer {
  close(): void;
}

/**
 * Serves the methods on a Unix socket that only this user may open. The token admits one connection, once: the process
 * that started the signer. Whoever finds the socket later finds a closed door.
 */
export function startSignerServer(socketPath: string, token: string, context: SignerContext): Promise<SignerServer> {
  const expected = hash('sha256', token, 'buffer');
  let tokenUsed = false;
  let strangers = 0;
  const admit = (value: unknown): boolean => {
    const greeting = greetingSchema.safeParse(value);
    if (!greeting.success || !timingSafeEqual(hash('sha256', greeting.data.token, 'buffer'), expected) || tokenUsed) return false;
    tokenUsed = true;
    return true;
  };

  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    if (strangers >= MAX_STRANGERS) return socket.destroy();
    strangers += 1;
    const timer = setTimeout(() => socket.destroy(), GREETING_TIMEOUT_MS);
    let admitted = false;
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
        if (!admit(value)) return socket.destroy();
        admitted = true;
        welcome();
        socket.write(jsonLine({ admitted: true }));
      },
    });
  });
  return listen(server, socketPath);
}

function listen(server: Server, socketPath: string): Promise<SignerServer> {
  rmSync(socketPath, { force: true });
  process.umask(0o177);
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
    // An unforeseen error's text might hold what it choked on, so only its class leaves this process.
    reply = {
      id,
      ok: false,
      error: known ? { code: error.code, message: error.message } : { code: 'internal', message: error instanceof Error ? error.name : 'unknown' },
    };
  }
  if (!socket.destroyed) socket.write(jsonLine(reply));
}
