import googleAny from 'google-protobuf/google/protobuf/any_pb.js';
import googleEmpty from 'google-protobuf/google/protobuf/empty_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import status from '@eventstore/db-client/generated/status_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import type { BatchAppendResp, ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import type { UUID } from '@eventstore/db-client/generated/shared_pb.js';
import { type AppendVerdict, type Expected, type LoggedEvent, type ProposedEvent } from './double-log.ts';

/*
 * Conversions between the log and the messages of streams.proto and shared.proto (kurrent-io/KurrentDB,
 * src/Protos/Grpc).
 */

export interface ProposedMessage {
  getId(): UUID | undefined;
  getMetadataMap(): { get(key: string): string | undefined };
  getData_asU8(): Uint8Array;
  getCustomMetadata_asU8(): Uint8Array;
}

export function proposedFrom(message: ProposedMessage): ProposedEvent {
  const properties = message.getMetadataMap();
  return {
    id: message.getId()!.getString(),
    type: properties.get('type') ?? '',
    contentType: properties.get('content-type') ?? '',
    data: message.getData_asU8(),
    customMetadata: message.getCustomMetadata_asU8(),
  };
}

/** The expected revision of a request; its name differs between the messages. */
export function expectedFrom(
  options: { hasAny(): boolean; hasStreamExists(): boolean; hasNoStream(): boolean } | undefined,
  revision: () => string | number,
): Expected {
  if (!options || options.hasNoStream()) return -1;
  if (options.hasAny()) return 'any';
  return options.hasStreamExists() ? 'stream-exists' : Number(revision());
}

export const nameFrom = (identifier: { getStreamName_asU8(): Uint8Array } | undefined): string =>
  Buffer.from(identifier!.getStreamName_asU8()).toString('utf8');

function identifierOf(stream: string): InstanceType<typeof shared.StreamIdentifier> {
  const identifier = new shared.StreamIdentifier();
  identifier.setStreamName(new Uint8Array(Buffer.from(stream, 'utf8')));
  return identifier;
}

export function eventMessage(event: LoggedEvent): ReadResp {
  const record = new streams.ReadResp.ReadEvent.RecordedEvent();
  const id = new shared.UUID();
  id.setString(event.id);
  record.setId(id);
  record.setStreamIdentifier(identifierOf(event.stream));
  record.setStreamRevision(String(event.revision));
  record.setCommitPosition(String(event.position));
  record.setPreparePosition(String(event.position));
  record
    .getMetadataMap()
    .set('type', event.type)
    .set('content-type', event.contentType)
    .set('created', event.createdTicks);
  record.setData(event.data);
  record.setCustomMetadata(event.customMetadata);
  const read = new streams.ReadResp.ReadEvent();
  read.setEvent(record);
  read.setCommitPosition(String(event.position));
  const response = new streams.ReadResp();
  response.setEvent(read);
  return response;
}

export function streamNotFound(stream: string): ReadResp {
  const notFound = new streams.ReadResp.StreamNotFound();
  notFound.setStreamIdentifier(identifierOf(stream));
  const response = new streams.ReadResp();
  response.setStreamNotFound(notFound);
  return response;
}

export function deleted(position: bigint): InstanceType<typeof streams.DeleteResp> {
  const response = new streams.DeleteResp();
  const at = new streams.DeleteResp.Position();
  at.setCommitPosition(String(position));
  at.setPreparePosition(String(position));
  response.setPosition(at);
  return response;
}

export function tombstoned(position: bigint): InstanceType<typeof streams.TombstoneResp> {
  const response = new streams.TombstoneResp();
  const at = new streams.TombstoneResp.Position();
  at.setCommitPosition(String(position));
  at.setPreparePosition(String(position));
  response.setPosition(at);
  return response;
}

export function confirmation(subscriptionId: string): ReadResp {
  const confirmed = new streams.ReadResp.SubscriptionConfirmation();
  confirmed.setSubscriptionId(subscriptionId);
  const response = new streams.ReadResp();
  response.setConfirmation(confirmed);
  return response;
}

export function checkpoint(position: bigint): ReadResp {
  const reached = new streams.ReadResp.Checkpoint();
  reached.setCommitPosition(String(position));
  reached.setPreparePosition(String(position));
  const response = new streams.ReadResp();
  response.setCheckpoint(reached);
  return response;
}

export function caughtUp(): ReadResp {
  const response = new streams.ReadResp();
  response.setCaughtUp(new streams.ReadResp.CaughtUp());
  return response;
}

export function fellBehind(): ReadResp {
  const response = new streams.ReadResp();
  response.setFellBehind(new streams.ReadResp.FellBehind());
  return response;
}

interface Denied {
  readonly ok: false;
  readonly why: 'denied';
}

/** Everything but a replay of what cannot be read yet. */
export type Answerable = Exclude<AppendVerdict, { readonly why: 'not-ready' }>;

export function batchAnswer(correlationId: UUID, stream: string, verdict: Answerable | Denied): BatchAppendResp {
  const response = new streams.BatchAppendResp();
  response.setCorrelationId(correlationId);
  response.setStreamIdentifier(identifierOf(stream));
  if (!verdict.ok) {
    response.setError(batchError(verdict, stream));
    return response;
  }
  const success = new streams.BatchAppendResp.Success();
  success.setCurrentRevision(String(verdict.revision));
  if (verdict.position === null) success.setNoPosition(new googleEmpty.Empty());
  else {
    const position = new shared.AllStreamPosition();
    position.setCommitPosition(String(verdict.position));
    position.setPreparePosition(String(verdict.position));
    success.setPosition(position);
  }
  response.setSuccess(success);
  return response;
}

/** What the server answers inside a batch when its own deadline for the write has passed. */
export function batchTimeout(correlationId: UUID, stream: string): BatchAppendResp {
  const response = new streams.BatchAppendResp();
  response.setCorrelationId(correlationId);
  response.setStreamIdentifier(identifierOf(stream));
  response.setError(statusOf(4, 'Timeout', new shared.Timeout().serializeBinary()));
  return response;
}

/** `ClientMessage.NotHandled` of the server: a text beside an empty message, and no code. */
export function batchBusy(correlationId: UUID, stream: string): BatchAppendResp {
  const response = new streams.BatchAppendResp();
  response.setCorrelationId(correlationId);
  response.setStreamIdentifier(identifierOf(stream));
  const details = new googleAny.Any();
  details.pack(new googleEmpty.Empty().serializeBinary(), 'google.protobuf.Empty');
  const answer = new status.Status();
  answer.setMessage('Server Is Busy');
  answer.setDetails(details);
  response.setError(answer);
  return response;
}

export function unaryAnswer(verdict: Answered): InstanceType<typeof streams.AppendResp> {
  const response = new streams.AppendResp();
  if (verdict.ok) {
    const success = new streams.AppendResp.Success();
    success.setCurrentRevision(String(verdict.revision));
    if (verdict.position === null) success.setNoPosition(new shared.Empty());
    else {
      const position = new streams.AppendResp.Position();
      position.setCommitPosition(String(verdict.position));
      position.setPreparePosition(String(verdict.position));
      success.setPosition(position);
    }
    response.setSuccess(success);
    return response;
  }
  const wrong = new streams.AppendResp.WrongExpectedVersion();
  if (verdict.current < 0) wrong.setCurrentNoStream(new shared.Empty());
  else wrong.setCurrentRevision(String(verdict.current));
  if (verdict.expected === 'any') wrong.setExpectedAny(new shared.Empty());
  else if (verdict.expected === 'stream-exists') wrong.setExpectedStreamExists(new shared.Empty());
  else if (verdict.expected < 0) wrong.setExpectedNoStream(new shared.Empty());
  else wrong.setExpectedRevision(String(verdict.expected));
  response.setWrongExpectedVersion(wrong);
  return response;
}

/** What an answer of its own stands for; other refusals are errors of the call. */
export type Answered = Extract<AppendVerdict, { readonly ok: true } | { readonly why: 'revision' }>;

function batchError(
  verdict: Extract<Answerable | Denied, { readonly ok: false }>,
  stream: string,
): InstanceType<typeof status.Status> {
  if (verdict.why === 'revision') return wrongExpectedVersion(verdict.current, verdict.expected);
  if (verdict.why === 'denied') return statusOf(7, 'AccessDenied', new shared.AccessDenied().serializeBinary());
  if (verdict.why === 'size') {
    const size = new shared.MaximumAppendSizeExceeded();
    size.setMaxappendsize(verdict.mostBytes);
    return statusOf(3, 'MaximumAppendSizeExceeded', size.serializeBinary());
  }
  const deletedStream = new shared.StreamDeleted();
  deletedStream.setStreamIdentifier(identifierOf(stream));
  return statusOf(5, 'StreamDeleted', deletedStream.serializeBinary());
}

function wrongExpectedVersion(current: number, expected: Expected): InstanceType<typeof status.Status> {
  const wrong = new shared.WrongExpectedVersion();
  if (current < 0) wrong.setCurrentNoStream(new googleEmpty.Empty());
  else wrong.setCurrentStreamRevision(String(current));
  if (expected === 'any') wrong.setExpectedAny(new googleEmpty.Empty());
  else if (expected === 'stream-exists') wrong.setExpectedStreamExists(new googleEmpty.Empty());
  else if (expected < 0) wrong.setExpectedNoStream(new googleEmpty.Empty());
  else wrong.setExpectedStreamPosition(String(expected));
  return statusOf(6, 'WrongExpectedVersion', wrong.serializeBinary());
}

function statusOf(code: number, name: string, bytes: Uint8Array): InstanceType<typeof status.Status> {
  const details = new googleAny.Any();
  details.pack(bytes, `event_store.client.${name}`);
  const answer = new status.Status();
  answer.setCode(code);
  answer.setMessage(name);
  answer.setDetails(details);
  return answer;
}
