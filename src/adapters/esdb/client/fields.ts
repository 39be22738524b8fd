import protobuf from 'protobufjs/minimal.js';

/* Protocol Buffers, as far as the server's messages need them: fields are written and read by their numbers. */

export type Writer = protobuf.Writer;
export type Reader = protobuf.Reader;

const VARINT = 0;
const BYTES = 2;

/** One message with what the task writes into it. */
export function encoded(write: (writer: Writer) => void): Buffer {
  const writer = protobuf.Writer.create();
  write(writer);
  const bytes = writer.finish();
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** A message in a field. */
export function message(writer: Writer, field: number, write: (writer: Writer) => void = () => {}): void {
  writer.uint32((field << 3) | BYTES).fork();
  write(writer);
  writer.ldelim();
}

export const text = (writer: Writer, field: number, value: string): Writer =>
  writer.uint32((field << 3) | BYTES).string(value);

export const bytes = (writer: Writer, field: number, value: Uint8Array): Writer =>
  writer.uint32((field << 3) | BYTES).bytes(value);

/** Any number that is not negative, and, as 0 or 1, a truth. */
export const number = (writer: Writer, field: number, value: number | bigint): Writer =>
  writer.uint32((field << 3) | VARINT).uint64(String(value));

/** Reads a field of the given number, or returns false for one that it does not know, which is skipped. */
export type Take = (field: number, reader: Reader) => boolean;

/** Hands over each field of a message. Throws `RangeError` where the bytes are none. */
export function decode(message: Uint8Array, take: Take): void {
  const reader = protobuf.Reader.create(message);
  fieldsTo(reader.len, reader, take);
}

/** The same for a message in the field that is read. */
export const inner = (reader: Reader, take: Take): void => fieldsTo(reader.uint32() + reader.pos, reader, take);

function fieldsTo(end: number, reader: Reader, take: Take): void {
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (!take(tag >>> 3, reader)) reader.skipType(tag & 7);
  }
}

/** An unsigned number of 64 bits. */
export function uint64(reader: Reader): bigint {
  const { high, low } = reader.uint64();
  return high === 0 ? BigInt(low >>> 0) : (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0);
}
