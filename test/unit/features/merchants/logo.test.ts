import { crc32, deflateSync } from 'node:zlib';
import fc from 'fast-check';
import { PNG } from 'pngjs';
import { describe, expect, it } from 'vitest';
import { readLogo, shownLogo } from '../../../../src/features/merchants/logo.ts';

const SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex');

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

/** A PNG file from its parts, as any program may write it. */
function file({
  width = 2,
  height = 2,
  depth = 8,
  colour = 6,
  interlace = 0,
  rows = Buffer.alloc(18),
  more = [] as Buffer[],
} = {}): string {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([depth, colour, 0, 0, interlace], 8);
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', head),
    ...more,
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ]).toString('base64');
}

/** Four bytes for each of the pixels. */
const secondHead = Buffer.from(file({ width: 300, height: 1 }), 'base64').subarray(8, 33);

function picture(
  width: number,
  height: number,
  pixel: (x: number, y: number) => readonly [number, number, number, number],
): string {
  const image = new PNG({ width, height });
  for (let y = 0; y < height; y += 1)
    for (let x = 0; x < width; x += 1) image.data.set(pixel(x, y), (y * width + x) * 4);
  return PNG.sync.write(image).toString('base64');
}

function accepted(base64: string): { bytes: Buffer; width: number; height: number; data: number[] } {
  const read = readLogo(base64);
  if (!read.ok) throw new Error(read.why);
  const bytes = Buffer.from(read.logo.png, 'base64');
  const { width, height, data } = PNG.sync.read(bytes);
  expect([width, height]).toEqual([read.logo.width, read.logo.height]);
  return { bytes, width, height, data: [...data] };
}

const why = (base64: string): string | null => {
  const read = readLogo(base64);
  return read.ok ? null : read.why;
};

describe('a logo', () => {
  it('keeps its pixels, and nothing else of the file', () => {
    const comment = Buffer.from('Comment\0taken at home');
    const rows = Buffer.from([0, 1, 2, 3, 255, 4, 5, 6, 128, 0, 7, 8, 9, 255, 10, 11, 12, 0]);
    const image = accepted(file({ rows, more: [chunk('tEXt', comment)] }));
    expect(image.data).toEqual([1, 2, 3, 255, 4, 5, 6, 128, 7, 8, 9, 255, 10, 11, 12, 0]);
    expect(image.bytes.includes('taken at home')).toBe(false);
  });

  it('may have a palette with transparency', () => {
    const more = [chunk('PLTE', Buffer.from([200, 0, 0, 0, 0, 200])), chunk('tRNS', Buffer.from([255, 0]))];
    const image = accepted(file({ colour: 3, depth: 1, rows: Buffer.from([0, 0b01000000, 0, 0b10000000]), more }));
    expect(image.data).toEqual([200, 0, 0, 255, 0, 0, 200, 0, 0, 0, 200, 0, 200, 0, 0, 255]);
  });

  it('is made as small as it is shown, in proportion, opaque pixels deciding the colour', () => {
    const image = accepted(picture(1_000, 500, (x) => (x % 2 === 0 ? [255, 0, 0, 255] : [0, 255, 0, 0])));
    expect([image.width, image.height]).toEqual([160, 80]);
    const alphas = image.data.filter((_, at) => at % 4 === 3);
    expect(image.data.slice(0, 3)).toEqual([255, 0, 0]);
    expect(Math.min(...alphas)).toBeGreaterThan(100);
    expect(Math.max(...alphas)).toBeLessThan(155);
    expect(accepted(picture(1_024, 1, () => [9, 9, 9, 255])).height).toBe(1);
  });

  it.each([
    ['no base64', 'not base64!'],
    ['an SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>').toString('base64')],
    ['a GIF', Buffer.from('GIF89a'.padEnd(64)).toString('base64')],
    ['nothing', ''],
    ['a data URL', `data:image/png;base64,${file()}`],
  ])('is refused as %s', (_, given) => {
    expect(why(given)).toBe('must be a PNG image in base64');
  });

  it.each([
    ['a truncated file', Buffer.from(file(), 'base64').subarray(0, 50).toString('base64')],
    ['a file whose sums are wrong', Buffer.from(file(), 'base64').fill(1, 29, 33).toString('base64')],
    ['fewer rows than promised', file({ width: 100, height: 100 })],
    // The library would show what was in this process's memory.
    ['a row without its pixels', file({ width: 320, height: 1, rows: Buffer.alloc(1) })],
    [
      'a second head that promises more',
      file({ width: 300, height: 1, colour: 0, rows: Buffer.alloc(301), more: [secondHead] }),
    ],
    ['more rows than promised', file({ rows: Buffer.alloc(19) })],
    ['a colour type that there is not', file({ colour: 5 })],
    [
      'colours that its palette lacks',
      file({ colour: 3, rows: Buffer.from([0, 9, 9, 0, 9, 9]), more: [chunk('PLTE', Buffer.alloc(3))] }),
    ],
    ['a depth that there is not', file({ depth: 7 })],
  ])('is refused as %s', (_, given) => {
    expect(why(given)).toBe('must be a complete PNG image');
  });

  it('that would become large is refused before it is decoded', () => {
    const tooLarge = 'must be at most 1024 pixels wide and high';
    expect(why(file({ width: 1_025 }))).toBe(tooLarge);
    expect(why(file({ width: 2 ** 31, height: 2 ** 31 }))).toBe(tooLarge);
    expect(why(file({ height: 0 }))).toBe('must be a complete PNG image');
    expect(why(file({ interlace: 1 }))).toBe('must be saved without interlacing');
    expect(why(Buffer.alloc(129 * 1024).toString('base64'))).toBe('must have at most 128 KiB');
    // Forty megabytes in a file of forty kilobytes: no more of them are inflated than the head promises.
    const bomb = file({ rows: Buffer.alloc(40_000_000) });
    const before = process.memoryUsage().rss;
    expect(why(bomb)).toBe('must be a complete PNG image');
    expect(process.memoryUsage().rss - before).toBeLessThan(20_000_000);
  });

  it('of noise is refused, since every page would carry it', () => {
    let state = 1;
    const noise = (): number => (state = (state * 48_271) % 2_147_483_647) & 255;
    expect(why(picture(160, 80, () => [noise(), noise(), noise(), 255]))).toMatch(
      /^has too many details: \d+ bytes at 160 by 80 pixels/,
    );
  });

  it('has an address that changes with it', () => {
    const version = (base64: string): string => {
      const read = readLogo(base64);
      return read.ok ? shownLogo(read.logo).version : '';
    };
    expect(version(file())).toMatch(/^[0-9a-f]{16}$/);
    expect(version(file())).not.toBe(
      version(file({ rows: Buffer.from([0, ...Array<number>(8).fill(1), 0, ...Array<number>(8).fill(1)]) })),
    );
  });

  it('of any bytes is decoded or refused, and never causes an exception', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 8 }), fc.nat(80), (noise, from) => {
        const bytes = Buffer.from(file(), 'base64');
        bytes.set(noise.subarray(0, Math.max(0, bytes.length - from)), Math.min(from, bytes.length));
        const read = readLogo(bytes.toString('base64'));
        if (read.ok) expect(read.logo.width * read.logo.height).toBeLessThanOrEqual(320 * 80);
      }),
    );
  });
});
