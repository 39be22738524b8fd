import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { threadClocksUs } from '../thread-clocks.ts';

/** A process of the bench that announces its port. */
export interface Helper {
  readonly child: ChildProcess;
  readonly url: string;
}

export async function startHelper(
  name: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<Helper> {
  const child = fork(join(import.meta.dirname, `${name}.process.ts`), [...args], {
    env: { ...process.env, ...env },
    execArgv: [],
  });
  // As many questions may be open as there are payments under way.
  child.setMaxListeners(0);
  const [message] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => Promise.reject(new Error(`the ${name} did not start`))),
  ])) as [{ port: number }];
  return { child, url: `http://127.0.0.1:${message.port}` };
}

let asked = 0;

/** The helper's answer to a question. */
export function ask<Answer>({ child }: Helper, question: string): Promise<Answer> {
  const id = (asked += 1);
  return new Promise((resolve) => {
    const listener = (message: { readonly id: number; readonly answer: Answer }): void => {
      if (message.id !== id) return;
      child.off('message', listener);
      resolve(message.answer);
    };
    child.on('message', listener);
    child.send({ id, question });
  });
}

/** CPU of a process by thread, in microseconds so far; of the processes it started in one sum each. */
export function treeClocksUs(pid: number): Map<string, number> {
  const clocks = new Map(threadClocksUs(pid) ?? []);
  for (const child of childrenOf(pid)) {
    const us = [...treeClocksUs(child).values()].reduce((sum, value) => sum + value, 0);
    clocks.set('signer (a process)', (clocks.get('signer (a process)') ?? 0) + us);
  }
  return clocks;
}

/** Resident memory of a process. */
export const rssMib = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;

/** A process and those it started. */
export const treeOf = (pid: number): number[] => [pid, ...childrenOf(pid).flatMap(treeOf)];

/** Resident memory of a process and those it started. */
export const treeRssMib = (pid: number): number => treeOf(pid).reduce((sum, each) => sum + rssMib(each), 0);

const childrenOf = (pid: number): number[] =>
  readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );

/** Bytes of the event log and its index, and of what is looked up in. */
export function bytesOf(dataDir: string): { readonly log: number; readonly lookUps: number } {
  const sizes = { log: 0, lookUps: 0 };
  for (const file of readdirSync(dataDir)) {
    // What is written ahead is carried into the file, and its own file keeps its size.
    if (!file.endsWith('.db')) continue;
    sizes[file.startsWith('read-model') ? 'lookUps' : 'log'] += statSync(join(dataDir, file)).size;
  }
  return sizes;
}
