import { ProviderFailed, type HeardTime } from './provider.ts';

/** A provider's largest legitimate response has about 30 KB. */
const MAX_BODY_BYTES = 512 * 1024;
const MAX_RETRY_AFTER_MS = 15 * 60_000;

/** Appends a path to a provider's base URL and keeps the base URL's own path. */
export function endpoint(baseUrl: string, path: string): string {
  return new URL(path, baseUrl.endsWith('/') ? baseUrl : `${baseUrl}/`).href;
}

/**
 * GETs a JSON document from an untrusted price feed: no redirects, a size limit on the decoded body, and the caller's
 * signal aborts at any point. Throws `ProviderFailed` for every failure.
 */
export async function getJson(
  url: string,
  signal: AbortSignal,
  heard?: HeardTime,
): Promise<{ json: unknown; cachedForMs: number }> {
  try {
    const startedMs = performance.now();
    const response = await fetch(url, {
      signal,
      redirect: 'error',
      headers: { accept: 'application/json', 'user-agent': 'quittance' },
    });
    const ageMs = seconds(response.headers.get('age'));
    heard?.(Date.parse(response.headers.get('date') ?? '') + ageMs, performance.now() - startedMs);
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new ProviderFailed(`answered ${response.status}`, retryAfterMs(response.headers.get('retry-after')));
    }
    return { json: parse(await readBounded(response)), cachedForMs: ageMs };
  } catch (error) {
    if (error instanceof ProviderFailed) throw error;
    throw new ProviderFailed(reasonOf(error, signal));
  }
}

async function readBounded(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += (chunk as Uint8Array).byteLength;
    if (bytes > MAX_BODY_BYTES) throw new ProviderFailed(`answered more than ${MAX_BODY_BYTES} bytes`);
    chunks.push(chunk as Uint8Array);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ProviderFailed('did not answer JSON');
  }
}

const seconds = (header: string | null): number =>
  header !== null && /^\d{1,6}$/.test(header) ? Number(header) * 1000 : 0;
const retryAfterMs = (header: string | null): number => Math.min(seconds(header), MAX_RETRY_AFTER_MS);

/** The transport's reason without the URL, which may contain a key. */
function reasonOf(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return 'did not answer in time';
  const { code } = (error instanceof Error && error.cause instanceof Error ? error.cause : {}) as { code?: unknown };
  return `could not be reached (${typeof code === 'string' ? code : 'network error'})`;
}
