import { createSecretKey, randomBytes, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { CommandRefused } from '../../operator/commands.ts';
import type { ObjectStore } from '../../ports/object-store.ts';
import { messageOf } from '../../runtime/util/message-of.ts';
import { isSealedUnder, openWith, sealWith, type KeyList } from '../../runtime/util/sealing.ts';
import { authenticObjects } from './authentic-objects.ts';
import { jsonOf, readEnd, SHIPPED_LOG, type ShippedEnd } from './shipped-end.ts';

/** Says that a place holds a shipped log; written first. */
export const SHIPPED_MARK = 'shipped.json';

const PURPOSE = 'quittance/log-shipping/v1';
const schema = z.strictObject({
  format: z.literal(2),
  began_at: z.iso.datetime(),
  /** Authenticates all other objects of the place, and of no other place; sealed. */
  key: z.string(),
});
type ShippedMark = z.infer<typeof schema>;

/** The mark of a new place. */
export const newMark = (keys: KeyList, nowMs: number): Buffer =>
  markBytes({ format: 2, began_at: new Date(nowMs).toISOString(), key: sealWith(keys, randomBytes(32), PURPOSE) });

/** The objects beside a mark, as its key vouches for them. Throws `CommandRefused`. */
export const objectsBeside = (mark: Buffer, objects: ObjectStore, keys: KeyList): ObjectStore =>
  authenticObjects(objects, keyIn(markIn(mark, objects), objects, keys), SHIPPED_LOG);

/** What a place holds and how far it has come; null before anything was shipped to it. Throws `CommandRefused`. */
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

/** The same mark sealed under the first key; null where it is already. Throws `CommandRefused`. */
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
      `${SHIPPED_MARK} in ${place} does not open with ${keys.setting}, so nothing vouches for what lies there: ${messageOf(error)}`,
    );
  }
}

const markBytes = (mark: ShippedMark): Buffer => Buffer.from(`${JSON.stringify(mark, null, 2)}\n`);
