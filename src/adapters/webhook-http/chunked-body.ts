import { InvalidAnswer } from './answer-head.ts';

const CR = 0x0d;
const LF = 0x0a;
/** A size with its extensions, or one line of the trailer. */
const MAX_LINE = 4 * 1024;
/** Digits in hexadecimal, then perhaps extensions, which nobody uses. */
const SIZE_LINE = /^([0-9a-f]{1,12})(?:;[\t\x20-\x7e\x80-\xff]*)?$/i;
const TRAILER_LINE = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*$/;

/** Takes a chunked body (RFC 9112, 7.1) apart, however its bytes are cut up on the way. */
export class ChunkedBody {
  readonly #onData: (bytes: Uint8Array) => void;
  #state: 'size' | 'data' | 'data-end' | 'trailer' | 'over' = 'size';
  #line = '';
  /** Bytes of the chunk that are still to come. */
  #left = 0;

  /** The bytes handed over are a window on those that were read. */
  constructor(onData: (bytes: Uint8Array) => void) {
    this.#onData = onData;
  }

  /** Returns how many of the bytes belong to the body, or -1 when all do and it goes on. Throws `InvalidAnswer`. */
  read(bytes: Uint8Array): number {
    for (let at = 0; at < bytes.length;) {
      if (this.#state === 'data') {
        const end = Math.min(bytes.length, at + this.#left);
        this.#onData(bytes.subarray(at, end));
        this.#left -= end - at;
        at = end;
        if (this.#left === 0) this.#state = 'data-end';
      } else {
        const line = this.#addToLine(bytes[at++]!);
        if (line !== null) this.#takeLine(line);
        if (this.#state === 'over') return at;
      }
    }
    return -1;
  }

  /** The whole line once its end is here. */
  #addToLine(byte: number): string | null {
    const isEnd = this.#line.endsWith('\r');
    if (isEnd !== (byte === LF) || this.#line.length > MAX_LINE) throw new InvalidAnswer('malformed chunk');
    if (!isEnd) {
      // After the data of a chunk nothing but the end of its line may come.
      if (this.#state === 'data-end' && byte !== CR) throw new InvalidAnswer('malformed chunk');
      this.#line += String.fromCharCode(byte);
      return null;
    }
    const line = this.#line.slice(0, -1);
    this.#line = '';
    return line;
  }

  #takeLine(line: string): void {
    if (this.#state === 'size') {
      const size = SIZE_LINE.exec(line)?.[1];
      if (size === undefined) throw new InvalidAnswer('malformed chunk');
      this.#left = Number.parseInt(size, 16);
      this.#state = this.#left === 0 ? 'trailer' : 'data';
    } else if (this.#state === 'data-end') {
      this.#state = 'size';
    } else if (line === '') {
      this.#state = 'over';
    } else if (!TRAILER_LINE.test(line)) {
      throw new InvalidAnswer('malformed trailer');
    }
  }
}
