import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { sign, signRequest, verifySignature } from '../../../packages/client/src/signing.ts';

interface Vector {
  readonly name: string;
  readonly secret: string;
  readonly timestamp: string;
  readonly nonce: string;
  readonly body: string;
  readonly sign_string: string;
  readonly signature: string;
}
const { vectors, vectors_v2: vectorsV2 } = JSON.parse(
  readFileSync(new URL('../../../docs/signature-vectors.json', import.meta.url), 'utf8'),
) as {
  vectors: Vector[];
  vectors_v2: (Vector & { readonly method: string; readonly target: string })[];
};

describe.each(vectors)(
  'the published signature vector "$name"',
  ({ secret, timestamp, nonce, body, sign_string: signString, signature }) => {
    it('is what Node’s own crypto computes from its parts', () => {
      expect(signString).toBe(`${timestamp}.${nonce}.${body}`);
      expect(createHmac('sha256', secret).update(signString, 'utf8').digest('hex')).toBe(signature);
    });

    it('is what the client signs, from text and from bytes', async () => {
      expect(await sign(secret, timestamp, nonce, body)).toBe(signature);
      expect(await sign(secret, timestamp, nonce, new TextEncoder().encode(body))).toBe(signature);
    });

    it('verifies in either letter case, and only unchanged', async () => {
      expect(await verifySignature(secret, signature, timestamp, nonce, body)).toBe(true);
      expect(await verifySignature(secret, signature.toUpperCase(), timestamp, nonce, body)).toBe(true);
      expect(await verifySignature(`${secret}x`, signature, timestamp, nonce, body)).toBe(false);
      expect(await verifySignature(secret, signature, `${timestamp}0`, nonce, body)).toBe(false);
      expect(await verifySignature(secret, signature, timestamp, `${nonce}x`, body)).toBe(false);
      expect(await verifySignature(secret, signature, timestamp, nonce, `${body} `)).toBe(false);
    });
  },
);

describe.each(vectorsV2)(
  'the published signature vector of version 2 "$name"',
  ({ secret, signature, sign_string: signString, ...parts }) => {
    it('is what Node’s own crypto computes from its parts, and what the client signs', async () => {
      const { timestamp, nonce, method, target, body } = parts;
      expect(signString).toBe(['v2', timestamp, nonce, method, target, body].join('\n'));
      expect(createHmac('sha256', secret).update(signString, 'utf8').digest('hex')).toBe(signature);
      expect(await signRequest(secret, parts)).toBe(signature);
      expect(await signRequest(secret, { ...parts, body: new TextEncoder().encode(body) })).toBe(signature);
    });

    it('is another with any part changed, and never one of version 1', async () => {
      for (const part of ['timestamp', 'nonce', 'method', 'target', 'body'] as const)
        expect(await signRequest(secret, { ...parts, [part]: `${parts[part]}x` })).not.toBe(signature);
      expect(await sign(secret, parts.timestamp, parts.nonce, parts.body)).not.toBe(signature);
    });
  },
);

describe('a signature', () => {
  it.each(['', 'abc', 'z'.repeat(64), 'a'.repeat(63), 'a'.repeat(65), `${'a'.repeat(63)}\n`])(
    'that is not 64 hex characters never verifies: %j',
    async (signature) => {
      expect(await verifySignature('secret', signature, '1', 'n', '')).toBe(false);
    },
  );

  it('is right for any number of secrets in use', async () => {
    for (let i = 0; i < 100; i += 1)
      expect(await sign(`secret-${i}`, '1', 'n', '')).toBe(
        createHmac('sha256', `secret-${i}`).update('1.n.').digest('hex'),
      );
  });
});
