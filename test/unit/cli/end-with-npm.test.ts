import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { endWithNpm } from '../../../src/cli/end-with-npm.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** npm (10), its shell (20), and this process. */
function family(env: Readonly<Record<string, string | undefined>>) {
  const parents = new Map<number | 'self', number | null>([
    ['self', 20],
    [20, 10],
  ]);
  const end = vi.fn();
  endWithNpm(end, { env, parentOf: (pid) => parents.get(pid) ?? null });
  return { parents, end };
}

it.each([{ npm_lifecycle_event: 'start' }, { npm_lifecycle_event: 'serve' }, { npm_command: 'exec' }])(
  'the service of %o ends once',
  (env) => {
    const { parents, end } = family(env);
    vi.advanceTimersByTime(5_000);
    expect(end).not.toHaveBeenCalled();
    parents.set('self', 1);
    vi.advanceTimersByTime(5_000);
    expect(end).toHaveBeenCalledOnce();
  },
);

it('it ends when npm is gone but its shell is not', () => {
  const { parents, end } = family({ npm_lifecycle_event: 'start' });
  parents.set(20, 1);
  vi.advanceTimersByTime(1_000);
  expect(end).toHaveBeenCalledOnce();
});

it('a service that npm did not start outlives who started it', () => {
  const { parents, end } = family({ npm_lifecycle_event: 'test' });
  parents.set('self', 1);
  vi.advanceTimersByTime(5_000);
  expect(end).not.toHaveBeenCalled();
});
