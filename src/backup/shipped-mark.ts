import { createSecretKey, randomBytes, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { CommandRefused } from '../operator/server/commands.ts';
import type { ObjectStore } from '../ports/event-log/object-store.ts';
import { messageOf } from '../runtime/util/message-of.ts';
import { isSealedUnder, openWith, sealWith, type KeyList } from '../runtime/cryptography/sealing.ts';
import { authenticObjects } from './authentic-objects.ts';
import { jsonOf, readEnd, SHIPPED_LOG, type ShippedEnd } from './shipped-end.ts';

/** Marks a place with a shipped log; written first. */
export const SHIPPED_MARK = 'shipped.json';

const PURPOSE = 'quittance/log-shipping/v1';
const schema = z.strictObject({
  format: z.literal(2),
  began_at: z.iso.datetime(),
  /** Sealed; authenticates all other objects of this place only. */
  key: z.string(),
});
type ShippedMark = z.infer<typeof schema>;

/** The mark of a new place. */
export const newMark = (keys: KeyList, nowMs: number): Buffer =>
  markBytes({ format: 2, began_at: new Date(nowMs).toISOString(), key: sealWith(keys, randomBytes(32), PURPOSE) });

/** The objects next to a mark, authenticated with its key. Throws `CommandRefused`. */
export const objectsBeside = (mark: Buffer, objects: ObjectStore, keys: KeyList): ObjectStore =>
  authenticObjects(objects, keyIn(markIn(mark, objects), objects, keys), SHIPPED_LOG);

/** The contents of a place and how far they go; null before anything was shipped to it. Throws `CommandRefused`. */
export async function shippedIn(
  place: ObjectStore,
  keys: KeyList,
): Promise<{ readonly objects: ObjectStore; readonly end: ShippedEnd } | null> {
  const mark = await place.get(SHIPPED_MARK);
  if (mark === null) return null;
  const objects = objectsBeside(mark, place, keys);
  const end = await readEnd(objects);
  return end && { objects, end };
}

/** The mark resealed under the first key; null if it already is. Throws `CommandRefused`. */
export function resealed(bytes: Buffer, objects: ObjectStore, keys: KeyList): Buffer | null {
  const mark = markIn(bytes, objects);
  if (isSealedUnder(keys.keys[0], mark.key)) return null;
  return markBytes({ ...mark, key: sealWith(keys, keyIn(mark, objects, keys).export(), PURPOSE) });
}

function markIn(bytes: Buffer, { place }: ObjectStore): ShippedMark {
  const parsed = schema.safeParse(jsonOf(bytes.toString()));
  if (!parsed.success)
    throw new CommandRefused(`${SHIPPED_MARK} in ${place} is damaged: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

function keyIn({ key }: ShippedMark, { place }: ObjectStore, keys: KeyList): KeyObject {
  try {
    return createSecretKey(openWith(keys, key, PURPOSE));
  } catch (error) {
    throw new CommandRefused(
      `${SHIPPED_MARK} in ${place} does not open with ${keys.setting}, so its contents cannot be authenticated: ${messageOf(error)}`,
    );
  }
}

const markBytes = (mark: ShippedMark): Buffer => Buffer.from(`${JSON.stringify(mark, null, 2)}\n`);
