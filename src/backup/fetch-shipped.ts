import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { openSqliteEventStore, type SqliteEventStore } from '../adapters/sqlite/event-log/event-store.ts';
import { PersonalKeysFile } from '../adapters/sqlite/event-log/personal-keys-file.ts';
import { CommandRefused } from '../operator/server/commands.ts';
import type { ObjectStore } from '../ports/event-log/object-store.ts';
import type { KeyList } from '../runtime/cryptography/sealing.ts';
import { writePrivate } from '../runtime/files/private-file.ts';
import { describeData, digestsIn, LEFT_OUT } from './make.ts';
import { MANIFEST, OF_SIGNER, SIGNER_FOLDER, type Manifest } from './manifest.ts';
import { OF_DATA, SHIPPED_FILES, SHIPPED_JOURNALS } from './ship-files.ts';
import { demandAllObjects, SHIPPED_END, SHIPPED_LOG, shippedSalt, SHIPPED_SALTS } from './shipped-end.ts';
import { shippedLines, type NumberedLine } from './shipped-lines.ts';
import { shippedIn, SHIPPED_MARK } from './shipped-mark.ts';
import { must } from '../domain/values/must.ts';
import { messageOf } from '../runtime/util/message-of.ts';
import { makeFolder } from '../runtime/files/make-folder.ts';

const shippedEvent = z.object({
  ...{ stream: z.string(), revision: z.int(), id: z.string(), type: z.string(), version: z.int(), atMs: z.number() },
  ...{ data: z.string(), metadata: z.string(), hash: z.string() },
});

/**
 * Makes a backup from a shipped log in an empty folder: the same files that `quittance backup` would have made at that
 * time. Throws `CommandRefused`.
 */
export async function fetchShipped(place: ObjectStore, keys: KeyList, folder: string): Promise<void> {
  const shipped = await shippedIn(place, keys);
  if (!shipped) throw new CommandRefused(`${place.place} holds no shipped log (${SHIPPED_MARK} and ${SHIPPED_END})`);
  const { objects, end } = shipped;
  await demandAllObjects(objects, end);
  await writeLog(objects, keys, folder, end.events);
  await writeSalts(objects, folder);
  const signer = join(folder, SIGNER_FOLDER);
  await writeFiles(objects, folder, signer);
  for (const name of readdirSync(folder).filter((file) => LEFT_OUT.test(file))) rmSync(join(folder, name));
  const manifest: Manifest = {
    ...{ format: 1, made_at: end.shipped_at, data: await describeData(folder) },
    signer: end.without_signer === null ? { files: digestsIn(signer) } : null,
  };
  writePrivate(join(folder, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`);
}

/** Sealed anew: the objects are authentic. */
async function writeLog(objects: ObjectStore, sealKeys: KeyList, folder: string, expected: number): Promise<void> {
  const store = await openSqliteEventStore({ dataDir: folder, sealKeys });
  try {
    let end = 0;
    for await (const lines of readable(objects, SHIPPED_LOG)) {
      const gap = lines.find(({ number }, index) => number !== end + index + 1);
      if (gap)
        throw new CommandRefused(
          `${objects.place}/${SHIPPED_LOG} lacks the events from ${end + 1} to ${gap.number - 1}`,
        );
      await appendAll(store, lines);
      end += lines.length;
    }
    if (end < expected)
      throw new CommandRefused(
        `${SHIPPED_LOG} in ${objects.place} holds ${end} events and had ${expected} once: objects are missing, or the last one is an old version`,
      );
  } finally {
    await store.close();
  }
}

/** In order, so that each event gets its original position. */
async function appendAll(store: SqliteEventStore, lines: readonly NumberedLine[]): Promise<void> {
  const results = await Promise.all(
    lines.map(({ text }) => {
      const { stream, revision, ...event } = shippedEvent.parse(JSON.parse(text));
      return store.append({ stream, expected: revision === 0 ? 'no-stream' : revision - 1, events: [event] });
    }),
  );
  const wrong = results.findIndex(
    (result, index) => !result.ok || result.position !== String(must(lines[index]).number),
  );
  if (wrong >= 0)
    throw new CommandRefused(
      `event ${must(lines[wrong]).number} does not follow from the ones before it: the shipped log is damaged`,
    );
}

async function writeSalts(objects: ObjectStore, folder: string): Promise<void> {
  const keys = new PersonalKeysFile(folder);
  try {
    for await (const lines of readable(objects, SHIPPED_SALTS)) {
      // With their original numbers, because salts made after a restore must come after the shipped ones.
      keys.put(
        lines.map(({ number, text }) => {
          const { subject, salt } = shippedSalt.parse(JSON.parse(text));
          return { number, subject, salt: Buffer.from(salt, 'base64') };
        }),
      );
    }
  } finally {
    keys.close();
  }
}

async function writeFiles(objects: ObjectStore, folder: string, signer: string): Promise<void> {
  makeFolder(signer);
  const named = (name: string): string => {
    if (!OF_SIGNER.test(name))
      throw new CommandRefused(`${objects.place} holds a file called ${JSON.stringify(name)}, which no signer writes`);
    return name;
  };
  for (const object of await objects.list(SHIPPED_FILES)) {
    const name = object.slice(SHIPPED_FILES.length);
    const path =
      name === `data/${OF_DATA}` ? join(folder, OF_DATA) : join(signer, named(name.replace(/^signer\//, '')));
    writeFileSync(path, must(await objects.get(object)), { mode: 0o600 });
  }
  const journals = new Set(
    (await objects.list(SHIPPED_JOURNALS)).map((object) => dirname(object).slice(SHIPPED_JOURNALS.length)),
  );
  for (const name of journals) {
    const path = join(signer, named(name));
    let end = 0;
    for await (const lines of readable(objects, `${SHIPPED_JOURNALS}${name}/`)) {
      for (const { number, text } of lines) {
        const next = end + Buffer.byteLength(text) + 1;
        if (number !== next)
          throw new CommandRefused(
            `${objects.place}/${SHIPPED_JOURNALS}${name} lacks what follows byte ${end}: objects are missing`,
          );
        end = next;
      }
      writeFileSync(path, lines.map(({ text }) => `${text}\n`).join(''), { mode: 0o600, flag: 'a' });
    }
  }
}

/** Turns unreadable objects into a message for the operator. */
async function* readable(objects: ObjectStore, prefix: string): AsyncGenerator<readonly NumberedLine[]> {
  try {
    yield* shippedLines(objects, prefix);
  } catch (error) {
    throw error instanceof CommandRefused ? error : new CommandRefused(messageOf(error));
  }
}
