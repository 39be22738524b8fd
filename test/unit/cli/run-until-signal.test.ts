import { EventEmitter } from 'node:events';
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

it('a signal ends a running service in order', async () => {
  const host = new FakeProcess();
  let closed = 0;
  const start = async () => ({ close: async () => void (closed += 1) });
  void runUntilSignal(start, { host, shutdownMs: 60_000 });
  host.emit('SIGTERM');
  expect(await host.ended).toBe(0);
  expect(closed).toBe(1);
});

it('an end that takes too long is cut off', async () => {
  const host = new FakeProcess();
  void runUntilSignal(async () => ({ close: () => new Promise<void>(() => undefined) }), { host, shutdownMs: 20 });
  host.emit('SIGINT');
  expect(await host.ended).toBe(1);
});

it('a signal ends a process whose start never comes to an end', async () => {
  const host = new FakeProcess();
  void runUntilSignal(() => new Promise(() => undefined), { host, shutdownMs: 20 });
  host.emit('SIGTERM');
  expect(await host.ended).toBe(1);
});

it('tells why it ends and how long it ran, and when it has ended', async () => {
  const host = new FakeProcess();
  const told: [string, object][] = [];
  void runUntilSignal(async () => ({ close: async () => undefined }), {
    host,
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
