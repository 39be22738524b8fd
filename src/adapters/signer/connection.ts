import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { holding } from '../../domain/values/written-json.ts';
import type { Signer } from '../../ports/signer/signer.ts';
import type { SignerAnswer, SignerErrorCode, SignerRequest } from '../../ports/signer/protocol.ts';
import { jsonLine, MAX_JSON_LINE_BYTES, readJsonLines } from '../../runtime/util/json-lines.ts';
import { messageOf } from '../../runtime/util/message-of.ts';

/** The signer is gone or does not answer; the outcome of the request is unknown. */
export class SignerUnavailable extends Error {
  override readonly name = 'SignerUnavailable';
}

/** The signer refused the request. */
class SignerRefused extends Error {
  override readonly name = 'SignerRefused';
  readonly code: SignerErrorCode;
  constructor(code: SignerErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
  timer: NodeJS.Timeout;
}

const CALL_TIMEOUT_MS = 30_000;
const MAX_WAITING = 1_000;

/**
 * The signer's answer type per method. The types can be trusted: this service started or admitted the process that
 * answers.
 */
type SignerMethod = Exclude<keyof Signer, 'close'>;
export type AnswerTo<Method extends SignerMethod> = Awaited<ReturnType<Signer[Method]>>;

/** Sends requests to the signer. */
export interface SignerCaller {
  /** Rejects with `SignerUnavailable` or `SignerRefused`. */
  call<Method extends SignerMethod>(method: Method, params: unknown): Promise<AnswerTo<Method>>;
}

/** Rejects with `SignerUnavailable`. */
export async function connectTo(socketPath: string): Promise<Socket> {
  const socket = connect(socketPath);
  try {
    await once(socket, 'connect');
  } catch (error) {
    throw new SignerUnavailable(`the signer cannot be reached: ${messageOf(error)}`);
  }
  return socket;
}

const isAnswer = holding<SignerAnswer>('id', 'ok');

/** Requests and answers over one authenticated socket; several may be in flight. */
export class SignerConnection implements SignerCaller {
  readonly #socket: Socket;
  readonly #waiting = new Map<number, Waiting>();
  #nextId = 0;
  #lost: SignerUnavailable | null = null;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('error', (error) => this.#lose(error.message));
    socket.on('close', () => this.#lose('the connection was closed'));
    readJsonLines(socket, {
      onFault: (reason) => this.#lose(reason),
      // The first line only says that the connection was admitted.
      onValue: (value) => isAnswer(value) && this.#settle(value),
    });
    socket.unref();
  }

  get isLost(): boolean {
    return this.#lost !== null;
  }

  call<Method extends SignerMethod>(method: Method, params: unknown): Promise<AnswerTo<Method>> {
    if (this.#lost) return Promise.reject(this.#lost);
    // A stop must get through whatever waits.
    if (this.#waiting.size >= MAX_WAITING && method !== 'stop')
      return Promise.reject(new SignerUnavailable('too many requests are waiting for the signer'));
    const id = this.#nextId++;
    const line = jsonLine({ id, method, params } satisfies SignerRequest);
    // The signer closes the connection on a longer line, which would make it unreachable.
    if (Buffer.byteLength(line) > MAX_JSON_LINE_BYTES)
      return Promise.reject(new SignerRefused('invalid_params', `a ${method} of that size is too long`));
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(id);
        reject(new SignerUnavailable(`the signer did not answer ${method} in time`));
      }, CALL_TIMEOUT_MS);
      this.#waiting.set(id, { resolve, reject, timer });
      this.#socket.write(line);
    });
  }

  close(): void {
    this.#lose('the connection was closed');
  }

  #settle(answer: SignerAnswer): void {
    const waiting = this.#waiting.get(answer.id);
    if (!waiting) return;
    this.#waiting.delete(answer.id);
    clearTimeout(waiting.timer);
    if (answer.ok) waiting.resolve(answer.result);
    else waiting.reject(new SignerRefused(answer.error.code, answer.error.message));
  }

  #lose(reason: string): void {
    this.#lost ??= new SignerUnavailable(`the signer is not reachable: ${reason}`);
    this.#socket.destroy();
    for (const waiting of this.#waiting.values()) {
      clearTimeout(waiting.timer);
      waiting.reject(this.#lost);
    }
    this.#waiting.clear();
  }
}
