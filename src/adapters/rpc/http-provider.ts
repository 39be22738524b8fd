import { Agent, request } from 'undici';
import { ProviderFault, RpcError } from '../../ports/chain/rpc-pool.ts';
import { withoutSecretsOf } from './address-secrets.ts';
import { createConcurrencyLimit } from './concurrency-limit.ts';
import { codeOf } from '../../runtime/util/code-of.ts';

export interface HttpProviderOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly maxAnswerBytes: number;
  readonly maxConcurrency: number;
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

/** Providers report these inside a JSON-RPC error instead of with status 429. */
const RATE_LIMIT_WORDS =
  /rate.?limit|too many requests|requests? per (second|minute)|credits limited|compute units|request count exceeded|throttl|capacity exceeded/i;

const isRateLimit = (error: RpcError): boolean => error.code === 429 || RATE_LIMIT_WORDS.test(error.message);

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
      pushedBack = error instanceof ProviderFault && error.kind === 'rate-limited';
      throw error;
    } finally {
      limit.leave(pushedBack);
      options.onRequest(label, ok, performance.now() - startedMs);
    }
  }

  async function plain(path: string, body: unknown, label: string): Promise<unknown> {
    return measured(label, async () => {
      const answer = await exchange(base + path, body === undefined ? undefined : JSON.stringify(body));
      refuseBadStatus(answer);
      return withCleanRefusal(parse(answer.text, answer.status), withoutSecrets);
    });
  }

  return {
    call: (method, params) =>
      measured(method, async () => {
        nextId += 1;
        const answer = await exchange(base, JSON.stringify({ jsonrpc: '2.0', id: nextId, method, params }));
        if (answer.status === 429) refuseBadStatus(answer);
        return readRpcAnswer(answer, withoutSecrets);
      }),
    post: (path, body, label = path) => plain(path, body ?? {}, label),
    get: (path, label = path) => plain(path, undefined, label),
    close: () => agent.destroy(),
  };
}

/** Some providers send a JSON-RPC error with status 400 or 500; the error object is more specific than the status. */
function readRpcAnswer(answer: Answer, withoutSecrets: (text: string) => string): unknown {
  if (answer.status >= 400 && !answer.text.includes('"error"')) refuseBadStatus(answer);
  const body = parse(answer.text, answer.status);
  if (typeof body !== 'object' || body === null)
    throw new ProviderFault('unreachable', 'the answer is not a JSON-RPC object');
  if ('error' in body && body.error) {
    const fields: { code?: unknown; message?: unknown; data?: unknown } =
      typeof body.error === 'object' ? body.error : {};
    const { code, message, data } = fields;
    const said = typeof message === 'string' ? withoutSecrets(message).slice(0, 500) : 'error without a message';
    const error = new RpcError(Number(code ?? 0), said, data);
    if (isRateLimit(error))
      throw new ProviderFault('rate-limited', `rate limited (code ${error.code})`, answer.retryAfterMs);
    throw error;
  }
  refuseBadStatus(answer);
  if (!('result' in body)) throw new ProviderFault('unreachable', 'the answer holds neither result nor error');
  return body.result;
}

/** TRON reports errors with status 200 and a text in `Error`. */
function withCleanRefusal(body: unknown, withoutSecrets: (text: string) => string): unknown {
  if (typeof body !== 'object' || body === null || !('Error' in body)) return body;
  return { ...body, Error: withoutSecrets(String(body.Error)) };
}

function refuseBadStatus(answer: Answer): void {
  if (answer.status === 429) throw new ProviderFault('rate-limited', 'rate limited (status 429)', answer.retryAfterMs);
  // TRON's public API bans temporarily with 403, and 503 may name a pause too.
  if (answer.status === 403 || (answer.status === 503 && answer.retryAfterMs !== undefined))
    throw new ProviderFault('rate-limited', `refused (status ${answer.status})`, answer.retryAfterMs);
  if (answer.status < 200 || answer.status > 299) throw new ProviderFault('unreachable', `status ${answer.status}`);
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
