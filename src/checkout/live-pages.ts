import type { Response } from 'express';

interface LivePage {
  readonly response: Response;
  last: string;
}

/** Comments keep proxies from closing an idle stream, and let confirmations move on while nothing else happens. */
const REFRESH_MS = 2_000;
/** A slow reader is dropped rather than buffered for; its browser connects again. */
const MAX_BUFFERED_BYTES = 64 * 1024;

/** Open pages, told over server-sent events what changed. One timer serves them all. */
export class LivePages {
  readonly #pages = new Map<LivePage, () => void>();
  #timer: NodeJS.Timeout | null = null;

  /** Sends the update now, after every change, and whenever a refresh shows a difference. */
  open(response: Response, update: () => Promise<object | null>, subscribe: (listener: () => void) => () => void): void {
    response.set({ 'Content-Type': 'text/event-stream; charset=utf-8', 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no', 'X-Content-Type-Options': 'nosniff' });
    response.flushHeaders();
    response.write('retry: 2000\n\n');
    const page: LivePage = { response, last: '' };
    const send = (): void => void this.#send(page, update);
    const unsubscribe = subscribe(send);
    this.#pages.set(page, send);
    this.#timer ??= setInterval(() => this.#pages.forEach((refresh) => refresh()), REFRESH_MS).unref();
    response.on('close', () => {
      unsubscribe();
      this.#pages.delete(page);
      if (this.#pages.size > 0 || !this.#timer) return;
      clearInterval(this.#timer);
      this.#timer = null;
    });
    send();
  }

  async #send(page: LivePage, update: () => Promise<object | null>): Promise<void> {
    const data = JSON.stringify(await update().catch(() => null));
    if (data === page.last || data === 'null' || page.response.destroyed) return;
    page.last = data;
    if (page.response.writableLength > MAX_BUFFERED_BYTES) page.response.destroy();
    else page.response.write(`data: ${data}\n\n`);
  }
}
