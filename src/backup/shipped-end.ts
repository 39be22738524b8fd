import { z } from 'zod';
import { CommandRefused } from '../operator/server/commands.ts';
import type { ObjectStore } from '../ports/event-log/object-store.ts';
import { NamesSeen } from './shipped-lines.ts';

export const SHIPPED_LOG = 'log/';
export const SHIPPED_SALTS = 'salts/';
/** One line of the shipped salts; base64. */
export const shippedSalt = z.object({ subject: z.string(), salt: z.string() });
/** How far shipping to a place has come; written last. */
export const SHIPPED_END = 'end';

const inventory = z.strictObject({ objects: z.int().min(0), names: z.string().regex(/^[0-9a-f]{64}$/) });

const schema = z.strictObject({
  format: z.literal(1),
  events: z.int().min(0),
  last_event_at: z.iso.datetime().nullable(),
  shipped_at: z.iso.datetime(),
  /** Why the signer's files are missing; null if they are included. */
  without_signer: z.string().nullable(),
  /** Objects are only added, so earlier ones remain the first. */
  log: inventory,
});

export type ShippedEnd = z.infer<typeof schema>;

/** Null before anything was shipped. Throws `CommandRefused`. */
export async function readEnd(objects: ObjectStore): Promise<ShippedEnd | null> {
  const bytes = await objects.get(SHIPPED_END);
  return bytes && endIn(bytes.toString(), objects.place);
}

export function endIn(text: string, place: string): ShippedEnd {
  const parsed = schema.safeParse(jsonOf(text));
  if (!parsed.success)
    throw new CommandRefused(`${SHIPPED_END} in ${place} is damaged: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

/** Null for invalid JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * Detects at once what would otherwise be missed only when needed, such as the salts of personal data. Throws
 * `CommandRefused`.
 */
export async function demandAllObjects(objects: ObjectStore, { log }: ShippedEnd): Promise<void> {
  const names = await objects.list(SHIPPED_LOG);
  const found = new NamesSeen().with(names.slice(0, log.objects)).inventory();
  if (found.objects !== log.objects || found.names !== log.names)
    throw new CommandRefused(
      `${SHIPPED_LOG} in ${objects.place} holds ${names.length} objects and not all of the ${log.objects} that were shipped: objects are missing. ` +
        'Put them back from old versions or a copy of the place',
    );
  const last = names.at(-1);
  if (last === undefined) return;
  // The newest object names all others outside the log, so reading it makes lists refuse gaps.
  await objects.get(last);
  await objects.list('');
}
