import { hash } from 'node:crypto';
import type { Response } from 'express';

/** An update for an open page. */
export interface LiveUpdate {
  /** Everything the page shows; sent only when it differs from what the page has. */
  readonly shown: object;
  /** True while something changes without an event of the session (confirmations, the deadline). */
  readonly moving: boolean;
}

interface LivePage {
  readonly response: Response;
  readonly update: () => Promise<LiveUpdate | null>;
  lastId: string;
  moving: boolean;
  ticksLeft: number;
  busy: boolean;
  again: boolean;
}

const TICK_MS = 1_000;
/**
 * A quiet page is checked, and told that its connection works, every 10 s: a page that hears nothing asks by itself
 * (`SILENT_MS` in assets/checkout.js).
 */
const QUIET_TICKS = 10;
/** A slow reader is disconnected rather than buffered for; its browser reconnects. */
const MAX_BUFFERED_BYTES = 64 * 1024;
/** Beyond this number a page polls instead. */
const MAX_PAGES = 20_000;
const MAX_PAGES_PER_SESSION = 32;

/** Open pages, updated over server-sent events. One timer serves them all. */
export class LivePages {
  readonly #pages = new Set<LivePage>();
  readonly #perSession = new Map<string, number>();
  readonly #nowMs: () => number;
  #timer: NodeJS.Timeout | null = null;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  get size(): number {
    return this.#pages.size;
  }

  hasRoom(session: string): boolean {
    return this.#pages.size < MAX_PAGES && (this.#perSession.get(session) ?? 0) < MAX_PAGES_PER_SESSION;
  }

  /**
   * Sends the update now unless the page already has it (`lastEventId`), after every change, and when a later check
   * finds a difference.
   */
  open(
    response: Response,
    about: { readonly session: string; readonly lastEventId: string },
    update: () => Promise<LiveUpdate | null>,
    subscribe: (listener: () => void) => () => void,
  ): void {
    // A client that left during the session look-up emits no second close event, so its page would never be removed.
    if (response.destroyed) return;
    response.set({
      'Content-Type': 'text/event-stream; charset=utf-8',
      'Cache-Control': 'no-store',
      'X-Accel-Buffering': 'no',
    });
    response.set('X-Content-Type-Options', 'nosniff').flushHeaders();
    response.write('retry: 2000\n\n');
    const page: LivePage = {
      response,
      update,
      lastId: about.lastEventId,
      moving: false,
      ticksLeft: QUIET_TICKS,
      busy: false,
      again: false,
    };
    const unsubscribe = subscribe(() => void this.#look(page));
    this.#pages.add(page);
    this.#perSession.set(about.session, (this.#perSession.get(about.session) ?? 0) + 1);
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS).unref();
    response.on('close', () => {
      unsubscribe();
      this.#forget(page, about.session);
    });
    void this.#look(page);
  }

  #forget(page: LivePage, session: string): void {
    this.#pages.delete(page);
    const left = (this.#perSession.get(session) ?? 1) - 1;
    if (left > 0) this.#perSession.set(session, left);
    else this.#perSession.delete(session);
    if (this.#pages.size > 0 || !this.#timer) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  #tick(): void {
    for (const page of this.#pages) {
      page.ticksLeft -= 1;
      const quiet = page.ticksLeft <= 0;
      if (quiet) {
        page.ticksLeft = QUIET_TICKS;
        page.response.write(`event: beat\ndata: ${this.#nowMs()}\n\n`);
      }
      if (quiet || page.moving) void this.#look(page);
    }
  }

  /**
   * One check at a time per page; changes in the meantime cause one more, so that an older view never overtakes a newer
   * one.
   */
  async #look(page: LivePage): Promise<void> {
    if (page.busy) {
      page.again = true;
      return;
    }
    page.busy = true;
    do {
      page.again = false;
      const update = await page.update().catch(() => null);
      if (update && !page.response.destroyed) this.#send(page, update);
    } while (page.again && !page.response.destroyed);
    page.busy = false;
  }

  #send(page: LivePage, { shown, moving }: LiveUpdate): void {
    page.moving = moving;
    const data = JSON.stringify(shown);
    const id = hash('sha256', data, 'hex').slice(0, 16);
    if (id === page.lastId) return;
    page.lastId = id;
    if (page.response.writableLength > MAX_BUFFERED_BYTES) page.response.destroy();
    else page.response.write(`id: ${id}\ndata: {"now":${this.#nowMs()},"page":${data}}\n\n`);
  }
}
