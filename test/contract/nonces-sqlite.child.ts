import { openSqliteEventStore } from '../../src/adapters/sqlite/event-log/event-store.ts';
import { openSqliteNonces } from '../../src/adapters/sqlite/nonces/nonces.ts';
import { appendOf, FIRST } from './event-store-samples.ts';

/* Burns nonces of reads and of commands until it is killed, and names each one when it was answered. */

const NOW = 1_800_000_000;
const dataDir = process.argv[2]!;
const store = await openSqliteEventStore({ dataDir });
const nonces = openSqliteNonces({ dataDir, store, clock: { nowMs: () => NOW * 1000 } });
const say = (nonce: string): void => void process.stdout.write(`${nonce}\n`);

async function read(): Promise<void> {
  for (let index = 0; ; index += 1) {
    await nonces.burn('key_a', `read-${index}`, NOW, 'now');
    say(`read-${index}`);
  }
}

async function command(): Promise<void> {
  for (let index = 0; ; index += 1) {
    const { coCommit } = await nonces.burn('key_a', `command-${index}`, NOW, 'with-command');
    await store.append(appendOf(`s-${index}`, FIRST, 1, [coCommit!]));
    say(`command-${index}`);
  }
}

await Promise.all([read(), command()]);
