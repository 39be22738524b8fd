import { execFile } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runUntilSignal } from '../../../src/cli/run-until-signal.ts';

/** A process that can be told to end; `ended` resolves with its exit code. */
class FakeProcess extends EventEmitter {
  readonly #ended = Promise.withResolvers<number>();
  readonly ended = this.#ended.promise;

  exit(code: number): void {
    this.#ended.resolve(code);
  }
}

/** As the first process of a container does. */
const survivesKill = (ms: number, survived: () => void): void => void setTimeout(survived, ms);

it('a signal ends a running service in order', async () => {
  const host = new FakeProcess();
  let closed = 0;
  const start = async () => ({ close: async () => void (closed += 1) });
  void runUntilSignal(start, { host, shutdownMs: 60_000, killAfter: () => undefined });
  host.emit('SIGTERM');
  expect(await host.ended).toBe(0);
  expect(closed).toBe(1);
});

it('an end that takes too long is cut off', async () => {
  const host = new FakeProcess();
  void runUntilSignal(async () => ({ close: () => new Promise<void>(() => undefined) }), {
    host,
    shutdownMs: 20,
    killAfter: survivesKill,
  });
  host.emit('SIGINT');
  expect(await host.ended).toBe(1);
});

it('a signal ends a process whose start never finishes', async () => {
  const host = new FakeProcess();
  void runUntilSignal(() => new Promise(() => undefined), { host, shutdownMs: 20, killAfter: survivesKill });
  host.emit('SIGTERM');
  expect(await host.ended).toBe(1);
});

it('logs why it ends and how long it ran, and when it has ended', async () => {
  const host = new FakeProcess();
  const told: [string, object][] = [];
  void runUntilSignal(async () => ({ close: async () => undefined }), {
    host,
    killAfter: () => undefined,
    orphaned: () => undefined,
    tell: (message, facts) => told.push([message, facts]),
  });
  host.emit('SIGHUP');
  await host.ended;
  expect(told).toEqual([
    ['the service ends', { reason: 'SIGHUP', upSec: 0 }],
    ['the service has ended', {}],
  ]);
});

/** How a process ends that is told to end by the given part, and after how long. */
function ended(part: string): Promise<{ code: number | null; signal: string | null; tookMs: number }> {
  const startedMs = performance.now();
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [join(import.meta.dirname, 'run-until-signal.child.ts'), part]);
    child.once('exit', (code, signal) => resolve({ code, signal, tookMs: performance.now() - startedMs }));
  });
}

it.each(['busy main thread', 'thread in a long call'])(
  'the limit holds for a process with a %s',
  async (part) => {
    const { signal, tookMs } = await ended(part);
    expect(signal).toBe('SIGKILL');
    expect(tookMs).toBeLessThan(25_000);
  },
  60_000,
);

it('remaining threads are ended before the exit', async () => {
  expect(await ended('idle thread')).toMatchObject({ code: 0, signal: null });
}, 60_000);
