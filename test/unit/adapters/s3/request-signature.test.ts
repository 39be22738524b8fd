import { describe, expect, it } from 'vitest';
import { signedHeaders } from '../../../../src/adapters/s3/request-signature.ts';

/* The examples of "Authenticating Requests: Using the Authorization Header" in the reference of Amazon S3. */
const KEYS = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  region: 'us-east-1',
};
const AT_MS = Date.parse('2013-05-24T00:00:00Z');
const HOST = 'https://examplebucket.s3.amazonaws.com';

describe('the signature of a request to S3', () => {
  it.each([
    [
      'GET',
      '/test.txt',
      { range: 'bytes=0-9' },
      '',
      'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
    ],
    [
      'PUT',
      '/test%24file.text',
      { date: 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY' },
      'Welcome to Amazon S3.',
      '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
    ],
    ['GET', '/?lifecycle', {}, '', 'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543'],
    ['GET', '/?max-keys=2&prefix=J', {}, '', '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7'],
  ])('is the one that Amazon gives for %s %s', (method, path, headers, body, signature) => {
    const signed = signedHeaders(
      { method, url: new URL(`${HOST}${path}`), headers, body: Buffer.from(body) },
      KEYS,
      AT_MS,
    );
    expect(signed['authorization']).toMatch(
      new RegExp(`^AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, `),
    );
    expect(signed['authorization']).toMatch(new RegExp(`Signature=${signature}$`));
    expect(JSON.stringify(signed)).not.toContain(KEYS.secretAccessKey);
  });
});
