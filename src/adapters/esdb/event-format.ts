import {
  binaryEvent,
  type AllStreamRecordedEvent,
  type BinaryEventData,
  type RecordedEvent as ClientEvent,
} from '@eventstore/db-client';
import { DamagedEvent, type EncodedEvent, type RecordedEvent } from '../../ports/event-log/event-store.ts';
import { hashRecorded } from '../../runtime/commands/codec.ts';
import { isSet, positionText } from './position.ts';
import type { StreamNames } from './stream-names.ts';
import { must } from '../../domain/values/must.ts';

/*
 * Texts are stored as octets: the client parses and re-serialises everything that looks like JSON, and a hash needs
 * every byte. The custom metadata therefore begins with a line that is not JSON (format, version, time, hash), followed
 * by the event's metadata text.
 */
const FORMAT = 'quittance-1';

export function toClientEvent({ id, type, version, atMs, data, metadata, hash }: EncodedEvent): BinaryEventData {
  return binaryEvent({
    id,
    type,
    data: octets(data),
    metadata: octets(`${FORMAT} ${version} ${atMs} ${hash}\n${metadata}`),
  });
}

/** Reads an event back and recomputes its hash. Throws `DamagedEvent`. */
export function fromClientEvent(event: ClientEvent | AllStreamRecordedEvent, names: StreamNames): RecordedEvent {
  const place = `event ${event.revision} of stream ${event.streamId}`;
  if (!(event.data instanceof Uint8Array) || !(event.metadata instanceof Uint8Array))
    throw new DamagedEvent(`${place} was not written by this service`);
  const framed = text(event.metadata);
  const header = /^quittance-1 (\d+) (\d+) ([0-9a-f]{64})\n/.exec(framed);
  if (!header) throw new DamagedEvent(`${place} has no header of this service`);
  if (!isSet(event.position)) throw new DamagedEvent(`${place} came without its position`);
  const recorded: RecordedEvent = {
    stream: names.ofOurs(event.streamId),
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

/** The client accepts only a plain `Uint8Array` as octets; it would serialise a `Buffer` as JSON. */
const octets = (value: string): Uint8Array => new Uint8Array(Buffer.from(value, 'utf8'));

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');
