import { crc32 } from 'node:zlib';
import { holding, readWritten } from '../../domain/values/written-json.ts';
import type { KeptBytes } from '../../ports/read-model/kept-bytes.ts';
import { emptyLayer, type Layer } from './filter.ts';

/** Filter layers that contain every address of the rows up to `place`. */
export interface KeptFilter {
  /** The largest first. */
  readonly layers: readonly Layer[];
  readonly generation: string;
  readonly place: number;
}

interface Header {
  readonly version: typeof VERSION;
  readonly generation: string;
  readonly place: number;
  /** In the order of the file. */
  readonly layers: readonly { readonly words: number; readonly keys: number }[];
}

const VERSION = 1;
const PART_WORDS = 2 ** 18;
const WORD_BYTES = 4;

/*
 * Length of the header, the header as JSON, the words of each layer, and a CRC-32 over all of it: a lost bit would mean
 * a payment that nobody sees.
 */

/**
 * Addresses may be added during the write. The file may or may not contain those; it always contains the addresses up
 * to `place`.
 */
export const saveFilter = (kept: KeptBytes, filter: KeptFilter): Promise<void> => kept.save(partsOf(filter));

function* partsOf({ layers, generation, place }: KeptFilter): Generator<Uint8Array, void> {
  const header: Header = {
    ...{ version: VERSION, generation, place },
    layers: layers.map(({ bits, keys }) => ({ words: bits.length, keys })),
  };
  const text = Buffer.from(JSON.stringify(header));
  let sum = 0;
  const summed = (part: Uint8Array): Uint8Array => {
    sum = crc32(part, sum);
    return part;
  };
  yield summed(number(text.length));
  yield summed(text);
  for (const { bits } of layers)
    for (let at = 0; at < bits.length; at += PART_WORDS)
      // Copied, so that the checksum covers the bytes that are written.
      yield summed(bytesOf(bits.slice(at, at + PART_WORDS)));
  yield number(sum);
}

/** Null if there is no file or its checksum fails. */
export async function loadFilter(kept: KeptBytes): Promise<KeptFilter | null> {
  const found = await kept.load();
  if (found === null || found.length < 3 * WORD_BYTES) return null;
  const bytes = Buffer.from(found.buffer, found.byteOffset, found.byteLength);
  const end = bytes.length - WORD_BYTES;
  if (crc32(bytes.subarray(0, end)) !== bytes.readUInt32LE(end)) return null;
  let at = WORD_BYTES + bytes.readUInt32LE(0);
  const { version, generation, place, layers } = readWritten(
    bytes.toString('utf8', WORD_BYTES, at),
    holding<Header>('version'),
  );
  if (version !== VERSION) return null;
  const read = layers.map(({ words, keys }) => {
    const layer = emptyLayer(words);
    bytesOf(layer.bits).set(bytes.subarray(at, at + words * WORD_BYTES));
    at += words * WORD_BYTES;
    return { ...layer, keys };
  });
  return { layers: read, generation, place };
}

const bytesOf = (words: Uint32Array): Uint8Array => new Uint8Array(words.buffer, words.byteOffset, words.byteLength);

function number(value: number): Uint8Array {
  const bytes = Buffer.alloc(WORD_BYTES);
  bytes.writeUInt32LE(value);
  return bytes;
}
