import type { NotificationId } from '../../src/domain/values/ids.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { WebhookAnswer, WebhookRequest, WebhookSender } from '../../src/ports/webhooks/sender.ts';

export interface Sent extends WebhookRequest {
  readonly atMs: number;
  readonly id: NotificationId;
}

type Answer = Partial<WebhookAnswer>;

/** Answers by script instead of over a network: for schedules that take days. */
export class ScriptedSender implements WebhookSender {
  readonly sent: Sent[] = [];
  answer: (sent: Sent, count: number) => Answer | Promise<Answer>;
  inFlight = 0;
  mostInFlight = 0;
  readonly #clock: Clock;

  constructor(clock: Clock, answer: (sent: Sent, count: number) => Answer | Promise<Answer> = () => ({ status: 200 })) {
    this.#clock = clock;
    this.answer = answer;
  }

  async send(request: WebhookRequest): Promise<WebhookAnswer> {
    const sent = {
      ...request,
      atMs: this.#clock.nowMs(),
      id: headerOf(request, 'X-Service-Event-ID') as NotificationId,
    };
    this.sent.push(sent);
    this.inFlight += 1;
    this.mostInFlight = Math.max(this.mostInFlight, this.inFlight);
    try {
      const answer = await this.answer(sent, this.sent.length);
      return {
        status: null,
        fault: null,
        detail: null,
        address: '203.0.113.7',
        durationMs: 0,
        retryAfter: null,
        body: new Uint8Array(0),
        incomplete: false,
        ...answer,
      };
    } finally {
      this.inFlight -= 1;
    }
  }

  async close(): Promise<void> {}

  of(id: NotificationId): Sent[] {
    return this.sent.filter((sent) => sent.id === id);
  }
}

export function headerOf(request: WebhookRequest, name: string): string | undefined {
  const at = request.headers.findIndex(
    (header, index) => index % 2 === 0 && header.toLowerCase() === name.toLowerCase(),
  );
  return at < 0 ? undefined : request.headers[at + 1];
}
