import { memoizedByObject } from '../../domain/values/memoized.ts';
import { hash } from 'node:crypto';
import { canonicalText, type HashedParts } from '../../domain/events/canonical-text.ts';
import type { DomainEvent, DomainEventType, EventOf } from '../../domain/events/domain-event.ts';
import type { EventMetadata, StoredEvent } from '../../domain/events/envelope.ts';
import { UPCASTERS } from '../../domain/upcasters.ts';
import type { EncodedEvent, RecordedEvent } from '../../ports/event-log/event-store.ts';
import { CURRENT_VERSION, isEventType } from './event-versions.ts';

/** The event log contains an event that this build cannot read: a newer build wrote it, or the text is not an event. */
export class UnknownEvent extends Error {
  override readonly name = 'UnknownEvent';
}

export interface EventToEncode {
  /** UUID, the same for every retry of an append. */
  readonly id: string;
  readonly stream: string;
  readonly revision: number;
  readonly atMs: number;
  readonly event: DomainEvent;
  readonly metadata: EventMetadata;
}

/**
 * Encodes an event as the text that is stored forever, with the hash that the stream's next event will name as `prev`.
 */
export function encodeEvent({ id, stream, revision, atMs, event, metadata }: EventToEncode): EncodedEvent {
  const version = CURRENT_VERSION[event.type];
  const data = JSON.stringify(event.data);
  const metadataText = JSON.stringify(metadata);
  const text = canonicalText({ stream, revision, id, type: event.type, version, atMs, data, metadata: metadataText });
  const encoded = {
    id,
    type: event.type,
    version,
    atMs,
    data,
    metadata: metadataText,
    hash: hash('sha256', text, 'hex'),
  };
  if (!isOfDelivery(event)) remember(encoded, event, metadata);
  return encoded;
}

interface Written {
  readonly encoded: EncodedEvent;
  readonly event: DomainEvent;
  readonly metadata: EventMetadata;
}

/**
 * Events written recently by this process, each in the slot that its hash determines, until it is taken or overwritten.
 * The process's own subscribers receive them within moments and need not parse the text again. A `Map` is not used,
 * because its outgrown tables would keep removed entries alive over many garbage collections.
 */
const written: (Written | null)[] = Array.from({ length: 256 }, () => null);

/** Hashes are uniform, so two digits determine the slot. */
const placeOf = (hash: string): number => Number.parseInt(hash.slice(0, 2), 16);

/** Deliveries keep their own state; nobody in the writing process reads back their many events. */
const isOfDelivery = ({ type }: DomainEvent): boolean => type.startsWith('Delivery');

function remember(encoded: EncodedEvent, event: DomainEvent, metadata: EventMetadata): void {
  written[placeOf(encoded.hash)] = { encoded, event, metadata };
}

/**
 * Found by hash, but only if the texts are equal, whatever the record claims: a forged record is parsed like any other.
 */
function takeWritten({ hash: key, type, version, data, metadata }: RecordedEvent): Written | null {
  const place = placeOf(key);
  const known = written[place];
  if (!known || known.encoded.hash !== key) return null;
  const { encoded } = known;
  if (encoded.type !== type || encoded.version !== version || encoded.data !== data || encoded.metadata !== metadata)
    return null;
  written[place] = null;
  return known;
}

/**
 * Decodes a stored event in its current shape, once for all subscribers. Throws `UnknownEvent` for a type or version
 * that this build does not know.
 */
export const decodeEvent = memoizedByObject(decode);

/** The data of a record that must have this type. */
export function dataOf<Type extends DomainEventType>(recorded: RecordedEvent, type: Type): EventOf<Type>['data'] {
  const event: AnyEvent = decodeEvent(recorded).event;
  if (!isOfType(event, type)) throw new UnknownEvent(`${place(recorded)} is of the type ${event.type}, not ${type}`);
  return event.data;
}

interface AnyEvent {
  readonly type: string;
  readonly data: unknown;
}

const isOfType = <Type extends DomainEventType>(
  event: AnyEvent,
  type: Type,
): event is { readonly type: Type; readonly data: EventOf<Type>['data'] } => event.type === type;

function decode(recorded: RecordedEvent): StoredEvent<DomainEvent> {
  const { stream, revision, position, id, type, version, atMs } = recorded;
  const own = takeWritten(recorded);
  return {
    stream,
    revision,
    position,
    id,
    version,
    atMs,
    event: own?.event ?? ({ type, data: upcast(recorded, JSON.parse(recorded.data)) } as DomainEvent),
    metadata: own?.metadata ?? (JSON.parse(recorded.metadata) as EventMetadata),
    hash: recorded.hash,
  };
}

/** Like `decodeEvent`, for a single reader that rarely needs metadata: those are decoded on access. */
export const decodeData = (recorded: RecordedEvent): StoredEvent<DomainEvent> => new DecodedData(recorded);

class DecodedData implements StoredEvent<DomainEvent> {
  readonly event: DomainEvent;
  readonly #recorded: RecordedEvent;

  constructor(recorded: RecordedEvent) {
    this.event = { type: recorded.type, data: upcast(recorded, JSON.parse(recorded.data)) } as DomainEvent;
    this.#recorded = recorded;
  }

  get stream(): string {
    return this.#recorded.stream;
  }

  get revision(): number {
    return this.#recorded.revision;
  }

  get position(): string {
    return this.#recorded.position;
  }

  get id(): string {
    return this.#recorded.id;
  }

  get version(): number {
    return this.#recorded.version;
  }

  get atMs(): number {
    return this.#recorded.atMs;
  }

  get metadata(): EventMetadata {
    return JSON.parse(this.#recorded.metadata) as EventMetadata;
  }

  get hash(): string {
    return this.#recorded.hash;
  }
}

/** The hash (hex) of the stored text, whatever the record claims. */
export function hashRecorded(recorded: HashedParts): string {
  return hash('sha256', canonicalText(recorded), 'hex');
}

function upcast(recorded: RecordedEvent, data: unknown): unknown {
  const { type, version } = recorded;
  if (!isEventType(type)) throw new UnknownEvent(`${place(recorded)} is of the unknown type ${JSON.stringify(type)}`);
  const current: number = CURRENT_VERSION[type];
  if (version === current) return data;
  let reached = version;
  let upcasted = data;
  for (const steps = UPCASTERS[type]; reached < current; reached += 1) {
    const step = steps?.[reached];
    if (!step) break;
    upcasted = step(upcasted);
  }
  if (reached !== current)
    throw new UnknownEvent(
      `${place(recorded)} is ${type} in version ${version}; this build knows versions up to ${current}`,
    );
  return upcasted;
}

const place = ({ stream, revision }: RecordedEvent): string => `event ${revision} of stream ${stream}`;
