import { DamagedEvent, type EncodedEvent, type RecordedEvent } from '../../ports/event-log/event-store.ts';
import { hashRecorded } from '../../runtime/commands/codec.ts';
import type { ProposedEvent, ServerEvent } from './client/messages.ts';
import { isSet, positionText } from './position.ts';
import type { StreamNames } from './stream-names.ts';
import { must } from '../../domain/values/must.ts';

/*
 * Texts are stored as octets, because a hash needs every byte and other clients parse and re-serialise what is called
 * JSON. The custom metadata begins with a line that is not JSON (format, version, time, hash), followed by the event's
 * metadata text.
 */
const FORMAT = 'quittance-1';

export const toServerEvent = ({ id, type, version, atMs, data, metadata, hash }: EncodedEvent): ProposedEvent => ({
  id,
  type,
  isJson: false,
  data: octets(data),
  metadata: octets(`${FORMAT} ${version} ${atMs} ${hash}\n${metadata}`),
});

/** Reads an event back and recomputes its hash. Throws `DamagedEvent`. */
export function fromServerEvent(event: ServerEvent, names: StreamNames): RecordedEvent {
  const place = `event ${event.revision} of stream ${event.stream}`;
  const framed = text(event.metadata);
  const header = /^quittance-1 (\d+) (\d+) ([0-9a-f]{64})\n/.exec(framed);
  if (!header) throw new DamagedEvent(`${place} has no header of this service`);
  if (!isSet(event.position)) throw new DamagedEvent(`${place} came without its position`);
  const recorded: RecordedEvent = {
    stream: names.ofOurs(event.stream),
    revision: Number(event.revision),
    position: positionText(event.position),
    id: event.id,
    type: event.type,
    version: Number(header[1]),
    atMs: Number(header[2]),
    data: text(event.data),
    metadata: framed.slice(header[0].length),
    hash: must(header[3]),
  };
  if (hashRecorded(recorded) !== recorded.hash)
    throw new DamagedEvent(`${place} does not have the hash it was written with`);
  return recorded;
}

const octets = (value: string): Uint8Array => Buffer.from(value, 'utf8');

/** Views the bytes as they are: events are read by the million. */
const text = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString('utf8');
