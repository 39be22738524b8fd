import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createHttpWitness } from '../../../../src/adapters/witness/http-witness.ts';

const CHECKPOINT = `log.example\n9\n${Buffer.alloc(32, 1).toString('base64')}\n\n\u2014 log.example ${Buffer.alloc(68, 2).toString('base64')}\n`;
const COSIGNATURE = `\u2014 witness.example ${Buffer.alloc(76, 3).toString('base64')}\n`;

describe('a witness outside', () => {
  let server: Server | null = null;
  const bodies: string[] = [];

  afterEach(() => {
    bodies.length = 0;
    return new Promise((done) => (server ? server.close(done) : done(null)));
  });

  async function witness(answers: readonly (readonly [status: number, text: string])[]) {
    let next = 0;
    server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        bodies.push(`${request.url} ${Buffer.concat(chunks).toString('utf8')}`);
        const [status, text] = answers[next++]!;
        response.writeHead(status).end(text);
      });
    });
    await new Promise<void>((done) => server!.listen(0, '127.0.0.1', done));
    return createHttpWitness(`http://127.0.0.1:${(server.address() as AddressInfo).port}/witness/`);
  }
  const proofFrom = (from: number): Promise<string[]> => Promise.resolve(from === 0 ? [] : [`proof-from-${from}`]);

  it('cosigns, and receives the proof from the size that it reports', async () => {
    const asked = await witness([
      [409, '4\n'],
      [200, COSIGNATURE],
      [200, COSIGNATURE],
    ]);
    expect(await asked.cosign(CHECKPOINT, 9, proofFrom)).toBe(COSIGNATURE);
    expect(await asked.cosign(CHECKPOINT, 12, proofFrom)).toBe(COSIGNATURE);
    expect(bodies).toEqual([
      `/witness/add-checkpoint old 0\n\n${CHECKPOINT}`,
      `/witness/add-checkpoint old 4\nproof-from-4\n\n${CHECKPOINT}`,
      `/witness/add-checkpoint old 9\nproof-from-9\n\n${CHECKPOINT}`,
    ]);
  });

  it.each([
    [422, 'no', /answered 422/],
    [200, 'hello', /something other than signatures/],
    [409, '10\n', /answered 409/],
  ] as const)('adds nothing to the note if it returns %s %j', async (status, text, message) => {
    const asked = await witness([[status, text]]);
    await expect(asked.cosign(CHECKPOINT, 9, proofFrom)).rejects.toThrow(message);
  });
});
