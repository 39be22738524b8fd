import { z } from 'zod';
import type { RecordedEvent } from '../../ports/event-log/event-store.ts';

/*
 * The audit export: the event log as JSON Lines, one event per line in log order. `data` and `metadata` are strings of
 * JSON, byte for byte as stored, because the hashes cover these bytes.
 */

const line = z.strictObject({
  position: z.int().min(1),
  stream: z.string().min(1),
  revision: z.int().min(0),
  id: z.string().min(1),
  type: z.string().min(1),
  version: z.int().min(1),
  at_ms: z.int(),
  data: z.string(),
  metadata: z.string(),
  hash: z.string().regex(/^[0-9a-f]{64}$/),
});

/** `number`: position in the event log, from 1. */
export function auditLine(event: RecordedEvent, number: number): string {
  const { stream, revision, id, type, version, atMs, data, metadata, hash } = event;
  return JSON.stringify({
    position: number,
    stream,
    revision,
    id,
    type,
    version,
    at_ms: atMs,
    data,
    metadata,
    hash,
  } satisfies z.output<typeof line>);
}

/** The event of a line, or the reason why the line is invalid. */
export function parseAuditLine(text: string): RecordedEvent | string {
  try {
    const parsed = line.safeParse(JSON.parse(text));
    if (!parsed.success)
      return `it is not an event: ${parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ')}`;
    const { position, at_ms: atMs, ...event } = parsed.data;
    return { ...event, atMs, position: String(position) };
  } catch {
    return 'it is not JSON';
  }
}
