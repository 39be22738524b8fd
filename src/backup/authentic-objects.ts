import { createHmac, timingSafeEqual, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { CommandRefused } from '../operator/server/commands.ts';
import type { ObjectStore } from '../ports/event-log/object-store.ts';

const headForm = z.object({
  /** Number of writes of the object. */
  version: z.int(),
  /** The minimum versions of other objects at the time of writing, by name. */
  needs: z.record(z.string(), z.int()),
});

type Head = z.infer<typeof headForm>;

const TAG_BYTES = 32;

/**
 * An object store that detects changes by anyone else with write access. Each object is stored as an HMAC-SHA256 over
 * its name, a line of JSON (`Head`) and its content. Objects below `pins` name the versions of all other objects, so
 * once the newest of them has been read, a missing object or an older version of one is refused. Throws
 * `CommandRefused`.
 */
export function authenticObjects(objects: ObjectStore, key: KeyObject, pins: string): ObjectStore {
  const { place } = objects;
  const versions = new Map<string, number>();
  const tagOf = (name: string, content: Uint8Array): Buffer =>
    createHmac('sha256', key).update(`${name}\n`).update(content).digest();

  function opened(name: string, bytes: Buffer): { readonly head: Head; readonly content: Buffer } {
    const [tag, rest] = [bytes.subarray(0, TAG_BYTES), bytes.subarray(TAG_BYTES)];
    if (tag.length < TAG_BYTES || !timingSafeEqual(tag, tagOf(name, rest)))
      throw new CommandRefused(
        `${name} in ${place} is forged or damaged: this installation never wrote it there. Put back the right version`,
      );
    const end = rest.indexOf('\n');
    return { head: headForm.parse(JSON.parse(rest.toString('utf8', 0, end))), content: rest.subarray(end + 1) };
  }

  function demandNotOlder(name: string, version: number, known: number): void {
    if (version < known)
      throw new CommandRefused(
        `${name} in ${place} is version ${version}, but version ${known} was there before: somebody put an old one back`,
      );
  }

  const demandPresent = (lost: string | undefined): void => {
    if (lost !== undefined)
      throw new CommandRefused(
        `${lost} is gone from ${place}: objects are missing. Put them back from old versions or a copy of the place`,
      );
  };

  return {
    place,
    put: async (name, bytes) => {
      const version = (versions.get(name) ?? 0) + 1;
      const others = [...versions].filter(([other]) => !other.startsWith(pins));
      const head: Head = { version, needs: name.startsWith(pins) ? Object.fromEntries(others) : {} };
      const content = Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), bytes]);
      await objects.put(name, Buffer.concat([tagOf(name, content), content]));
      versions.set(name, version);
    },
    get: async (name) => {
      const bytes = await objects.get(name);
      if (bytes === null) {
        demandPresent(versions.has(name) ? name : undefined);
        return null;
      }
      const { head, content } = opened(name, bytes);
      demandNotOlder(name, head.version, versions.get(name) ?? 0);
      versions.set(name, head.version);
      for (const [other, needed] of Object.entries(head.needs)) {
        const known = versions.get(other) ?? needed;
        demandNotOlder(other, known, needed);
        versions.set(other, known);
      }
      return content;
    },
    list: async (prefix) => {
      const names = await objects.list(prefix);
      const found = new Set(names);
      demandPresent([...versions.keys()].find((name) => name.startsWith(prefix) && !found.has(name)));
      return names;
    },
  };
}
