/** Just enough of the protocol buffers wire format for TRON transactions: varints and length-delimited fields. */

export interface ProtoField {
  readonly number: number;
  /** Set for wire type 0. */
  readonly varint: bigint | null;
  /** Set for wire type 2. */
  readonly bytes: Uint8Array | null;
}

export class ProtoError extends Error {
  override readonly name = 'ProtoError';
}

/** The fields in the order of the bytes. Throws `ProtoError` for truncated or foreign input. */
export function readFields(bytes: Uint8Array): ProtoField[] {
  const fields: ProtoField[] = [];
  let offset = 0;
  const readVarint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes[offset++];
      if (byte === undefined) throw new ProtoError('truncated varint');
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw new ProtoError('varint over ten bytes');
  };
  while (offset < bytes.length) {
    const tag = Number(readVarint());
    const wireType = tag & 7;
    if (wireType === 0) {
      fields.push({ number: tag >> 3, varint: readVarint(), bytes: null });
    } else if (wireType === 2) {
      const length = Number(readVarint());
      if (offset + length > bytes.length) throw new ProtoError('truncated field');
      fields.push({ number: tag >> 3, varint: null, bytes: bytes.subarray(offset, offset + length) });
      offset += length;
    } else {
      throw new ProtoError(`wire type ${wireType}`);
    }
  }
  return fields;
}

export function varintOf(fields: readonly ProtoField[], number: number): bigint {
  return fields.findLast((field) => field.number === number)?.varint ?? 0n;
}

export function bytesOf(fields: readonly ProtoField[], number: number): Uint8Array {
  return fields.findLast((field) => field.number === number)?.bytes ?? new Uint8Array();
}

/** Writes a field unless it holds the default value, as proto3 does. */
export function varintField(number: number, value: bigint | number): Uint8Array {
  const wanted = BigInt(value);
  return wanted === 0n
    ? new Uint8Array()
    : Uint8Array.from([...varint(BigInt(number << 3)), ...varint(BigInt.asUintN(64, wanted))]);
}

export function bytesField(number: number, value: Uint8Array): Uint8Array {
  return value.length === 0
    ? new Uint8Array()
    : Buffer.concat([Uint8Array.from([...varint(BigInt((number << 3) | 2)), ...varint(BigInt(value.length))]), value]);
}

function varint(value: bigint): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return [...bytes, Number(rest)];
}
