import { hash } from 'node:crypto';
import { inflateSync } from 'node:zlib';
import { PNG } from 'pngjs';
import type { Logo } from '../../domain/events/merchant-events.ts';
import type { ShownLogo } from '../shared/merchant-api.ts';

const MAX_UPLOAD_BYTES = 128 * 1024;
/** Maximum width and height of an upload. */
const MAX_UPLOAD_SIDE = 1_024;
/** Twice the displayed size, for high-density screens. */
const MAX_WIDTH = 320;
const MAX_HEIGHT = 80;
/** Keeps the first view of a payment page small. */
const MAX_ENCODED_BYTES = 32 * 1024;

/** Signature and first chunk header, up to the byte for the interlace method (PNG, 5.2 and 11.2.1). */
const HEAD = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
const HEAD_BYTES = HEAD.length + 13;
const SIGNATURE_BYTES = 8;
/** Length, type and checksum (PNG, 5.3). */
const CHUNK_FRAME_BYTES = 12;
/** Samples of a pixel by colour type (PNG, 6.1). */
const CHANNELS: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };

export type LogoReading = { readonly ok: true; readonly logo: Logo } | { readonly ok: false; readonly why: string };

const refused = (why: string): LogoReading => ({ ok: false, why });

/**
 * Re-encodes the image from its pixels, so that nothing else of the upload is kept. Sizes are checked before anything
 * is inflated, so that a small file cannot become a large picture.
 */
export function readLogo(base64: string): LogoReading {
  if (base64.length > Math.ceil(MAX_UPLOAD_BYTES / 3) * 4)
    return refused(`must have at most ${MAX_UPLOAD_BYTES / 1024} KiB`);
  const file = Buffer.from(base64, 'base64');
  if (file.toString('base64') !== base64 || file.length < HEAD_BYTES || !file.subarray(0, HEAD.length).equals(HEAD))
    return refused('must be a PNG image in base64');
  const [width, height] = [file.readUInt32BE(HEAD.length), file.readUInt32BE(HEAD.length + 4)];
  if (width > MAX_UPLOAD_SIDE || height > MAX_UPLOAD_SIDE)
    return refused(`must be at most ${MAX_UPLOAD_SIDE} pixels wide and high`);
  // For an interlaced image the library inflates everything in the file.
  if (file[HEAD_BYTES - 1] !== 0) return refused('must be saved without interlacing');
  const pixels = width === 0 || height === 0 ? null : decoded(file, width, height);
  if (pixels === null) return refused('must be a complete PNG image');
  const logo = smaller({ width, height, data: pixels });
  const png = PNG.sync.write(Object.assign(new PNG({ width: logo.width, height: logo.height }), { data: logo.data }));
  if (png.length > MAX_ENCODED_BYTES)
    return refused(
      `has too many details: ${png.length} bytes at ${logo.width} by ${logo.height} pixels, of at most ${MAX_ENCODED_BYTES}`,
    );
  return { ok: true, logo: { png: png.toString('base64'), width: logo.width, height: logo.height } };
}

interface Pixels {
  readonly width: number;
  readonly height: number;
  /** RGBA, one byte each. */
  readonly data: Buffer;
}

/** Null if the file does not contain what its header states. */
function decoded(file: Buffer, width: number, height: number): Buffer | null {
  try {
    // The library goes by the last head of a file, and takes what rows lack from memory that it has not cleared.
    const chunks = chunksOf(file);
    const rowBytes = bytesOfRows(file, width, height);
    if (ofType(chunks, 'IHDR').length !== 1 || inflated(ofType(chunks, 'IDAT'), rowBytes).length !== rowBytes)
      return null;
    const image = PNG.sync.read(file);
    const isWhole = image.width === width && image.height === height && image.data.length === width * height * 4;
    return isWhole ? image.data : null;
  } catch {
    return null;
  }
}

interface Chunk {
  readonly type: string;
  readonly data: Buffer;
}

function chunksOf(file: Buffer): Chunk[] {
  const chunks: Chunk[] = [];
  let at = SIGNATURE_BYTES;
  while (at + CHUNK_FRAME_BYTES <= file.length) {
    const end = at + CHUNK_FRAME_BYTES + file.readUInt32BE(at);
    chunks.push({ type: file.toString('latin1', at + 4, at + 8), data: file.subarray(at + 8, end - 4) });
    at = end;
  }
  return chunks;
}

const ofType = (chunks: readonly Chunk[], wanted: string): Buffer[] =>
  chunks.flatMap(({ type, data }) => (type === wanted ? [data] : []));

/** Throws, also if there is more than there may be. */
const inflated = (parts: readonly Buffer[], maxBytes: number): Buffer =>
  inflateSync(Buffer.concat(parts), { maxOutputLength: maxBytes });

/** Each row has a byte for its filter (PNG, 7.3). NaN for a colour type that there is not. */
function bytesOfRows(file: Buffer, width: number, height: number): number {
  const bits = file.readUInt8(HEAD_BYTES - 5) * (CHANNELS[file.readUInt8(HEAD_BYTES - 4)] ?? NaN);
  return (1 + Math.ceil((width * bits) / 8)) * height;
}

/** Scales down to the largest displayed size. Each pixel is the mean of the pixels it covers, weighted by opacity. */
function smaller(image: Pixels): Pixels {
  const scale = Math.min(1, MAX_WIDTH / image.width, MAX_HEIGHT / image.height);
  if (scale === 1) return image;
  const width = Math.max(1, Math.round(image.width * scale));
  const height = Math.max(1, Math.round(image.height * scale));
  const data = Buffer.alloc(width * height * 4);
  for (let y = 0; y < height; y += 1)
    for (let x = 0; x < width; x += 1) {
      const rows = range(y, height, image.height);
      const columns = range(x, width, image.width);
      data.set(mean(image, rows, columns), (y * width + x) * 4);
    }
  return { width, height, data };
}

type Range = readonly [from: number, to: number];

const range = (at: number, of: number, wanted: number): Range => {
  const from = Math.floor((at * wanted) / of);
  return [from, Math.max(from + 1, Math.floor(((at + 1) * wanted) / of))];
};

function mean({ width, data }: Pixels, [top, bottom]: Range, [left, right]: Range): [number, number, number, number] {
  let [red, green, blue, alpha] = [0, 0, 0, 0];
  for (let y = top; y < bottom; y += 1)
    for (let x = left; x < right; x += 1) {
      const at = (y * width + x) * 4;
      const opacity = data[at + 3] ?? 0;
      red += (data[at] ?? 0) * opacity;
      green += (data[at + 1] ?? 0) * opacity;
      blue += (data[at + 2] ?? 0) * opacity;
      alpha += opacity;
    }
  if (alpha === 0) return [0, 0, 0, 0];
  const count = (bottom - top) * (right - left);
  return [Math.round(red / alpha), Math.round(green / alpha), Math.round(blue / alpha), Math.round(alpha / count)];
}

export function shownLogo({ png, width, height }: Logo): ShownLogo {
  const bytes = Buffer.from(png, 'base64');
  return { png: bytes, version: hash('sha256', bytes, 'hex').slice(0, 16), width, height };
}

/** Facts about the logo. The image itself appears on payment pages. */
export interface LogoOverview {
  readonly width: number;
  readonly height: number;
  readonly bytes: number;
}

export function logoOverview({ png, width, height }: Logo): LogoOverview {
  return { width, height, bytes: Buffer.byteLength(png, 'base64') };
}
