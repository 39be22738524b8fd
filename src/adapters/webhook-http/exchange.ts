import { errors, type Dispatcher } from 'undici';
import type { WebhookAnswer } from '../../ports/webhooks/sender.ts';
import { ForbiddenAddress, TlsFailure } from './connection-faults.ts';
import { DnsFailure } from './host-resolver.ts';
import { codeOf } from '../../runtime/util/code-of.ts';

/** Bytes kept of an answer. */
const KEPT_BYTES = 4 * 1024;
/** `102` and `103` may precede an answer; more than this many count as a violation. */
const MAX_INFORMATIONAL = 8;
const DETAIL_LENGTH = 100;

/** The result of an exchange, to which the connection adds its address and the clock its duration. */
export type Ending = Pick<WebhookAnswer, 'status' | 'fault' | 'detail' | 'retryAfter' | 'body' | 'incomplete'>;

/** Collects the answer to one request, within limits, from the client. Ends exactly once. */
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

  /** Ends the exchange at its deadline. */
  expire(): void {
    this.#settle('timeout', 'no complete answer in time');
  }

  /** Ends the exchange because the answer is too long. */
  overflow(): void {
    this.#settle('invalid_response', 'answer too long');
  }

  /** Ends the exchange because the connection failed or the answer was not HTTP. */
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
    // A repeated header is ignored.
    this.#retryAfter = typeof retryAfter === 'string' ? retryAfter.trim() : null;
  }

  onResponseData(_: unknown, bytes: Uint8Array): void {
    if (this.#keptBytes >= KEPT_BYTES) return;
    // Copied, because the bytes are a view of a much larger buffer.
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

  /** A complete head decides by itself, whatever becomes of the body. */
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

/** Classifies the failure; the text goes into the merchant's delivery log. */
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
