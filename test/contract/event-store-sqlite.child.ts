import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openSqliteEventStore } from '../../src/adapters/sqlite/event-log/event-store.ts';
import { afterAppend, appendOf, FIRST, type Place, until } from './event-store-samples.ts';
import { SEAL_KEYS } from '../support/test-keys.ts';

/* A process that is killed, starved or limited by a test: node event-store-sqlite.child.ts <task> <data directory>. */

const [task, dataDir] = process.argv.slice(2) as [string, string];
const say = (line: string): void => void process.stdout.write(`${line}\n`);

async function open(): ReturnType<typeof openSqliteEventStore> {
  return openSqliteEventStore({ dataDir, sealKeys: SEAL_KEYS, onFatal: (error) => say(`fatal ${error.name}`) });
}

/** Says the id of each event only after its append was answered, until it is killed. */
async function appendForEver(): Promise<void> {
  const store = await open();
  say('ready');
  const caller = async (name: string): Promise<void> => {
    const last = await store.lastOfStream(name);
    let place: Place = last ? { revision: last.revision + 1, prev: last.hash } : FIRST;
    for (;;) {
      const request = appendOf(name, place);
      const result = await store.append(request);
      if (!result.ok) throw new Error('refused');
      say(`stored ${request.events[0]!.id}`);
      place = afterAppend(request);
    }
  };
  await Promise.all(Array.from({ length: 6 }, (_, index) => caller(`crash-${index}`)));
}

/** Appends some events one by one and waits until the anchor has seen the last of them. */
async function appendAndIdle(): Promise<void> {
  const store = await open();
  let place = FIRST;
  for (let index = 0; index < 40; index += 1) {
    const request = appendOf('s-1', place);
    await store.append(request);
    place = afterAppend(request);
  }
  const head = await store.head();
  const anchored = (): boolean => {
    try {
      return (
        String(
          (JSON.parse(readFileSync(join(dataDir, 'events.anchor.json'), 'utf8')) as { position: number }).position,
        ) === head
      );
    } catch {
      return false;
    }
  };
  await until('the anchor was written', anchored);
  say('ready');
  setInterval(() => {}, 1_000);
}

/** Appends until the file may not grow any more, then tries again. */
async function appendUntilFailure(): Promise<void> {
  const store = await open();
  let place = FIRST;
  let stored = 0;
  for (;;) {
    const request = appendOf('s-1', place, 20);
    try {
      await store.append(request);
    } catch (error) {
      say(`failed ${(error as Error).name}`);
      break;
    }
    stored += 20;
    place = afterAppend(request);
  }
  await store.append(appendOf('s-2', FIRST)).catch((error: Error) => say(`append ${error.name}`));
  await store.readStream('s-1').catch((error: Error) => say(`read ${error.name}`));
  say(`stored ${stored}`);
  await store.close();
  say('closed');
  process.exit(1);
}

/** Six callers append until the store fails; each id is said after its append was answered. */
async function crowdUntilFailure(): Promise<void> {
  const store = await open();
  const caller = async (name: string): Promise<void> => {
    let place = FIRST;
    for (;;) {
      const request = appendOf(name, place);
      await store.append(request);
      say(`stored ${request.events[0]!.id}`);
      place = afterAppend(request);
    }
  };
  await Promise.all(
    Array.from({ length: 6 }, (_, index) =>
      caller(`crowd-${index}`).catch((error: Error) => say(`failed ${error.name}`)),
    ),
  );
  await store.close();
  say('closed');
  process.exit(1);
}

/** Appends one by one and says how many were answered, to be counted against the syncs. */
async function appendCounted(): Promise<void> {
  const store = await open();
  let place = FIRST;
  for (let index = 0; index < 30; index += 1) {
    const request = appendOf('s-1', place);
    await store.append(request);
    place = afterAppend(request);
  }
  say('stored 30');
  process.kill(process.pid, 'SIGKILL');
}

const tasks: Record<string, () => Promise<void>> = {
  'append-for-ever': appendForEver,
  'append-and-idle': appendAndIdle,
  'append-until-failure': appendUntilFailure,
  'crowd-until-failure': crowdUntilFailure,
  'append-counted': appendCounted,
};
await tasks[task]!();
