import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

/** What a process said that met these answers, and how it ended. */
const afterMeeting = (provoked: string): Promise<{ readonly code: number | null; readonly said: string }> =>
  new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [join(import.meta.dirname, 'driver-answers.child.ts'), provoked],
      (_, out, faults) => resolve({ code: child.exitCode, said: `${out}${faults}` }),
    );
  });

test.each([
  'every node of an event store away for seconds',
  'an event store that breaks its answers',
  'a read of an event store that breaks after its first event',
  'Redis that breaks its answers',
  'a provider of a chain that breaks its answers',
  'a receiver of webhooks that breaks its answers',
])(
  '%s ends no process, even without the rule for drivers',
  async (provoked) => expect(await afterMeeting(provoked)).toEqual({ code: 0, said: 'survived\n' }),
  120_000,
);
