import type { AppendRequest, EncodedEvent } from '../../../ports/event-log/event-store.ts';
import { SEPARATOR } from './append-parcel.ts';

const PRINTABLE = /^[!-~]{1,256}$/;
const HASH = /^[0-9a-f]{64}$/;
const MAX_EVENTS = 256;
const MAX_EVENT_CHARACTERS = 2 * 1024 * 1024;

/**
 * The fault of a request that is a caller's bug, found before it can spoil the batch of others; null if there is none.
 */
export function mistakeIn({ stream, expected, events }: AppendRequest): TypeError | null {
  if (typeof stream !== 'string' || !PRINTABLE.test(stream))
    return new TypeError(`not a stream name: ${String(stream).slice(0, 80)}`);
  if (expected !== 'no-stream' && !(Number.isSafeInteger(expected) && expected >= 0)) {
    return new TypeError(`not an expected revision of ${stream}: ${String(expected)}`);
  }
  if (events.length === 0 || events.length > MAX_EVENTS)
    return new TypeError(`an append takes 1 to ${MAX_EVENTS} events, not ${events.length}`);
  const odd = events.find((event) => !isStorable(event));
  return odd ? new TypeError(`not an encoded event of ${stream}: ${String(odd.type)}`) : null;
}

function isStorable({ id, type, version, atMs, data, metadata, hash }: EncodedEvent): boolean {
  return (
    typeof id === 'string' &&
    PRINTABLE.test(id) &&
    typeof type === 'string' &&
    PRINTABLE.test(type) &&
    Number.isSafeInteger(version) &&
    Number.isSafeInteger(atMs) &&
    typeof data === 'string' &&
    typeof metadata === 'string' &&
    !data.includes(SEPARATOR) &&
    !metadata.includes(SEPARATOR) &&
    data.length + metadata.length <= MAX_EVENT_CHARACTERS &&
    typeof hash === 'string' &&
    HASH.test(hash)
  );
}
