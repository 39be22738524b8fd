import { Agent } from 'undici';
import type { Prng } from '../time/prng.ts';
import { currentProcess, type ModelProcess, type Scheduler } from '../time/scheduler.ts';

/** What a server says to one request; `silent` says nothing, `reset` closes the connection. */
export type HttpAnswer =
  | { readonly status: number; readonly body: string; readonly headers?: Readonly<Record<string, string>> }
  | 'silent'
  | 'reset';

/** Answers a request at the moment at which it arrives. */
export type HttpServer = (request: {
  readonly path: string;
  readonly method: string;
  readonly body: string;
}) => HttpAnswer;

interface Handler {
  onRequestStart(controller: object, context: object): void;
  onResponseStart(controller: object, status: number, headers: Readonly<Record<string, string>>, text: string): void;
  onResponseData(controller: object, chunk: Buffer): void;
  onResponseEnd(controller: object, trailers: object): void;
  onResponseError(controller: object, error: Error): void;
}

/**
 * The network between the processes and the servers that they ask, at the HTTP client's own seam: everything above it,
 * from the body of a request to what its answer is taken for, is the production code.
 */
export class HttpNetwork {
  readonly #servers = new Map<string, HttpServer>();
  readonly #scheduler: Scheduler;
  readonly #prng: Prng;

  constructor(scheduler: Scheduler, prng: Prng) {
    this.#scheduler = scheduler;
    this.#prng = prng;
    Agent.prototype.dispatch = (
      options: { origin: string; path: string; method: string; body?: string | null },
      handler: Handler,
    ): boolean => {
      this.#send(options, handler);
      return true;
    };
  }

  /** Such as `http://one.example`. */
  serve(origin: string, server: HttpServer): void {
    this.#servers.set(origin, server);
  }

  #send(
    { origin, path, method, body }: { origin: string; path: string; method: string; body?: string | null },
    handler: Handler,
  ): void {
    const caller = currentProcess();
    let isOver = false;
    const fail = (error: Error): void => {
      if (isOver) return;
      isOver = true;
      handler.onResponseError(controller, error);
    };
    const controller = {
      ...{ paused: false, aborted: false, reason: null, rawHeaders: null },
      resume: () => undefined,
      pause: () => undefined,
      abort: fail,
    };
    handler.onRequestStart(controller, {});
    this.#scheduler.after(this.#delayMs(), null, () => {
      if (isOver) return;
      const answer = this.#servers.get(String(origin))?.({ path, method, body: body ?? '' }) ?? 'reset';
      if (answer !== 'silent')
        this.#deliver(caller, () => (isOver ? undefined : answer === 'reset' ? fail(refused()) : respond(answer)));
    });
    const respond = (answer: Exclude<HttpAnswer, string>): void => {
      isOver = true;
      handler.onResponseStart(controller, answer.status, { 'content-type': 'application/json', ...answer.headers }, '');
      handler.onResponseData(controller, Buffer.from(answer.body));
      handler.onResponseEnd(controller, {});
    };
  }

  #deliver(caller: ModelProcess | null, run: () => void): void {
    this.#scheduler.after(this.#delayMs(), caller, run);
  }

  #delayMs(): number {
    return 2 + this.#prng.fraction() * 30;
  }
}

const refused = (): Error => Object.assign(new Error('the connection was closed'), { code: 'ECONNRESET' });
