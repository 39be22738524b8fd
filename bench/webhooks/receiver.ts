import { createServer } from 'node:net';

/* A receiver that costs as little as one can: answers 200 to every complete POST on a kept-alive connection. */

const HEAD_END = Buffer.from('\r\n\r\n');
const ANSWER = Buffer.from(
  'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 17\r\nKeep-Alive: timeout=60\r\n\r\n{"received":true}',
);

const server = createServer((socket) => {
  let buffered: Buffer = Buffer.alloc(0);
  socket.setNoDelay(true);
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => {
    buffered = buffered.length === 0 ? chunk : Buffer.concat([buffered, chunk]);
    for (let end = buffered.indexOf(HEAD_END); end >= 0; end = buffered.indexOf(HEAD_END)) {
      const length = /content-length: (\d+)/i.exec(buffered.toString('latin1', 0, end));
      const total = end + HEAD_END.length + Number(length?.[1] ?? 0);
      if (buffered.length < total) return;
      buffered = buffered.subarray(total);
      if (socket.remotePort !== undefined) socket.write(ANSWER);
    }
  });
});

server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as { port: number }).port }));
process.on('disconnect', () => process.exit(0));
