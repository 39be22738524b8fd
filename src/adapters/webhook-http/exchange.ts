import type { Dispatcher } from 'undici';
import type { WebhookAnswer } from '../../ports/webhook-sender.ts';
import { ForbiddenAddress, TlsFailure } from './connection.ts';
import { DnsFailure } from './host-resolver.ts';

/** Kept of an answer. */
const KEPT_BYTES = 4 * 1024;
/** Read of an answer before the connection is cut. */
const READ_BYTES = 64 * 1024;
/** `102` and `103` may precede an answer; a flood of them is none. */
const MAX_INFORMATIONAL = 8;
const DETAIL_LENGTH = 100;
const NOTHING = new Uint8Array(0);
/** Names of the client's errors about an answer that is not HTTP/1.1 as it should be. */
const INVALID_ANSWERS: ReadonlySet<string> = new Set(['HTTPParserError', 'HeadersOverflowError', 'ResponseContentLengthMismatchError']);

/** What an exchange came to, before the connection adds its address and the clock its duration. */
export type Ending = Pick<WebhookAnswer, 'status' | 'fault' | 'detail' | 'retryAfter' | 'body' | 'incomplete'> & {
  /** Whether the connection may carry another request. */
  readonly reusable: boolean;
};

type Headers = Record<string, string | string[] | undefined>;

/** Reads one answer within its bounds. Ends exactly once. */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #end: (ending: Ending) => void;
  #ended = false;
  #status: number | null = null;
  #retryAfter: string | null = null;
  #informational = 0;
  #kept: Uint8Array[] = [];
  #keptBytes = 0;
  #readBytes = 0;

  constructor(end: (ending: Ending) => void) {
    this.#end = end;
  }

  /** The deadline has passed. */
  expire(): void {
    this.#settle('timeout', 'no complete answer in time');
  }

  onRequestStart(): void {}

  onResponseStart(_: unknown, status: number, headers: Headers): void {
    if (status < 200) {
      this.#informational += 1;
      if (this.#informational > MAX_INFORMATIONAL) this.#settle('invalid_response', 'too many informational answers');
      return;
    }
    this.#status = status;
    const retryAfter = headers['retry-after'];
    this.#retryAfter = typeof retryAfter === 'string' ? retryAfter : null;
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    if (this.#keptBytes < KEPT_BYTES) {
      // Copied, since the chunk may be a window on a much larger read.
      const part = Uint8Array.prototype.slice.call(chunk, 0, KEPT_BYTES - this.#keptBytes);
      this.#kept.push(part);
      this.#keptBytes += part.length;
    }
    this.#readBytes += chunk.length;
    if (this.#readBytes > READ_BYTES) this.#settle('network', 'answer too long');
  }

  onResponseEnd(): void {
    this.#finish({ status: this.#status, fault: null, detail: null, incomplete: false, reusable: true });
  }

  onResponseError(_: unknown, error: Error): void {
    const { fault, detail } = faultOf(error);
    this.#settle(fault, detail);
  }

  /** A complete head decides on its own, whatever becomes of the body. */
  #settle(fault: NonNullable<WebhookAnswer['fault']>, detail: string): void {
    const status = this.#status;
    this.#finish({ status, fault: status === null ? fault : null, detail: printable(detail), incomplete: status !== null, reusable: false });
  }

  #finish(ending: Omit<Ending, 'body' | 'retryAfter'>): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#end({
      ...ending,
      retryAfter: this.#retryAfter,
      body: this.#kept.length === 0 ? NOTHING : this.#kept.length === 1 ? this.#kept[0]! : Buffer.concat(this.#kept),
    });
  }
}

/** Classifies what went wrong on the way; the words go to the merchant's delivery log. */
function faultOf(error: Error): { fault: NonNullable<WebhookAnswer['fault']>; detail: string } {
  if (error instanceof ForbiddenAddress) return { fault: 'blocked', detail: error.message };
  if (error instanceof DnsFailure) return { fault: 'dns', detail: error.code };
  if (error instanceof TlsFailure) return { fault: 'tls', detail: error.code };
  const code = (error as NodeJS.ErrnoException).code ?? error.name;
  if (INVALID_ANSWERS.has(error.name)) return { fault: 'invalid_response', detail: error.name };
  return { fault: 'network', detail: code === 'UND_ERR_SOCKET' ? `connection lost (${error.message})` : code };
}

const printable = (text: string): string => text.replace(/[^\x20-\x7e]/g, '?').slice(0, DETAIL_LENGTH);
