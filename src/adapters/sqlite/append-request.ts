import type { AppendRequest, EncodedEvent } from '../../ports/event-store.ts';

const STREAM = /^[!-~]{1,256}$/;
const HASH = /^[0-9a-f]{64}$/;
const MAX_EVENTS = 256;
const MAX_EVENT_CHARACTERS = 2 * 1024 * 1024;

/** Throws `TypeError` for a request that no caller may make: a bug, found before it can spoil the batch of others. */
export function checkRequest({ stream, expected, events }: AppendRequest): void {
  if (typeof stream !== 'string' || !STREAM.test(stream)) throw new TypeError(`not a stream name: ${String(stream).slice(0, 80)}`);
  if (expected !== 'no-stream' && !(Number.isSafeInteger(expected) && expected >= 0)) {
    throw new TypeError(`not an expected revision of ${stream}: ${String(expected)}`);
  }
  if (events.length === 0 || events.length > MAX_EVENTS) throw new TypeError(`an append takes 1 to ${MAX_EVENTS} events, not ${events.length}`);
  for (const event of events) if (!isStorable(event)) throw new TypeError(`not an encoded event of ${stream}: ${String(event.type)}`);
}

function isStorable({ id, type, version, atMs, data, metadata, hash }: EncodedEvent): boolean {
  return (
    typeof id === 'string' &&
    typeof type === 'string' &&
    Number.isSafeInteger(version) &&
    Number.isSafeInteger(atMs) &&
    typeof data === 'string' &&
    typeof metadata === 'string' &&
    data.length + metadata.length <= MAX_EVENT_CHARACTERS &&
    typeof hash === 'string' &&
    HASH.test(hash)
  );
}
