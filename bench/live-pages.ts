/*
 * What open payment pages cost: 5,000 connections to the event stream of one process, over real sockets.
 *
 *   npm run bench -- live-pages
 *
 * Shows the memory of the process that serves them before, while they are open, and after they are gone, and how long
 * one change of a session takes to reach all of its pages.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import express from 'express';
import { LivePages } from '../src/checkout/live-pages.ts';

const PAGES = 5_000;
/** Pages that watch the same session, as a payer who opened it on two devices. */
const PER_SESSION = 2;

interface Report {
  readonly open: number;
  readonly heapMb: number;
  readonly rssMb: number;
}

async function serve(): Promise<void> {
  const app = express();
  const live = new LivePages(Date.now);
  const listeners = new Set<() => void>();
  let state = 'awaiting';
  app.get('/pay/:id/events', (request, response) => {
    const shown = {
      state,
      version: state,
      expires_at: 1_767_225_600,
      status: { title: state, lines: Array.from({ length: 4 }, () => [{ text: 'x'.repeat(120) }]), transfers: [] },
    };
    const update = async () => ({ shown: { ...shown, state }, moving: false });
    live.open(
      response,
      { session: String(request.params.id), lastEventId: request.get('Last-Event-ID') ?? '' },
      update,
      (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    );
  });
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  process.on('message', (asked) => {
    if (asked === 'change') {
      state = `${state}!`;
      for (const listener of listeners) listener();
      return;
    }
    globalThis.gc?.();
    const { heapUsed, rss } = process.memoryUsage();
    process.send?.({ open: live.size, heapMb: heapUsed / 2 ** 20, rssMb: rss / 2 ** 20 } satisfies Report);
  });
  process.send?.((server.address() as AddressInfo).port);
}

/** For `npm run bench`: answers the section. */
export async function benchLivePages(): Promise<string> {
  const child = fork(import.meta.filename, ['serve'], { execArgv: ['--expose-gc'] });
  const [port] = (await once(child, 'message')) as [number];
  const report = async (): Promise<Report> => {
    child.send('report');
    return ((await once(child, 'message')) as [Report])[0];
  };
  const before = await report();
  const sockets: Socket[] = [];
  let heard = 0;
  for (let page = 0; page < PAGES; page++) {
    const socket = connect(port, '127.0.0.1');
    socket.on('data', (data) => (heard += data.includes('data: ') ? 1 : 0));
    socket.write(`GET /pay/cs_${Math.floor(page / PER_SESSION)}/events HTTP/1.1\r\nHost: x\r\n\r\n`);
    sockets.push(socket);
    if (page % 200 === 199) await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await until(() => heard >= PAGES);
  const during = await report();
  heard = 0;
  const began = performance.now();
  child.send('change');
  await until(() => heard >= PAGES);
  const tookMs = performance.now() - began;
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => setTimeout(resolve, 500));
  const after = await report();
  child.kill();
  await once(child, 'exit');
  const row = (name: string, { open, heapMb, rssMb }: Report): string =>
    `| ${name} | ${open} | ${heapMb.toFixed(1)} | ${rssMb.toFixed(1)} |`;
  return [
    '## Open payment pages',
    '',
    '| | open pages | heap, MB | resident, MB |',
    '|---|---|---|---|',
    row('before', before),
    row('open', during),
    row('after', after),
    '',
    `${(((during.heapMb - before.heapMb) * 1024) / PAGES).toFixed(1)} KB of heap a page; one change reached all ${PAGES} in ${tookMs.toFixed(0)} ms.`,
  ].join('\n');
}

async function until(done: () => boolean): Promise<void> {
  while (!done()) await new Promise((resolve) => setTimeout(resolve, 5));
}

if (process.argv[2] === 'serve') await serve();
