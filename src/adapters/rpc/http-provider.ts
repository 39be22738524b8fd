import { Agent, request } from 'undici';
import { ProviderFault, RpcError, type NotedRefusal } from '../../ports/chain/rpc-pool.ts';
import { withoutSecretsOf } from './address-secrets.ts';
import { createConcurrencyLimit } from './concurrency-limit.ts';
import { faultOf, meaningOf, rpcErrorOf, type Family } from './dialects.ts';
import { codeOf } from '../../runtime/util/code-of.ts';

export interface HttpProviderOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly maxAnswerBytes: number;
  readonly maxConcurrency: number;
  readonly family: Family;
  readonly onRefusal: (refusal: NotedRefusal) => void;
  readonly onRequest: (method: string, ok: boolean, durationMs: number) => void;
  /** Called with the `Date` of a response; NaN if it has none. */
  readonly onServerTime?: (timeMs: number, roundTripMs: number) => void;
}

export interface HttpProvider {
  readonly call: (method: string, params: readonly unknown[]) => Promise<unknown>;
  readonly post: (path: string, body: unknown, label?: string) => Promise<unknown>;
  readonly get: (path: string, label?: string) => Promise<unknown>;
  readonly close: () => Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly retryAfterMs: number | undefined;
  readonly text: string;
}

/**
 * JSON-RPC and plain JSON over HTTP with a deadline for the whole exchange, so that a silent socket costs one timeout.
 */
export function createHttpProvider(options: HttpProviderOptions): HttpProvider {
  const base = options.url.replace(/\/$/, '');
  const { maxConcurrency: connections, timeoutMs: connectTimeout } = options;
  const agent = new Agent({ connections, pipelining: 1, connectTimeout, keepAliveTimeout: 30_000 });
  const limit = createConcurrencyLimit({ initial: Math.min(8, options.maxConcurrency), max: options.maxConcurrency });
  const withoutSecrets = withoutSecretsOf(options.url, options.headers);
  let nextId = 0;

  async function exchange(url: string, body: string | undefined): Promise<Answer> {
    const signal = AbortSignal.timeout(options.timeoutMs);
    const startedMs = performance.now();
    try {
      const headers = body === undefined ? options.headers : { ...options.headers, 'content-type': 'application/json' };
      const answer = await request(url, {
        method: body === undefined ? 'GET' : 'POST',
        headers,
        body: body ?? null,
        dispatcher: agent,
        signal,
      });
      options.onServerTime?.(Date.parse(String(answer.headers['date'])), performance.now() - startedMs);
      return {
        status: answer.statusCode,
        retryAfterMs: retryAfterMs(answer.headers['retry-after']),
        text: await readText(answer.body, options.maxAnswerBytes),
      };
    } catch (error) {
      if (error instanceof ProviderFault) throw error;
      throw new ProviderFault(
        'unreachable',
        signal.aborted ? `no answer within ${options.timeoutMs} ms` : `no answer: ${errorCode(error)}`,
      );
    }
  }

  async function measured<Value>(label: string, task: () => Promise<Value>): Promise<Value> {
    await limit.enter();
    const startedMs = performance.now();
    let ok = false;
    let pushedBack = false;
    try {
      const value = await task();
      ok = true;
      return value;
    } catch (error) {
      pushedBack = asksForLess(error);
      throw error;
    } finally {
      limit.leave(pushedBack);
      options.onRequest(label, ok, performance.now() - startedMs);
    }
  }

  const read = (answer: Answer, method: string): object => readBody(answer, method, { ...options, withoutSecrets });

  const plain = (path: string, body: unknown, label: string): Promise<unknown> =>
    measured(label, async () =>
      read(await exchange(base + path, body === undefined ? undefined : JSON.stringify(body)), label),
    );

  return {
    call: (method, params) =>
      measured(method, async () => {
        nextId += 1;
        const body = read(await exchange(base, JSON.stringify({ jsonrpc: '2.0', id: nextId, method, params })), method);
        if (!('result' in body)) throw new ProviderFault('unreachable', 'the answer holds neither result nor error');
        return body.result;
      }),
    post: (path, body, label = path) => plain(path, body ?? {}, label),
    get: (path, label = path) => plain(path, undefined, label),
    close: () => agent.destroy(),
  };
}

const asksForLess = (error: unknown): boolean =>
  (error instanceof ProviderFault && (error.kind === 'rate-limited' || error.kind === 'quota-used')) ||
  (error instanceof RpcError && error.means === 'unknown');

interface Reading extends Pick<HttpProviderOptions, 'family' | 'onRefusal'> {
  readonly withoutSecrets: (text: string) => string;
}

/** The body of a good answer. Throws `RpcError` or `ProviderFault` for a refusal. */
function readBody(answer: Answer, method: string, { family, onRefusal, withoutSecrets }: Reading): object {
  const { status } = answer;
  const isBad = status < 200 || status > 299;
  const body = isBad && !answer.text.includes('rror"') ? null : parse(answer.text, status);
  const refusal = body === null ? null : refusalIn(body, isBad);
  if (refusal === null && isBad) throw faultOfStatus(answer, family);
  if (typeof body !== 'object' || body === null)
    throw new ProviderFault('unreachable', 'the answer is not a JSON object');
  if (refusal === null) return body;
  const { code, data } = refusal;
  const error = rpcErrorOf({ family, method, code, status, text: withoutSecrets(refusal.text).slice(0, 500) }, data);
  if (error.means === 'unknown' || error.means === 'quota-used')
    onRefusal({ kind: error.means, text: `${method}: ${error.message} (${code})` });
  if (error.means !== 'slow-down') throw error.means === 'quota-used' ? faultOf(error, method) : error;
  throw new ProviderFault('rate-limited', `rate limited: ${error.message} (${code})`, pauseOf(error, answer));
}

interface Refusal {
  readonly code: number;
  readonly text: string;
  readonly data?: unknown;
}

/** JSON-RPC's `error`, which some providers send with status 400 or 500, or as a text; TRON's `Error`. */
function refusalIn(body: unknown, isBad: boolean): Refusal | null {
  if (typeof body !== 'object' || body === null) return null;
  const error = 'error' in body && body.error ? body.error : 'Error' in body ? body.Error : null;
  if (error === null) return null;
  // A text beside a bad status says no more than the status.
  if (typeof error !== 'object')
    return isBad ? null : { code: 0, text: typeof error === 'string' ? error : 'error without a message' };
  const { code, message, data }: { code?: unknown; message?: unknown; data?: unknown } = error;
  return { code: Number(code ?? 0), text: typeof message === 'string' ? message : 'error without a message', data };
}

function faultOfStatus({ status, text, retryAfterMs: pauseMs }: Answer, family: Family): ProviderFault {
  const means = meaningOf({ family, status, text: text.slice(0, 500) });
  if (means === 'quota-used') return new ProviderFault('quota-used', `the plan is used up (status ${status})`);
  if (means === 'too-wide') return new ProviderFault('too-large', `the request is too large (status ${status})`);
  if (means === 'slow-down' || (status === 503 && pauseMs !== undefined))
    return new ProviderFault('rate-limited', `rate limited (status ${status})`, pauseMs);
  return new ProviderFault('unreachable', `status ${status}`);
}

/** TRON's public API names the seconds in its text. */
function pauseOf({ message }: RpcError, { retryAfterMs: pauseMs }: Answer): number | undefined {
  const seconds = /suspended for (\d{1,5}) ?s/i.exec(message)?.[1];
  return seconds === undefined ? pauseMs : Number(seconds) * 1000;
}

function parse(text: string, status: number): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ProviderFault('unreachable', `the answer (status ${status}) is not JSON`);
  }
}

async function readText(body: AsyncIterable<Buffer> & { destroy(): unknown }, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > maxBytes) {
      body.destroy();
      throw new ProviderFault('too-large', `the answer is over ${maxBytes} bytes`);
    }
    chunks.push(chunk);
  }
  const [first, ...further] = chunks;
  return (first && further.length === 0 ? first : Buffer.concat(chunks)).toString('utf8');
}

/** Seconds or an HTTP date (RFC 9110, "Retry-After"); undefined for anything else. */
export function retryAfterMs(header: string | string[] | undefined, nowMs = Date.now()): number | undefined {
  const text = Array.isArray(header) ? header[0] : header;
  if (text === undefined) return undefined;
  if (/^\d{1,9}(\.\d+)?$/.test(text.trim())) return Number(text) * 1000;
  // Date.parse accepts even "-1"; a real HTTP date names its zone.
  const dateMs = text.endsWith('GMT') ? Date.parse(text) : NaN;
  return Number.isNaN(dateMs) ? undefined : Math.max(0, dateMs - nowMs);
}

/** Never the message: it may repeat the URL with its key. */
function errorCode(error: unknown): string {
  return codeOf(error) ?? (error instanceof Error ? error.name : 'unknown');
}
