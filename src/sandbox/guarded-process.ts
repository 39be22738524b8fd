import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { must } from '../domain/values/must.ts';

/**
 * Runs `"$@"` and watches the pipe from our process on descriptor 3. The pipe closes however our process ends,
 * including by SIGKILL; the program is then told to stop, and killed if it does not. Exits with the program's own exit
 * code.
 */
const GUARD = `
GRACE=$1; shift
exec 3<&0 </dev/null
"$@" 3<&- & program=$!
{ read -r _ <&3
  kill "$program"
  tries=0
  while kill -0 "$program" && [ "$tries" -lt "$GRACE" ]; do sleep 0.1; tries=$((tries + 1)); done
  kill -9 "$program"
} >/dev/null 2>&1 & watch=$!
exec 3<&- 2>/dev/null
trap '' INT TERM HUP
wait "$program"; code=$?
kill "$watch" 2>/dev/null
exit "$code"
`;

/** How long a program may take to end before it is killed. */
const GRACE_MS = 3_000;
/** Between two looks at whether it has ended. */
const LOOK_MS = 100;
/** Longer than the guard itself allows the program. */
const MORE_MS = 5_000;

export interface GuardedProcess {
  readonly stdout: Readable;
  /** Resolves when the program has ended, for whatever reason. */
  readonly ended: Promise<void>;
  readonly hasEnded: () => boolean;
  /** Tells the program to stop and waits for it. Repeated calls are harmless. */
  end(): Promise<void>;
}

/** Starts a program that can never outlive this process. Needs a POSIX shell. */
export function startGuarded(
  binary: string,
  args: readonly string[],
  { env = process.env, graceMs = GRACE_MS }: { readonly env?: NodeJS.ProcessEnv; readonly graceMs?: number } = {},
): GuardedProcess {
  // Its own process session keeps Ctrl-C in the terminal from ending the program before our own orderly shutdown does.
  const shell = spawn('/bin/sh', ['-c', GUARD, 'guard', String(graceMs / LOOK_MS), binary, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
    env,
  });
  shell.stdin.on('error', () => {});
  const ended = Promise.race([once(shell, 'exit'), once(shell, 'error')]).then(
    () => {},
    () => {},
  );
  return {
    stdout: shell.stdout,
    ended,
    hasEnded: () => hasEnded(shell),
    end: () => end(shell, ended, graceMs + MORE_MS),
  };
}

const hasEnded = (shell: ChildProcess): boolean =>
  shell.pid === undefined || shell.exitCode !== null || shell.signalCode !== null;

async function end(shell: ChildProcess, ended: Promise<void>, withinMs: number): Promise<void> {
  if (hasEnded(shell)) return;
  must(shell.stdin).end();
  const timer = setTimeout(() => shell.kill('SIGKILL'), withinMs);
  await ended;
  clearTimeout(timer);
}
