import type { WebhookAnswer, WebhookRequest, WebhookSender } from '../../../src/ports/webhooks/sender.ts';
import type { Prng } from '../time/prng.ts';
import { currentProcess, type ModelProcess, type Scheduler } from '../time/scheduler.ts';

/** What an endpoint may do instead of answering well. */
export const RECEIVER_BEHAVIOURS = [
  'slow',
  'silent',
  'closing',
  'errors',
  'flapping',
  'refusing',
  'rate-limited',
  'takes-and-fails',
] as const;
export type ReceiverBehaviour = 'well' | (typeof RECEIVER_BEHAVIOURS)[number];

/** One request as it arrived at a merchant's endpoint. */
export interface Received {
  readonly atMs: number;
  /** When its answer is under way, or nobody waits for one any more. */
  readonly answeredMs: number;
  /** Who sent it. */
  readonly sender: ModelProcess | null;
  readonly url: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
  /** It came to the endpoint at all. */
  readonly arrived: boolean;
  /** The endpoint has it, whatever it answered. */
  readonly accepted: boolean;
}

const TIMEOUT_MS = 30_000;
const ANSWER: WebhookAnswer = {
  status: 200,
  fault: null,
  detail: null,
  address: '203.0.113.1',
  durationMs: 20,
  retryAfter: null,
  incomplete: false,
  body: Buffer.from('{"received":true}'),
};

/** The endpoints of all merchants, and the way to them. */
export class Receivers {
  readonly received: Received[] = [];
  readonly behaviours = new Map<string, ReceiverBehaviour>();
  readonly #scheduler: Scheduler;
  readonly #prng: Prng;
  #flips = 0;

  constructor(scheduler: Scheduler, prng: Prng) {
    this.#scheduler = scheduler;
    this.#prng = prng;
  }

  /** For the current process. */
  sender(): WebhookSender {
    const caller = currentProcess();
    return {
      send: (request) =>
        new Promise((resolve) => {
          this.#scheduler.after(5 + this.#prng.fraction() * 60, null, () => {
            const { answer, afterMs } = this.#take(request, caller);
            this.#scheduler.after(afterMs, caller, () => resolve({ ...answer, durationMs: Math.round(afterMs) }));
          });
        }),
      close: async () => undefined,
    };
  }

  #take(
    request: WebhookRequest,
    sender: ModelProcess | null,
  ): { readonly answer: WebhookAnswer; readonly afterMs: number } {
    const behaviour = this.behaviours.get(request.url) ?? 'well';
    const quickMs = 5 + this.#prng.fraction() * 60;
    const status = (code: number, afterMs = quickMs, retryAfter: string | null = null) => {
      this.#note(request, { sender, afterMs, arrived: true, accepted: code < 300 });
      return { answer: { ...ANSWER, status: code, retryAfter }, afterMs };
    };
    const fault = (kind: NonNullable<WebhookAnswer['fault']>, afterMs = quickMs) => {
      if (behaviour !== 'takes-and-fails') this.#note(request, { sender, afterMs, arrived: false, accepted: false });
      return { answer: { ...ANSWER, status: null, fault: kind, body: Buffer.alloc(0) }, afterMs };
    };
    switch (behaviour) {
      case 'well':
        return status(200);
      case 'slow':
        return status(200, 20_000 * this.#prng.fraction());
      case 'silent':
        return fault('timeout', TIMEOUT_MS);
      case 'closing':
        return fault('network');
      case 'errors':
        return status(this.#prng.pick([500, 502, 503, 504]));
      case 'flapping':
        return (this.#flips += 1) % 2 === 0 ? status(200) : status(503);
      case 'refusing':
        return status(this.#prng.pick([400, 401, 403, 404, 410]));
      case 'rate-limited':
        return status(429, quickMs, this.#prng.pick(['5', '0', '-1', 'rubbish']));
      case 'takes-and-fails':
        this.#note(request, { sender, afterMs: TIMEOUT_MS, arrived: true, accepted: true });
        return fault('timeout', TIMEOUT_MS);
    }
  }

  #note(
    { url, headers, body }: WebhookRequest,
    { afterMs, ...said }: Pick<Received, 'sender' | 'arrived' | 'accepted'> & { readonly afterMs: number },
  ): void {
    const named = new Map<string, string>();
    for (let at = 0; at < headers.length; at += 2) named.set(headers[at]!.toLowerCase(), headers[at + 1]!);
    const atMs = this.#scheduler.nowMs;
    this.received.push({ atMs, answeredMs: atMs + afterMs, url, headers: named, body, ...said });
  }
}
