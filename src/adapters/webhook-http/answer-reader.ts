import { InvalidAnswer, readHead, type AnswerHead } from './answer-head.ts';
import { ChunkedBody } from './chunked-body.ts';

const HEAD_END = '\r\n\r\n';
/** Of each head, an informational one or the answer's own. */
const MAX_HEAD_BYTES = 16 * 1024;
/** `102` and `103` may precede an answer; a flood of them is none. */
const MAX_INFORMATIONAL = 8;
const START = 'HTTP/1.';

/** Reads one answer to a POST (RFC 9112), however its bytes are cut up on the way. */
export class AnswerReader {
  readonly #onBody: (bytes: Uint8Array) => void;
  /** The beginning of a head whose end is not here yet. */
  #beginning = '';
  #informational = 0;
  #head: AnswerHead | null = null;
  #chunked: ChunkedBody | null = null;
  /** Bytes of the body that are still to come, where their number is known. */
  #left = Infinity;
  #isOver = false;
  #isFollowed = false;

  /** `onBody` is handed a window on the bytes that were read. */
  constructor(onBody: (bytes: Uint8Array) => void) {
    this.#onBody = onBody;
  }

  /** Null until the answer's own head is complete; those of informational answers do not count. */
  get head(): AnswerHead | null {
    return this.#head;
  }

  /** How long the connection may wait for another request; 0 when it is not to carry another. */
  get keepAliveMs(): number {
    return this.#isOver && !this.#isFollowed ? (this.#head?.keepAliveMs ?? 0) : 0;
  }

  /** Returns true when the answer is complete. Throws `InvalidAnswer`. */
  read(bytes: Buffer): boolean {
    for (let rest: Buffer | null = bytes; rest !== null;) {
      if (this.#head !== null) {
        this.#readBody(rest);
        rest = null;
      } else {
        rest = this.#readHead(rest);
      }
    }
    return this.#isOver;
  }

  /** The receiver closed its side. Returns true when that completes the answer. */
  end(): boolean {
    this.#isOver ||= this.#head?.framing.kind === 'until-close';
    return this.#isOver;
  }

  /** Returns what follows the head, null when the head is not complete. */
  #readHead(bytes: Buffer): Buffer | null {
    const known = this.#beginning.length;
    const text = this.#beginning + bytes.toString('latin1', 0, MAX_HEAD_BYTES + HEAD_END.length - known);
    const end = text.indexOf(HEAD_END, Math.max(0, known - HEAD_END.length));
    if (end > MAX_HEAD_BYTES || (end < 0 && text.length > MAX_HEAD_BYTES)) throw new InvalidAnswer('head too long');
    if (end < 0) {
      assertPossible(text);
      this.#beginning = text;
      return null;
    }
    this.#beginning = '';
    this.#take(readHead(text.slice(0, end)));
    return bytes.subarray(end + HEAD_END.length - known);
  }

  #take(head: AnswerHead): void {
    if (head.status >= 200) {
      this.#head = head;
      if (head.framing.kind === 'length') this.#left = head.framing.bytes;
      else if (head.framing.kind === 'chunked') this.#chunked = new ChunkedBody(this.#onBody);
      return;
    }
    this.#informational += 1;
    if (head.status === 101) throw new InvalidAnswer('another protocol');
    if (this.#informational > MAX_INFORMATIONAL) throw new InvalidAnswer('too many informational answers');
  }

  #readBody(bytes: Buffer): void {
    const end = this.#chunked && !this.#isOver ? this.#chunked.read(bytes) : this.#readPlain(bytes);
    this.#isOver ||= end >= 0;
    // Whatever follows an answer was not asked for.
    this.#isFollowed ||= end >= 0 && end < bytes.length;
  }

  /** Returns how many of the bytes belong to the body, or -1 when all do and it goes on. */
  #readPlain(bytes: Buffer): number {
    if (this.#isOver) return 0;
    const length = Math.min(bytes.length, this.#left);
    if (length > 0) this.#onBody(length === bytes.length ? bytes : bytes.subarray(0, length));
    this.#left -= length;
    return this.#left === 0 ? length : -1;
  }
}

/** What cannot become a head any more need not be waited for. */
function assertPossible(text: string): void {
  const isStart = text.length < START.length ? START.startsWith(text) : text.startsWith(START);
  if (!isStart) throw new InvalidAnswer('no status line of HTTP/1.1');
  if (/[^\r]\n|\r[^\n]/.test(text)) throw new InvalidAnswer('malformed header');
}
