import { CHUNK_ORDERS } from './ranks.ts';
import { must } from '../../../domain/values/must.ts';

/*
 * A chunk of a list as bytes: the bit of a place (0 up to `CHUNK_ORDERS`) is set while its member is listed. Trailing
 * zero bytes are left out.
 */

const MAX_BYTES = CHUNK_ORDERS / 8;
const FIRST_BYTES = 8;

export const NO_BITS = new Uint8Array(0);

/** Number of set bits for each byte value. */
const ONES = Uint8Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll('0', '').length);

export function hasBit(bits: Uint8Array, place: number): boolean {
  return (((bits[place >>> 3] ?? 0) >>> (place & 7)) & 1) === 1;
}

/** Every single-byte array. Most lists have few members, and a separate array would cost many times its contents. */
const SINGLE = Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte));

/**
 * The bytes with the bit of the place flipped, in place if they have room. Single bytes are shared and never modified.
 */
export function flipped(bits: Uint8Array, place: number): Uint8Array {
  const [index, bit] = [place >>> 3, 1 << (place & 7)];
  if (index === 0 && bits.length <= 1) return must(SINGLE[(bits[0] ?? 0) ^ bit]);
  const turned = index < bits.length && bits.length > 1 ? bits : withRoomFor(bits, index);
  turned[index] = (turned[index] ?? 0) ^ bit;
  return turned;
}

function withRoomFor(bits: Uint8Array, index: number): Uint8Array {
  const grown = new Uint8Array(Math.min(MAX_BYTES, Math.max(index + 1, 2 * bits.length, FIRST_BYTES)));
  grown.set(bits);
  return grown;
}

export function withoutZeros(bits: Uint8Array): Uint8Array {
  let end = bits.length;
  while (end > 0 && bits[end - 1] === 0) end -= 1;
  return end === bits.length ? bits : bits.subarray(0, end);
}

/** Number of set bits below the place. */
export function onesBelow(bits: Uint8Array, place: number): number {
  const bytes = Math.min(place >>> 3, bits.length);
  let ones = 0;
  for (let index = 0; index < bytes; index += 1) ones += ONES[bits[index] ?? 0] ?? 0;
  return place >>> 3 < bits.length ? ones + (ONES[(bits[bytes] ?? 0) & ((1 << (place & 7)) - 1)] ?? 0) : ones;
}

export const countOnes = (bits: Uint8Array): number => onesBelow(bits, CHUNK_ORDERS);

/** The place of the set bit with this many set bits below it. */
export function placeOfRank(bits: Uint8Array, rank: number): number {
  let left = rank;
  for (let index = 0; index < bits.length; index += 1) {
    const ones = ONES[bits[index] ?? 0] ?? 0;
    if (left < ones) return index * 8 + placeInByte(bits[index] ?? 0, left);
    left -= ones;
  }
  throw new RangeError(`rank ${rank} is beyond the bits`);
}

/** At most `limit` places of set bits from `from` up to but excluding `to`, highest first. */
export function placesDown(bits: Uint8Array, to: number, from: number, limit: number): number[] {
  const places: number[] = [];
  for (
    let index = Math.min((to - 1) >>> 3, bits.length - 1);
    index >= from >>> 3 && places.length < limit;
    index -= 1
  ) {
    for (let bit = 7, byte = bits[index] ?? 0; byte !== 0 && bit >= 0 && places.length < limit; bit -= 1) {
      if (((byte >>> bit) & 1) === 0) continue;
      byte ^= 1 << bit;
      const place = index * 8 + bit;
      if (place < to && place >= from) places.push(place);
    }
  }
  return places;
}

function placeInByte(byte: number, rank: number): number {
  let rest = byte;
  for (let skipped = 0; skipped < rank; skipped += 1) rest &= rest - 1;
  return 31 - Math.clz32(rest & -rest);
}
