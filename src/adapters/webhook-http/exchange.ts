import type { WebhookAnswer } from '../../ports/webhook-sender.ts';
import { InvalidAnswer } from './answer-head.ts';
import { AnswerReader } from './answer-reader.ts';
import { ForbiddenAddress, TlsFailure } from './connection-faults.ts';
import { DnsFailure } from './host-resolver.ts';

/** Kept of an answer. */
const KEPT_BYTES = 4 * 1024;
/** Read of an answer, head and all, before the connection is cut. */
const READ_BYTES = 64 * 1024;
const DETAIL_LENGTH = 100;
const NOTHING = new Uint8Array(0);

/** What an exchange came to, before the connection adds its address and the clock its duration. */
export type Ending = Pick<WebhookAnswer, 'status' | 'fault' | 'detail' | 'retryAfter' | 'body' | 'incomplete'> & {
  /** How long the connection may wait for another request; 0 when it is not to carry another. */
  readonly keepAliveMs: number;
};

/** One request's answer within its bounds. Ends exactly once. */
export class Exchange {
  readonly #end: (ending: Ending) => void;
  readonly #reader = new AnswerReader((bytes) => this.#onBody(bytes));
  #ended = false;
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

  /** Bytes of the answer, which the caller may overwrite afterwards. */
  read(bytes: Buffer): void {
    this.#readBytes += bytes.length;
    if (this.#readBytes > READ_BYTES) this.#settle('network', 'answer too long');
    if (this.#ended) return;
    try {
      if (this.#reader.read(bytes)) this.#complete();
    } catch (error) {
      this.fail(error as Error);
    }
  }

  /** The receiver closed its side. */
  close(): void {
    if (this.#reader.end()) this.#complete();
    else this.#settle('network', 'connection lost (other side closed)');
  }

  /** There was no connection, or there is none any more, or what came over it was no answer. */
  fail(error: Error): void {
    const { fault, detail } = faultOf(error);
    this.#settle(fault, detail);
  }

  #onBody(bytes: Uint8Array): void {
    if (this.#keptBytes >= KEPT_BYTES) return;
    // Copied, since the bytes are a window on what is read next.
    const part = Uint8Array.prototype.slice.call(bytes, 0, KEPT_BYTES - this.#keptBytes);
    this.#kept.push(part);
    this.#keptBytes += part.length;
  }

  #complete(): void {
    const { head, keepAliveMs } = this.#reader;
    this.#finish({ status: head?.status ?? null, fault: null, detail: null, incomplete: false, keepAliveMs });
  }

  /** A complete head decides on its own, whatever becomes of the body. */
  #settle(fault: NonNullable<WebhookAnswer['fault']>, detail: string): void {
    const status = this.#reader.head?.status ?? null;
    this.#finish({ status, fault: status === null ? fault : null, detail: printable(detail), incomplete: status !== null, keepAliveMs: 0 });
  }

  #finish(ending: Omit<Ending, 'body' | 'retryAfter'>): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#end({
      ...ending,
      retryAfter: this.#reader.head?.retryAfter ?? null,
      body: this.#kept.length === 0 ? NOTHING : this.#kept.length === 1 ? this.#kept[0]! : Buffer.concat(this.#kept),
    });
  }
}

/** Classifies what went wrong on the way; the words go to the merchant's delivery log. */
function faultOf(error: Error): { fault: NonNullable<WebhookAnswer['fault']>; detail: string } {
  if (error instanceof ForbiddenAddress) return { fault: 'blocked', detail: error.message };
  if (error instanceof DnsFailure) return { fault: 'dns', detail: error.code };
  if (error instanceof TlsFailure) return { fault: 'tls', detail: error.code };
  if (error instanceof InvalidAnswer) return { fault: 'invalid_response', detail: error.message };
  return { fault: 'network', detail: (error as NodeJS.ErrnoException).code ?? error.message };
}

const printable = (text: string): string => text.replace(/[^\x20-\x7e]/g, '?').slice(0, DETAIL_LENGTH);
