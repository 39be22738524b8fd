import { createHash, type Hash } from 'node:crypto';
import type { RecordedEvent } from '../../src/ports/event-log/event-store.ts';

/**
 * What happened, in words, in the order in which it happened; its digest is the same for the same plan on every
 * machine.
 */
export class Timeline {
  readonly lines: { readonly atMs: number; readonly what: string; readonly text: string }[] = [];
  /** Situations, counted. */
  readonly counts = new Map<string, number>();
  readonly #nowMs: () => number;
  readonly #hash: Hash = createHash('sha256');

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  add(what: string, text: string): void {
    const atMs = this.#nowMs();
    this.lines.push({ atMs, what, text });
    this.#hash.update(`${atMs} ${what} ${text}\n`);
  }

  event(event: RecordedEvent): void {
    this.#hash.update(event.hash);
    this.add('event', `${event.stream}/${event.revision} ${event.type} ${summaryOf(event.data)}`);
  }

  count(situation: string): void {
    this.counts.set(situation, (this.counts.get(situation) ?? 0) + 1);
  }

  get digest(): string {
    return this.#hash.copy().digest('hex');
  }

  text(): string {
    return this.lines
      .map(({ atMs, what, text }) => `${(atMs / 1000).toFixed(3).padStart(10)}  ${what.padEnd(10)} ${text}`)
      .join('\n');
  }
}

/** Enough to tell which money it is about. */
const TOLD = [
  'depositKey',
  'amount',
  'dueAmount',
  'txHash',
  'refundId',
  'legId',
  'reason',
  'received',
  'kind',
  'status',
  'attempt',
  'orderId',
];

function summaryOf(data: string): string {
  const fields = JSON.parse(data) as Record<string, unknown>;
  return TOLD.filter((name) => fields[name] !== undefined && fields[name] !== null && typeof fields[name] !== 'object')
    .map((name) => `${name}=${String(fields[name])}`)
    .join(' ');
}
