import { PassThrough, Duplex } from 'node:stream';
import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { SignerConnection } from '../../../../src/adapters/signer/connection.ts';
import type { SignerRequest } from '../../../../src/ports/signer/protocol.ts';
import { jsonLine, MAX_JSON_LINE_BYTES, readJsonLines } from '../../../../src/runtime/util/json-lines.ts';

/** A connection to a signer that echoes, and hangs up on a line that is too long, as the signer does. */
function connected(): SignerConnection {
  const [there, back] = [new PassThrough(), new PassThrough()];
  const socket = Object.assign(Duplex.from({ readable: back, writable: there }), { unref: () => undefined });
  readJsonLines(there, {
    onFault: () => back.end(),
    onValue: (value) => {
      const { id, params } = value as SignerRequest;
      back.write(jsonLine({ id, ok: true, result: params }));
    },
  });
  return new SignerConnection(socket as unknown as Socket);
}

test('a request that is too long for the signer is refused alone, and costs nobody else the connection', async () => {
  const connection = connected();
  await expect(connection.call('check', 'x'.repeat(MAX_JSON_LINE_BYTES))).rejects.toMatchObject({
    name: 'SignerRefused',
  });
  expect(await connection.call('check', 'short')).toBe('short');
  connection.close();
});
