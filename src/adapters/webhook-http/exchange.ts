import { errors, type Dispatcher } from 'undici';
import type { WebhookAnswer } from '../../ports/webhook-sender.ts';
import { ForbiddenAddress, TlsFailure } from './connection-faults.ts';
import { DnsFailure } from './host-resolver.ts';
import { codeOf } from '../../runtime/util/code-of.ts';

/** Kept of an answer. */
const KEPT_BYTES = 4 * 1024;
/** `102` and `103` may precede an answer; a flood of them is none. */
const MAX_INFORMATIONAL = 8;
const DETAIL_LENGTH = 100;

/** What an exchange came to, before the connection adds its address and the clock its duration. */
export type Ending = Pick<WebhookAnswer, 'status' | 'fault' | 'detail' | 'retryAfter' | 'body' | 'incomplete'>;

/** One request's answer within its bounds, handed over by the client. Ends exactly once. */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #end: (ending: Ending) => void;
  #ended = false;
  #status: number | null = null;
  #retryAfter: string | null = null;
  #informational = 0;
  #kept: Uint8Array[] = [];
  #keptBytes = 0;

  constructor(end: (ending: Ending) => void) {
    this.#end = end;
  }

  /** The deadline has passed. */
  expire(): void {
    this.#settle('timeout', 'no complete answer in time');
  }

  /** More came than is read of an answer. */
  overflow(): void {
    this.#settle('invalid_response', 'answer too long');
  }

  /** There was no connection, or there is none any more, or what came over it was no answer. */
  fail(error: Error): void {
    const { fault, detail } = faultOf(error);
    this.#settle(fault, detail);
  }

  onRequestStart(): void {}

  onResponseStart(_: unknown, status: number, headers: Readonly<Record<string, string | string[] | undefined>>): void {
    if (status < 200) {
      this.#informational += 1;
      if (this.#informational > MAX_INFORMATIONAL) this.#settle('invalid_response', 'too many informational answers');
      return;
    }
    this.#status = status;
    const retryAfter = headers['retry-after'];
    // Said twice, it says nothing.
    this.#retryAfter = typeof retryAfter === 'string' ? retryAfter.trim() : null;
  }

  onResponseData(_: unknown, bytes: Uint8Array): void {
    if (this.#keptBytes >= KEPT_BYTES) return;
    // Copied, since the bytes are a window on a much larger read.
    const part = Uint8Array.prototype.slice.call(bytes, 0, KEPT_BYTES - this.#keptBytes);
    this.#kept.push(part);
    this.#keptBytes += part.length;
  }

  onResponseEnd(): void {
    this.#finish({ status: this.#status, fault: null, detail: null, incomplete: false });
  }

  onResponseError(_: unknown, error: Error): void {
    this.fail(error);
  }

  /** A complete head decides on its own, whatever becomes of the body. */
  #settle(fault: NonNullable<WebhookAnswer['fault']>, detail: string): void {
    const status = this.#status;
    this.#finish({
      status,
      fault: status === null ? fault : null,
      detail: printable(detail),
      incomplete: status !== null,
    });
  }

  #finish(ending: Omit<Ending, 'body' | 'retryAfter'>): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#end({
      ...ending,
      retryAfter: this.#retryAfter,
      body: Buffer.concat(this.#kept),
    });
  }
}

/** Classifies what went wrong on the way; the words go to the merchant's delivery log. */
function faultOf(error: Error): { fault: NonNullable<WebhookAnswer['fault']>; detail: string } {
  if (error instanceof ForbiddenAddress) return { fault: 'blocked', detail: error.message };
  if (error instanceof DnsFailure) return { fault: 'dns', detail: error.code };
  if (error instanceof TlsFailure) return { fault: 'tls', detail: error.reason };
  if (isInvalidAnswer(error)) return { fault: 'invalid_response', detail: error.message };
  if (error instanceof errors.SocketError) return { fault: 'network', detail: `connection lost (${error.message})` };
  return { fault: 'network', detail: codeOf(error) ?? error.message };
}

const isInvalidAnswer = (error: Error): boolean =>
  error instanceof errors.HTTPParserError ||
  error instanceof errors.HeadersOverflowError ||
  error instanceof errors.ResponseContentLengthMismatchError;

const printable = (text: string): string => text.replace(/[^\x20-\x7e]/g, '?').slice(0, DETAIL_LENGTH);
