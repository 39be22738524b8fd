import type { LogPosition } from '../position.ts';
import { bytes, decode, encoded, inner, message, number, type Reader, text, uint64, type Writer } from './fields.ts';

/*
 * The messages of the service `event_store.client.streams.Streams` that this service sends and receives. Their fields
 * have the numbers of streams.proto and shared.proto of the server (src/Protos/Grpc).
 */

/** An event as the server keeps it. */
export interface ServerEvent {
  readonly id: string;
  readonly stream: string;
  readonly revision: bigint;
  readonly position: LogPosition;
  readonly type: string;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
}

export interface ProposedEvent {
  readonly id: string;
  readonly type: string;
  readonly isJson: boolean;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
}

export type Expected = bigint | 'no-stream' | 'any';

/** From a place on, backwards or forwards; of a stream or of the whole log. */
export type ReadRequest = {
  readonly count: number;
  readonly backwards?: boolean;
} & ({ readonly stream: string; readonly from: bigint | 'end' } | { readonly stream?: never; readonly from: Place });

type Place = LogPosition | 'start' | 'end';

/** The streams that a subscription wants. */
export type StreamFilter = { readonly prefixes: readonly string[] } | { readonly regex: string };

/** What a read or subscription hands over. The rest of what a server says stands for nothing here. */
export type ReadAnswer =
  | { readonly kind: 'event'; readonly event: ServerEvent }
  | { readonly kind: 'caught-up' | 'fell-behind' | 'other' };

const streamOf = (writer: Writer, field: number, stream: string): void =>
  message(writer, field, (identifier) => bytes(identifier, 3, Buffer.from(stream, 'utf8')));

function place(writer: Writer, from: Place): void {
  message(writer, 2, (all) => {
    if (from === 'start') message(all, 2);
    else if (from === 'end') message(all, 3);
    else message(all, 1, (position) => number(number(position, 1, from.commit), 2, from.prepare));
  });
}

/** Ids of events come as text. */
const idsAsText = (options: Writer): void => message(options, 9, (ids) => message(ids, 2));

export const encodeRead = (request: ReadRequest): Buffer =>
  encoded((writer) =>
    message(writer, 1, (options) => {
      const { stream, from } = request;
      if (stream === undefined) place(options, from);
      else
        message(options, 1, (of) => {
          streamOf(of, 1, stream);
          if (from === 'end') message(of, 4);
          else number(of, 2, from);
        });
      if (request.backwards) number(options, 3, 1);
      number(options, 5, request.count);
      message(options, 8);
      idsAsText(options);
    }),
  );

/** Checkpoints are told of after each 32 events that were searched. */
export const encodeSubscription = (from: Place, filter: StreamFilter): Buffer =>
  encoded((writer) =>
    message(writer, 1, (options) => {
      place(options, from);
      message(options, 6);
      message(options, 7, (wanted) => {
        message(wanted, 1, (expression) => {
          if ('regex' in filter) text(expression, 1, filter.regex);
          else for (const prefix of filter.prefixes) text(expression, 2, prefix);
        });
        message(wanted, 4);
        number(wanted, 5, 1);
      });
      idsAsText(options);
    }),
  );

const OTHER: ReadAnswer = { kind: 'other' };
const SIGNS: Readonly<Record<number, ReadAnswer>> = { 8: { kind: 'caught-up' }, 9: { kind: 'fell-behind' } };

export function decodeRead(answer: Uint8Array): ReadAnswer {
  let read = OTHER;
  decode(answer, (field, reader) => {
    read = SIGNS[field] ?? read;
    if (field !== 1) return false;
    inner(reader, (part, of) => {
      if (part === 1) read = { kind: 'event', event: readEvent(of) };
      return part === 1;
    });
    return true;
  });
  return read;
}

function readEvent(reader: Reader): ServerEvent {
  const event = { id: '', stream: '', revision: 0n, type: '', data: NOTHING, metadata: NOTHING };
  const position = { commit: 0n, prepare: 0n };
  inner(reader, (field, of) => {
    if (field === 1) event.id = uuid(of);
    else if (field === 2) event.stream = streamName(of);
    else if (field === 3) event.revision = uint64(of);
    else if (field === 4) position.prepare = uint64(of);
    else if (field === 5) position.commit = uint64(of);
    else if (field === 6) {
      const [name, value] = entry(of);
      if (name === 'type') event.type = value;
    } else if (field === 7) event.metadata = of.bytes();
    else if (field === 8) event.data = of.bytes();
    else return false;
    return true;
  });
  return { ...event, position };
}

const NOTHING: Uint8Array = new Uint8Array(0);

/** The text in a message that has nothing else. */
function textAt(reader: Reader, number: number): string {
  let found = '';
  inner(reader, (field, of) => {
    if (field === number) found = of.string();
    return field === number;
  });
  return found;
}

const uuid = (reader: Reader): string => textAt(reader, 2);
const streamName = (reader: Reader): string => textAt(reader, 3);

function entry(reader: Reader): readonly [name: string, value: string] {
  let [name, value] = ['', ''];
  inner(reader, (field, of) => {
    if (field === 1) name = of.string();
    else if (field === 2) value = of.string();
    else return false;
    return true;
  });
  return [name, value];
}

export interface AppendRequest {
  readonly correlationId: string;
  readonly stream: string;
  readonly expected: Expected;
  readonly events: readonly ProposedEvent[];
  /** How long the server may take before it begins to write. */
  readonly deadlineMs: number;
}

export const encodeAppend = ({ correlationId, stream, expected, events, deadlineMs }: AppendRequest): Buffer =>
  encoded((writer) => {
    uuidIn(writer, 1, correlationId);
    message(writer, 2, (options) => {
      streamOf(options, 1, stream);
      if (typeof expected === 'bigint') number(options, 2, expected);
      else message(options, expected === 'no-stream' ? 3 : 4);
      message(options, 7, (duration) =>
        number(number(duration, 1, Math.floor(deadlineMs / 1_000)), 2, (deadlineMs % 1_000) * 1_000_000),
      );
    });
    for (const event of events) message(writer, 3, (proposed) => writeEvent(proposed, event));
    number(writer, 4, 1);
  });

function writeEvent(writer: Writer, { id, type, isJson, data, metadata }: ProposedEvent): void {
  uuidIn(writer, 1, id);
  const property = (name: string, value: string): void => message(writer, 2, (of) => text(text(of, 1, name), 2, value));
  property('type', type);
  property('content-type', isJson ? 'application/json' : 'application/octet-stream');
  bytes(writer, 3, metadata);
  bytes(writer, 4, data);
}

const uuidIn = (writer: Writer, field: number, id: string): void => message(writer, field, (of) => text(of, 2, id));

/** What became of an append: where the stream ends now, or why it was not stored. */
export interface AppendAnswer {
  readonly correlationId: string;
  readonly outcome:
    | { readonly stored: true; readonly revision: bigint; readonly position: LogPosition | null }
    | { readonly stored: false; readonly refusal: Refusal };
}

export interface Refusal {
  /** The name of the message that says why, as `WrongExpectedVersion`; empty for a server that cannot take it now. */
  readonly why: string;
  readonly code: number;
  readonly text: string;
  /** The revision that the stream is at; null for no stream. */
  readonly current: bigint | null;
}

export function decodeAppend(answer: Uint8Array): AppendAnswer {
  let correlationId = '';
  let outcome: AppendAnswer['outcome'] = { stored: false, refusal: { why: '', code: 0, text: '', current: null } };
  decode(answer, (field, reader) => {
    if (field === 1) correlationId = uuid(reader);
    else if (field === 2) outcome = { stored: false, refusal: readRefusal(reader) };
    else if (field === 3) outcome = { stored: true, ...readStored(reader) };
    else return false;
    return true;
  });
  return { correlationId, outcome };
}

function readStored(reader: Reader): { readonly revision: bigint; readonly position: LogPosition | null } {
  let revision = 0n;
  let position: LogPosition | null = null;
  inner(reader, (field, of) => {
    if (field === 1) revision = uint64(of);
    else if (field === 3) position = readPosition(of);
    else return false;
    return true;
  });
  return { revision, position };
}

function readPosition(reader: Reader): LogPosition {
  const position = { commit: 0n, prepare: 0n };
  inner(reader, (field, of) => {
    if (field === 1) position.commit = uint64(of);
    else if (field === 2) position.prepare = uint64(of);
    else return false;
    return true;
  });
  return position;
}

const TYPES = 'event_store.client.';

function readRefusal(reader: Reader): Refusal {
  const refusal = { why: '', code: 0, text: '', current: null as bigint | null };
  inner(reader, (field, of) => {
    if (field === 1) refusal.code = of.int32();
    else if (field === 2) refusal.text = of.string();
    else if (field === 3)
      inner(of, (part, details) => {
        if (part === 1) refusal.why = details.string().split(TYPES)[1] ?? '';
        else if (part === 2) refusal.current = currentRevision(details.bytes(), refusal.why);
        else return false;
        return true;
      });
    else return false;
    return true;
  });
  return refusal;
}

function currentRevision(details: Uint8Array, why: string): bigint | null {
  let current: bigint | null = null;
  if (why !== 'WrongExpectedVersion') return null;
  decode(details, (field, reader) => {
    if (field === 1) current = uint64(reader);
    return field === 1;
  });
  return current;
}

/** At whatever revision the stream is. */
export const encodeTombstone = (stream: string): Buffer =>
  encoded((writer) =>
    message(writer, 1, (options) => {
      streamOf(options, 1, stream);
      message(options, 4);
    }),
  );
