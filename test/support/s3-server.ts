import { createHash, createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A bucket at the wire: it verifies the signature of every request and the hash of every body, and lists in pages. */
export interface S3Server {
  readonly url: string;
  readonly objects: Map<string, Buffer>;
  /** Every further request is answered 503 while it is set. */
  isDown: boolean;
  /** What a request writes is written while it is set, and nobody hears of it. */
  losesAnswers: boolean;
  /** As servers do that know nothing of conditional writes. */
  ignoresConditions: boolean;
  close(): Promise<void>;
}

export const S3_KEYS = { accessKeyId: 'AKIDTEST', secretAccessKey: 'the/secret+of=tests', region: 'eu-test-1' };
const PAGE = 3;
const SKEW_MS = 900_000;

export async function startS3Server(bucket: string): Promise<S3Server> {
  const objects = new Map<string, Buffer>();
  const answer = (response: ServerResponse, status: number, body: string | Buffer = ''): void =>
    void response.writeHead(status).end(body);
  const fault = (response: ServerResponse, status: number, code: string): void =>
    answer(response, status, `<Error><Code>${code}</Code></Error>`);
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      if (running.isDown) return fault(response, 503, 'SlowDown');
      const refused = refusalOf(request, body);
      if (refused !== null) return fault(response, 403, refused);
      const url = new URL(request.url!, 'http://s3');
      const [, named, ...rest] = url.pathname.split('/');
      if (named !== bucket) return fault(response, 404, 'NoSuchBucket');
      const key = decodeURIComponent(rest.join('/'));
      if (request.method === 'PUT') {
        if (!running.ignoresConditions && !isMet(request, objects.get(key)))
          return fault(response, 412, 'PreconditionFailed');
        objects.set(key, body);
        if (running.losesAnswers) return void response.destroy();
        return answer(response.setHeader('etag', tagOf(body)), 200);
      }
      if (key === '') return answer(response, 200, listed(objects, url.searchParams));
      const found = objects.get(key);
      return found ? answer(response.setHeader('etag', tagOf(found)), 200, found) : fault(response, 404, 'NoSuchKey');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const running: S3Server = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    objects,
    ...{ isDown: false, losesAnswers: false, ignoresConditions: false },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
  return running;
}

const tagOf = (bytes: Buffer): string => `"${createHash('md5').update(bytes).digest('hex')}"`;

function isMet({ headers }: IncomingMessage, found: Buffer | undefined): boolean {
  if (headers['if-none-match'] === '*' && found) return false;
  return headers['if-match'] === undefined || (found !== undefined && headers['if-match'] === tagOf(found));
}

function listed(objects: Map<string, Buffer>, query: URLSearchParams): string {
  const keys = [...objects.keys()].filter((key) => key.startsWith(query.get('prefix') ?? '')).toSorted();
  const from = Number(query.get('continuation-token')?.replace('after=+', '') ?? 0);
  const page = keys.slice(from, from + PAGE).map((key) => `<Contents><Key>${key}</Key></Contents>`);
  const more = from + PAGE < keys.length;
  const next = more ? `<NextContinuationToken>after=+${from + PAGE}</NextContinuationToken>` : '';
  return `<ListBucketResult><IsTruncated>${String(more)}</IsTruncated>${page.join('')}${next}</ListBucketResult>`;
}

/** Written from the specification, apart from what signs: null when the request is what its signature says. */
function refusalOf({ method, url, headers, rawHeaders }: IncomingMessage, body: Buffer): string | null {
  const stated =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
      headers.authorization ?? '',
    );
  if (!stated) return 'AccessDenied';
  const [, keyId, day, region, names, signature] = stated as unknown as string[];
  if (keyId !== S3_KEYS.accessKeyId) return 'InvalidAccessKeyId';
  if (region !== S3_KEYS.region) return 'AuthorizationHeaderMalformed';
  const moment = String(headers['x-amz-date']);
  const sentMs = Date.parse(moment.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
  if (!(Math.abs(Date.now() - sentMs) < SKEW_MS) || !moment.startsWith(day!)) return 'RequestTimeTooSkewed';
  const bodyHash = createHash('sha256').update(body).digest('hex');
  if (headers['x-amz-content-sha256'] !== bodyHash) return 'XAmzContentSHA256Mismatch';
  // Whatever could change what the request means must be signed.
  const amazon = rawHeaders
    .filter((name, index) => index % 2 === 0 && /^x-amz-/i.test(name))
    .map((name) => name.toLowerCase());
  if (!['host', ...amazon].every((name) => names!.split(';').includes(name))) return 'AccessDenied';
  const [path, query = ''] = url!.split('?');
  const sortedQuery = query.split('&').filter(Boolean).toSorted().join('&');
  const lines = names!.split(';').map((name) => `${name}:${String(headers[name]).trim()}\n`);
  const canonical = `${method}\n${path}\n${sortedQuery}\n${lines.join('')}\n${names}\n${bodyHash}`;
  const toSign = `AWS4-HMAC-SHA256\n${moment}\n${day}/${region}/s3/aws4_request\n${createHash('sha256').update(canonical).digest('hex')}`;
  const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
  const key = hmac(hmac(hmac(hmac(`AWS4${S3_KEYS.secretAccessKey}`, day!), region), 's3'), 'aws4_request');
  return hmac(key, toSign).toString('hex') === signature ? null : 'SignatureDoesNotMatch';
}
