import { randomUUID } from 'node:crypto';
import type { ClientDuplexStream } from '@grpc/grpc-js';
import { faultOf, faultOfRefusal, StoreFault } from '../faults.ts';
import type { LogPosition } from '../position.ts';
import type { AppendAnswer, AppendRequest } from './messages.ts';

export interface Stored {
  /** Where the stream ends. */
  readonly revision: bigint;
  /** Null for a repetition of events that were deleted meanwhile. */
  readonly position: LogPosition | null;
}

type Call = ClientDuplexStream<AppendRequest, AppendAnswer>;

interface Waiting {
  readonly resolve: (stored: Stored) => void;
  readonly reject: (fault: StoreFault) => void;
}

/** Nobody appends any more: an open call would keep the process alive. */
const IDLE_MS = 1_000;
/** The server knows who appends from the beginning of a call, so that a call must not be used for ever. */
const LONGEST_MS = 60_000;
const MARGIN_MS = 1_000;

/**
 * The appends of all callers to one node, in one call: each has an answer of its own, and a refused one says nothing
 * about the others. When the call breaks, the outcome of all that wait for their answers is unknown.
 */
export class AppendCalls {
  readonly #open: () => Call;
  #current: AppendCall | null = null;

  constructor(open: () => Call) {
    this.#open = open;
  }

  append(request: Omit<AppendRequest, 'correlationId'>): Promise<Stored> {
    if (!this.#current?.takesMore) {
      this.#current?.finish();
      this.#current = new AppendCall(this.#open());
    }
    return this.#current.append(request);
  }

  /** Those that are under way are still answered. */
  finish(): void {
    this.#current?.finish();
    this.#current = null;
  }
}

class AppendCall {
  readonly #call: Call;
  readonly #waiting = new Map<string, Waiting>();
  readonly #beganMs = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #longestMs = 0;
  #isOver = false;

  constructor(call: Call) {
    this.#call = call;
    call.on('data', (answer: AppendAnswer) => this.#take(answer));
    call.on('error', (error: Error) => this.#end(faultOf(error)));
    call.on('end', () => this.#end(new StoreFault('unavailable', 'the server ended the call of the appends')));
  }

  get takesMore(): boolean {
    return !this.#isOver && performance.now() - this.#beganMs < LONGEST_MS;
  }

  append(request: Omit<AppendRequest, 'correlationId'>): Promise<Stored> {
    clearTimeout(this.#timer);
    this.#longestMs = Math.max(this.#longestMs, request.deadlineMs);
    const correlationId = randomUUID();
    return new Promise((resolve, reject) => {
      this.#waiting.set(correlationId, { resolve, reject });
      this.#call.write({ ...request, correlationId });
    });
  }

  /** Answers that are still to come may take as long as their callers wait for them. */
  finish(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    // To half-close it is not enough: servers do not end a call after that.
    if (this.#waiting.size === 0) this.#call.cancel();
    else this.#timer = setTimeout(() => this.#call.cancel(), this.#longestMs + MARGIN_MS).unref();
  }

  #take({ correlationId, outcome }: AppendAnswer): void {
    const waiting = this.#waiting.get(correlationId);
    this.#waiting.delete(correlationId);
    if (outcome.stored) waiting?.resolve(outcome);
    else waiting?.reject(faultOfRefusal(outcome.refusal));
    if (this.#waiting.size > 0) return;
    if (this.#isOver) this.finish();
    else this.#timer = setTimeout(() => this.finish(), IDLE_MS).unref();
  }

  #end(fault: StoreFault): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    for (const { reject } of this.#waiting.values()) reject(fault);
    this.#waiting.clear();
  }
}
