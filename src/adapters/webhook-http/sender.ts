import type { WebhookAnswer, WebhookRequest, WebhookSender } from '../../ports/webhooks/sender.ts';
import type { Connection, Origin } from './connection.ts';
import { ConnectionPool } from './connection-pool.ts';
import { Exchange, type Ending } from './exchange.ts';
import { dnsResolver, systemResolver, type HostResolver } from './host-resolver.ts';
import { vetWebhookUrl, type UrlRules } from './url.ts';

export interface HttpWebhookSenderOptions extends UrlRules {
  /**
   * Time limit of the whole exchange: name, connection, TLS, request, head and body (specification, "Delivery
   * timeout").
   */
  readonly timeoutMs?: number;
  /** Defaults to DNS, in sandboxes to the operating system's look-up. */
  readonly resolve?: HostResolver;
  /** Additional certificate authorities, PEM. */
  readonly ca?: string;
}

const DELIVERY_TIMEOUT_MS = 30_000;
const MAX_KNOWN_URLS = 10_000;
const NOTHING = new Uint8Array(0);

type Target =
  | { readonly ok: true; readonly origin: Origin; readonly path: string }
  | { readonly ok: false; readonly reason: string };

/** Sends notifications over HTTP/1.1 with keep-alive connections that belong to one merchant and one origin. */
export class HttpWebhookSender implements WebhookSender {
  readonly #options: HttpWebhookSenderOptions;
  readonly #timeoutMs: number;
  readonly #pool: ConnectionPool;
  readonly #targets = new Map<string, Target>();

  constructor(options: HttpWebhookSenderOptions) {
    this.#options = options;
    this.#timeoutMs = options.timeoutMs ?? DELIVERY_TIMEOUT_MS;
    const resolve = options.resolve ?? (options.allowInsecure ? systemResolver() : dnsResolver());
    this.#pool = new ConnectionPool({
      resolve,
      allowPrivate: options.allowInsecure,
      ...(options.ca !== undefined && { ca: options.ca }),
    });
  }

  send({ merchantId, url, headers, body, attempt }: WebhookRequest): Promise<WebhookAnswer> {
    const startedAt = performance.now();
    const target = this.#target(url);
    if (!target.ok) return Promise.resolve(refused(target.reason));
    const request = { method: 'POST', path: target.path, headers: headers as string[], body } as const;
    const lease = this.#pool.take(merchantId, target.origin);
    return new Promise((resolve) => {
      const exchange = new Exchange((ending) => {
        this.#pool.release(lease, ending.fault === null && !ending.incomplete, ending.fault === 'network');
        resolve(answerOf(ending, lease.connection, performance.now() - startedAt));
      });
      lease.connection.send(request, exchange, this.#timeoutMs, attempt - 1);
    });
  }

  async close(): Promise<void> {
    this.#pool.close();
  }

  #target(url: string): Target {
    const known = this.#targets.get(url);
    if (known) return known;
    const vetted = vetWebhookUrl(url, this.#options);
    const target: Target = vetted.ok ? targetOf(new URL(vetted.url)) : { ok: false, reason: vetted.reason };
    if (this.#targets.size >= MAX_KNOWN_URLS) this.#targets.clear();
    this.#targets.set(url, target);
    return target;
  }
}

function targetOf({ origin: href, protocol, hostname, port, pathname, search }: URL): Target {
  const secure = protocol === 'https:';
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname.replace(/\.$/, '');
  const origin = { href, secure, host: bare, port: port === '' ? (secure ? 443 : 80) : Number(port) };
  return { ok: true, origin, path: pathname + search };
}

function refused(reason: string): WebhookAnswer {
  return {
    status: null,
    fault: 'blocked',
    detail: `the URL ${reason}`.slice(0, 100),
    address: null,
    durationMs: 0,
    retryAfter: null,
    body: NOTHING,
    incomplete: false,
  };
}

function answerOf(ending: Ending, { address }: Connection, durationMs: number): WebhookAnswer {
  const { status, fault, detail, retryAfter, body, incomplete } = ending;
  return { status, fault, detail, address, durationMs: Math.round(durationMs), retryAfter, body, incomplete };
}
