import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';
import { afterAll, beforeAll } from 'vitest';

/** In this file, what pauses before it asks again asks at once. */
export function withoutPauses(): void {
  const { setTimeout } = timers;
  const at = (pause: typeof setTimeout): void => {
    timers.setTimeout = pause;
    syncBuiltinESMExports();
  };
  beforeAll(() => at(<Value>(_?: number, value?: Value) => Promise.resolve(value as Value)));
  afterAll(() => at(setTimeout));
}
