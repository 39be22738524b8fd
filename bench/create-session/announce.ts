import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Tells the parent process the port, and ends with it. */
export function announce(server: Server): void {
  server.on('listening', () => process.send?.({ port: (server.address() as AddressInfo).port }));
  process.on('disconnect', () => process.exit(0));
}
