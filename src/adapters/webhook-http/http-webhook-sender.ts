import type { WebhookAnswer, WebhookRequest, WebhookSender } from '../../ports/webhook-sender.ts';
import { Connection, type ConnectionRules } from './connection.ts';
import { Exchange, type Ending } from './exchange.ts';
import { dnsResolver, systemResolver, type HostResolver } from './host-resolver.ts';
import { vetWebhookUrl, type UrlRules } from './webhook-url.ts';

export interface HttpWebhookSenderOptions extends UrlRules {
  /** For the whole exchange: name, connection, TLS, request, head and body (specification, "Delivery timeout"). */
  readonly timeoutMs?: number;
  /** Defaults to DNS itself, in sandboxes to the operating system's look-up. */
  readonly resolve?: HostResolver;
  /** Further certificate authorities, PEM. */
  readonly ca?: string;
}

const DELIVERY_TIMEOUT_MS = 30_000;
/** Idle connections over all merchants; the oldest ones are closed first. */
const MAX_IDLE = 512;
const MAX_KNOWN_URLS = 10_000;
const NOTHING = new Uint8Array(0);

type Target = { readonly ok: true; readonly origin: string; readonly path: string } | { readonly ok: false; readonly reason: string };

/** Sends notifications over HTTP/1.1 with keep-alive connections that belong to one merchant and one origin. */
export class HttpWebhookSender implements WebhookSender {
  readonly #options: HttpWebhookSenderOptions;
  readonly #rules: ConnectionRules;
  readonly #timeoutMs: number;
  readonly #idle = new Map<string, Connection[]>();
  /** Idle connections from the one idle for longest, with the pool they wait in. */
  readonly #idleSince = new Map<Connection, string>();
  readonly #busy = new Set<Connection>();
  readonly #targets = new Map<string, Target>();
  #closed = false;

  constructor(options: HttpWebhookSenderOptions) {
    this.#options = options;
    this.#timeoutMs = options.timeoutMs ?? DELIVERY_TIMEOUT_MS;
    const resolve = options.resolve ?? (options.allowInsecure ? systemResolver() : dnsResolver());
    this.#rules = { resolve, allowPrivate: options.allowInsecure, ...(options.ca !== undefined && { ca: options.ca }) };
  }

  send(request: WebhookRequest): Promise<WebhookAnswer> {
    const startedAt = performance.now();
    const target = this.#target(request.url);
    if (!target.ok) return Promise.resolve(refused(target.reason));
    const pool = `${request.merchantId} ${target.origin}`;
    const connection = this.#take(pool, target.origin);
    connection.preference = request.attempt - 1;
    return new Promise((resolve) => {
      const exchange = new Exchange((ending) => {
        connection.end();
        this.#release(connection, pool, ending.reusable);
        resolve(answerOf(ending, connection, performance.now() - startedAt));
      });
      connection.begin(this.#timeoutMs, () => exchange.expire());
      const { headers, body } = request;
      connection.client.dispatch({ path: target.path, method: 'POST', headers: headers as string[], body }, exchange);
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const connection of [...this.#busy, ...this.#idleSince.keys()]) connection.destroy();
    this.#idleSince.clear();
    this.#idle.clear();
  }

  #target(url: string): Target {
    const known = this.#targets.get(url);
    if (known) return known;
    const vetted = vetWebhookUrl(url, this.#options);
    const parsed = vetted.ok ? new URL(vetted.url) : null;
    const target: Target =
      vetted.ok && parsed
        ? { ok: true, origin: parsed.origin, path: parsed.pathname + parsed.search }
        : { ok: false, reason: vetted.ok ? '' : vetted.reason };
    if (this.#targets.size >= MAX_KNOWN_URLS) this.#targets.clear();
    this.#targets.set(url, target);
    return target;
  }

  #take(pool: string, origin: string): Connection {
    const waiting = this.#idle.get(pool);
    const connection = waiting?.pop() ?? this.#open(pool, origin);
    if (waiting?.length === 0) this.#idle.delete(pool);
    this.#idleSince.delete(connection);
    this.#busy.add(connection);
    return connection;
  }

  #open(pool: string, origin: string): Connection {
    const connection = new Connection(origin, this.#rules);
    connection.client.on('disconnect', () => {
      if (this.#idleSince.has(connection)) this.#drop(connection, pool);
    });
    return connection;
  }

  #release(connection: Connection, pool: string, reusable: boolean): void {
    this.#busy.delete(connection);
    if (!reusable || this.#closed) {
      connection.destroy();
      return;
    }
    const waiting = this.#idle.get(pool);
    if (waiting) waiting.push(connection);
    else this.#idle.set(pool, [connection]);
    this.#idleSince.set(connection, pool);
    const [oldest] = this.#idleSince;
    if (this.#idleSince.size > MAX_IDLE && oldest) this.#drop(...oldest);
  }

  #drop(connection: Connection, pool: string): void {
    this.#idleSince.delete(connection);
    const waiting = this.#idle.get(pool)?.filter((other) => other !== connection) ?? [];
    if (waiting.length > 0) this.#idle.set(pool, waiting);
    else this.#idle.delete(pool);
    connection.destroy();
  }
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

function answerOf(ending: Ending, connection: Connection, durationMs: number): WebhookAnswer {
  const { status, fault, detail, retryAfter, body, incomplete } = ending;
  return { status, fault, detail, address: connection.address, durationMs: Math.round(durationMs), retryAfter, body, incomplete };
}
