import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import timersPromises from 'node:timers/promises';
import { randomBytesPooled } from '../../../src/runtime/cryptography/pooled-random.ts';
import { Prng } from './prng.ts';
import { currentProcess, type Scheduler } from './scheduler.ts';

/*
 * The runtime's own clock, timers and randomness, taken over for the whole of this program. Production code has a port
 * for what tests vary one by one; pauses between rounds, deadlines of requests and ids inside libraries go straight to
 * the runtime in some hundred places, and a port for each would be a parameter that nothing but this program ever sets.
 */

let scheduler!: Scheduler;
let random!: Prng;
/** Buffers filled with chance so far. */
let fills = 0;

/** From here on time passes only as this scheduler says. */
export function takeOver(by: Scheduler, prng: Prng): void {
  if (!scheduler) install();
  scheduler = by;
  random = prng;
  // What a run before left in the pool is not of this seed.
  for (const before = fills; fills === before;) randomBytesPooled(1);
}

/** What is done once for all runs of this program takes no chance from the seed of the first one. */
export function onceForAll<Value>(work: () => Value): Value {
  const ofSeed = random;
  random = new Prng('once for all');
  try {
    return work();
  } finally {
    random = ofSeed;
  }
}

const SystemDate = Date;
const nowMs = (): number => Math.floor(scheduler.nowMs + (currentProcess()?.skewMs ?? 0));

class VirtualDate extends SystemDate {
  constructor(...given: [] | [number | string | Date]) {
    if (given.length === 0) super(nowMs());
    else super(...(given as [number]));
  }

  static override now(): number {
    return nowMs();
  }
}

class Timer {
  #cancel: () => void = () => undefined;
  readonly #arm: () => () => void;

  constructor(arm: (again: () => void) => () => void) {
    this.#arm = () => arm(() => this.refresh());
    this.refresh();
  }

  refresh(): this {
    this.#cancel();
    this.#cancel = this.#arm();
    return this;
  }
  close(): this {
    this.#cancel();
    return this;
  }
  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }
  hasRef(): boolean {
    return true;
  }
  [Symbol.dispose](): void {
    this.#cancel();
  }
}

type Callback = (...args: unknown[]) => void;
const setTimeoutVirtual = (run: Callback, ms = 0, ...args: unknown[]): Timer => {
  const owner = currentProcess();
  return new Timer(() => scheduler.after(Math.max(1, ms || 0), owner, () => run(...args)));
};
const setIntervalVirtual = (run: Callback, ms = 0, ...args: unknown[]): Timer => {
  const owner = currentProcess();
  return new Timer((again) =>
    scheduler.after(Math.max(1, ms || 0), owner, () => {
      again();
      run(...args);
    }),
  );
};
const setImmediateVirtual = (run: Callback, ...args: unknown[]): Timer => {
  const owner = currentProcess();
  return new Timer(() => scheduler.after(0, owner, () => run(...args)));
};
const clearVirtual = (timer: unknown): void => void (timer instanceof Timer && timer.close());

function sleep<Value>(ms = 0, value?: Value, { signal }: { signal?: AbortSignal } = {}): Promise<Value> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(aborted(signal));
    const timer = setTimeoutVirtual(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve(value as Value);
    }, ms);
    const onAbort = (): void => {
      timer.close();
      reject(aborted(signal!));
    };
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

const aborted = (signal: AbortSignal): Error =>
  Object.assign(new Error('The operation was aborted', { cause: signal.reason }), {
    name: 'AbortError',
    code: 'ABORT_ERR',
  });

/** One for all: most of these come when their request is long over. */
const TIMED_OUT = new DOMException('The operation was aborted due to timeout', 'TimeoutError');

function timeoutSignal(ms: number): AbortSignal {
  const controller = new AbortController();
  setTimeoutVirtual(() => controller.abort(TIMED_OUT), ms);
  return controller.signal;
}

function install(): void {
  Object.assign(globalThis, {
    ...{ setTimeout: setTimeoutVirtual, setInterval: setIntervalVirtual, setImmediate: setImmediateVirtual },
    ...{ clearTimeout: clearVirtual, clearInterval: clearVirtual, clearImmediate: clearVirtual },
    Date: VirtualDate,
  });
  performance.now = () => scheduler.nowMs;
  Math.random = () => random.fraction();
  AbortSignal.timeout = timeoutSignal;
  Object.assign(timersPromises, {
    setTimeout: sleep,
    setImmediate: <Value>(value?: Value) =>
      new Promise<Value>((resolve) => setImmediateVirtual(() => resolve(value as Value))),
  });
  const randomInt = (low: number, high?: number): number =>
    high === undefined ? random.between(0, low - 1) : random.between(low, high - 1);
  const fill = <Bytes extends ArrayBufferView>(view: Bytes): Bytes => {
    fills += 1;
    random.fill(new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
    return view;
  };
  Object.assign(crypto, {
    randomBytes: (length: number) => Buffer.from(random.bytes(length)),
    randomUUID: () => random.uuid(),
    randomInt,
    randomFillSync: fill,
  });
  Object.defineProperty(crypto.webcrypto, 'getRandomValues', { value: fill });
  Object.defineProperty(crypto.webcrypto, 'randomUUID', { value: () => random.uuid() });
  syncBuiltinESMExports();
}
