import { createHmac, hash } from 'node:crypto';
import { must } from '../../domain/values/must.ts';

export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly region: string;
}

export interface UnsignedRequest {
  readonly method: string;
  readonly url: URL;
  /** In addition to `host` and what the signature adds; names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/**
 * The headers that sign a request to S3 with AWS Signature Version 4: method, URL, these headers and the whole body.
 */
export function signedHeaders(
  { method, url, headers, body }: UnsignedRequest,
  credentials: S3Credentials,
  nowMs: number,
): Record<string, string> {
  const { accessKeyId, secretAccessKey, region } = credentials;
  const moment = new Date(nowMs).toISOString().replace(/[-:]|\.\d{3}/g, '');
  const bodyHash = hash('sha256', body);
  const signed: Record<string, string> = {
    ...headers,
    host: url.host,
    'x-amz-content-sha256': bodyHash,
    'x-amz-date': moment,
  };
  const names = Object.keys(signed).toSorted();
  const canonical = [
    ...[method, url.pathname, canonicalQuery(url.searchParams)],
    ...names.map((name) => `${name}:${must(signed[name]).trim()}`),
    ...['', names.join(';'), bodyHash],
  ].join('\n');
  const scope = `${moment.slice(0, 8)}/${region}/s3/aws4_request`;
  const key = scope.split('/').reduce<string | Buffer>((last, part) => hmac(last, part), `AWS4${secretAccessKey}`);
  const signature = hmac(key, ['AWS4-HMAC-SHA256', moment, scope, hash('sha256', canonical)].join('\n')).toString(
    'hex',
  );
  const { host: _, ...sent } = signed;
  return {
    ...sent,
    authorization: `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`,
  };
}

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

const canonicalQuery = (query: URLSearchParams): string =>
  [...query]
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .toSorted()
    .join('&');

/** RFC 3986 encoding: `encodeURIComponent` leaves a few characters that AWS encodes. */
const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
