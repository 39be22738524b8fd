import type { ObjectStore } from '../../ports/event-log/object-store.ts';
import { signedHeaders, type S3Credentials } from './request-signature.ts';
import { must } from '../../domain/values/must.ts';

export interface S3Place {
  /** For example `https://s3.eu-central-1.amazonaws.com`, or a compatible server. */
  readonly endpoint: string;
  readonly bucket: string;
  /** Empty, or ends with a slash. */
  readonly prefix: string;
  readonly credentials: S3Credentials;
}

const TIMEOUT_MS = 30_000;
const NO_BODY = new Uint8Array();
/** Request condition: no object with this name exists. */
const ABSENT = { 'if-none-match': '*' };
/** Precondition Failed. */
const CHANGED = 412;

/** Objects in a bucket of S3 or a compatible server, addressed by path. */
export function s3Objects(at: S3Place): ObjectStore {
  const { bucket, prefix } = at;
  const { host, send, demandOk } = requestsTo(at);
  const place = `s3://${bucket}/${prefix}`.replace(/\/$/, '');
  /** Tags of the objects last read or written. */
  const tags = new Map<string, string>();
  let isConditional = false;

  function keepTag(name: string, { headers }: Response): void {
    const tag = headers.get('etag');
    if (tag === null) throw new Error(`${host} answers without an ETag: what lies there could be replaced unseen`);
    tags.set(name, tag);
  }

  /**
   * Verified once with bytes that already exist: a server that ignores the condition would let two services overwrite
   * each other.
   */
  async function demandConditions(name: string, bytes: Uint8Array): Promise<void> {
    if (isConditional) return;
    const answer = await send('PUT', `/${prefix}${name}`, bytes, ABSENT);
    isConditional = answer.status === CHANGED;
    if (!isConditional) await demandOk(answer, `PUT ${name} with If-None-Match`);
    await answer.body?.cancel();
    if (!isConditional)
      throw new Error(`${host} ignores If-None-Match: two services could replace each other's events there`);
  }

  return {
    place,
    put: async (name, bytes) => {
      const tag = tags.get(name);
      const answer = await send('PUT', `/${prefix}${name}`, bytes, tag === undefined ? ABSENT : { 'if-match': tag });
      if (answer.status !== CHANGED) keepTag(name, await demandOk(answer, `PUT ${name}`));
      await answer.body?.cancel();
      if (answer.status === CHANGED)
        throw new Error(`${name} in ${place} is not what this service left there: something else writes there as well`);
      await demandConditions(name, bytes);
    },
    get: async (name) => {
      const answer = await send('GET', `/${prefix}${name}`);
      if (answer.status === 404 && textsOf(await answer.clone().text(), 'Code')[0] !== 'NoSuchBucket') {
        await answer.body?.cancel();
        tags.delete(name);
        return null;
      }
      keepTag(name, await demandOk(answer, `GET ${name}`));
      return Buffer.from(await answer.arrayBuffer());
    },
    list: async (wanted) => {
      const names: string[] = [];
      let token: string | undefined;
      do {
        const query = new URLSearchParams({
          'list-type': '2',
          prefix: `${prefix}${wanted}`,
          ...(token && { 'continuation-token': token }),
        });
        // Some servers decode a plus as a plus, others as a blank.
        const answer = await send('GET', `?${query.toString().replaceAll('+', '%20')}`);
        const page = await (await demandOk(answer, 'a list of objects')).text();
        names.push(...textsOf(page, 'Key').map((key) => key.slice(prefix.length)));
        [token] = textsOf(page, 'NextContinuationToken');
      } while (token !== undefined);
      // Consoles create empty objects to represent folders.
      return names.filter((name) => name !== '' && !name.endsWith('/')).toSorted();
    },
  };
}

interface S3Requests {
  readonly host: string;
  /** The path and query after the bucket. */
  readonly send: (
    method: string,
    rest: string,
    body?: Uint8Array,
    condition?: Readonly<Record<string, string>>,
  ) => Promise<Response>;
  readonly demandOk: (response: Response, what: string) => Promise<Response>;
}

function requestsTo({ endpoint, bucket, credentials }: S3Place): S3Requests {
  const base = `${endpoint.replace(/\/+$/, '')}/${bucket}`;
  return {
    host: new URL(base).host,
    send: async (method, rest, body = NO_BODY, condition = {}) => {
      const url = new URL(`${base}${rest}`);
      const headers = signedHeaders({ method, url, body, headers: condition }, credentials, Date.now());
      const sent = method === 'PUT' ? { body: new Uint8Array(body) } : {};
      try {
        return await fetch(url, {
          method,
          headers,
          ...sent,
          redirect: 'error',
          signal: AbortSignal.timeout(TIMEOUT_MS),
        });
      } catch (error) {
        const { cause, message } = error as Error;
        throw new Error(
          `${url.host} did not answer ${method} of ${url.pathname}: ${cause instanceof Error ? cause.message : message}`,
          {
            cause: error,
          },
        );
      }
    },
    demandOk: async (response, what) => {
      if (response.ok) return response;
      const [code] = textsOf(await response.text(), 'Code');
      throw new Error(
        `${new URL(base).host} answered ${response.status}${code === undefined ? '' : ` ${code}`} to ${what} in the bucket ${bucket}`,
      );
    },
  };
}

/** The contents of all elements with this name. The documents contain only names of ours, so no parser is needed. */
function textsOf(xml: string, element: string): string[] {
  return [...xml.matchAll(new RegExp(`<${element}>([^<]*)</${element}>`, 'g'))].map(([, text]) =>
    must(text)
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&quot;', '"')
      .replaceAll('&apos;', "'")
      .replaceAll('&amp;', '&'),
  );
}
