import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import express from 'express';
import { expect, it } from 'vitest';
import { LivePages } from '../../../src/checkout/live-pages.ts';

it('a page whose reader left during the session look-up is neither kept nor counted', async () => {
  const live = new LivePages(() => 0);
  let listeners = 0;
  const subscribe = () => {
    listeners += 1;
    return () => void (listeners -= 1);
  };
  const app = express();
  const opened = new Promise<void>((resolve) =>
    app.get('/events', async (_request, response) => {
      await once(response, 'close');
      live.open(response, { session: 'cs_1', lastEventId: '' }, async () => null, subscribe);
      resolve();
    }),
  );
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const reader = connect((server.address() as AddressInfo).port, '127.0.0.1');
    reader.write('GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await once(server, 'request');
    reader.destroy();
    await opened;
    expect({ pages: live.size, listeners }).toEqual({ pages: 0, listeners: 0 });
  } finally {
    server.close();
  }
});
