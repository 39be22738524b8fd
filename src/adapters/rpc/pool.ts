import { setTimeout as sleep } from 'node:timers/promises';
import { ChainUnavailable } from '../../ports/chain.ts';
import { ProviderFault, RpcError, sourceOf } from '../../ports/rpc-pool.ts';
import type { Opinion, ProviderStatus, RpcObserver, RpcPool, RpcProvider, RunOptions } from '../../ports/rpc-pool.ts';
import { createHttpProvider } from './http-provider.ts';
import type { HttpProvider } from './http-provider.ts';
import { createProviderHealth, referenceHead } from './provider-health.ts';
import type { ProviderHealth } from './provider-health.ts';

export interface RpcPoolOptions {
  /** For metrics and messages. */
  readonly network: string;
  /** In order of preference; the first healthy one is used. */
  readonly urls: readonly string[];
  /** Sent with every request, such as an API key; never logged. */
  readonly headers?: Readonly<Record<string, string>>;
  /** For one whole exchange; default 10,000. */
  readonly timeoutMs?: number;
  /** Default 32 MiB: what one answer may take of memory. */
  readonly maxAnswerBytes?: number;
  /** Requests in flight at one provider at most; default 16. */
  readonly maxConcurrency?: number;
  /** A provider further behind than this is asked last; default 3. */
  readonly maxLagBlocks?: number;
  /** How long a call waits when every provider asked to be left alone, before it gives up; default 3,000. */
  readonly maxWaitMs?: number;
  readonly observer?: RpcObserver;
}

interface Member {
  readonly provider: RpcProvider;
  readonly http: HttpProvider;
  readonly health: ProviderHealth;
  excluded: string | null;
}

export function createRpcPool(options: RpcPoolOptions): RpcPool {
  if (options.urls.length === 0) throw new Error(`no provider URL for ${options.network}`);
  return new HttpRpcPool(options);
}

class HttpRpcPool implements RpcPool {
  readonly #options: RpcPoolOptions;
  readonly #maxLagBlocks: number;
  readonly #members: readonly Member[];

  constructor(options: RpcPoolOptions) {
    this.#options = options;
    this.#maxLagBlocks = options.maxLagBlocks ?? 3;
    this.#members = namesOf(options.urls).map((name, index) => this.#createMember(name, options.urls[index]!));
  }

  get size(): number {
    return this.#members.length;
  }

  get sources(): number {
    return new Set(this.#members.map(({ provider }) => sourceOf(provider.name))).size;
  }

  async run<Value>(task: (provider: RpcProvider) => Promise<Value>, runOptions: RunOptions = {}): Promise<{ value: Value; provider: string }> {
    const untilMs = performance.now() + (this.#options.maxWaitMs ?? 3_000);
    const faults = new Map<string, string>();
    do {
      let asked = false;
      for (const member of this.#ranked(runOptions.preferOtherThan ?? [])) {
        if (member.health.waitMs(performance.now()) > 0) continue;
        asked = true;
        const opinion = await this.#ask(member, task);
        if ('value' in opinion) return opinion;
        faults.set(opinion.provider, opinion.fault.message);
      }
      // Once everyone was asked and failed, only pauses are worth waiting for: the same question would get the same answer.
      if (asked && this.#members.every((member) => member.health.waitMs(performance.now()) === 0)) break;
    } while (await this.#waitForAny(untilMs));
    const reasons = this.#members.map(
      ({ provider, health }) => `${provider.name}: ${faults.get(provider.name) ?? `paused for ${Math.ceil(health.waitMs(performance.now()))} ms`}`,
    );
    throw new ChainUnavailable(`${this.#options.network}: no provider could answer (${reasons.join('; ')})`);
  }

  async survey<Value>(
    task: (provider: RpcProvider) => Promise<Value>,
    enough: (soFar: readonly Opinion<Value>[]) => boolean = () => false,
  ): Promise<readonly Opinion<Value>[]> {
    const opinions: Opinion<Value>[] = [];
    for (const member of this.#ranked([])) {
      const waitMs = member.health.waitMs(performance.now());
      const paused = (): Opinion<Value> => ({
        provider: member.provider.name,
        fault: new ProviderFault('unreachable', `paused for ${Math.ceil(waitMs)} ms`),
      });
      opinions.push(waitMs > 0 ? paused() : await this.#ask(member, task));
      if (enough(opinions)) break;
    }
    return opinions;
  }

  status(): readonly ProviderStatus[] {
    return this.#members.map(({ provider, health, excluded }) => ({
      provider: provider.name,
      healthy: health.waitMs(performance.now()) === 0 && (this.#lagOf(health) ?? 0) <= this.#maxLagBlocks,
      lagBlocks: this.#lagOf(health),
      consecutiveFaults: health.consecutiveFaults,
      excluded,
    }));
  }

  async close(): Promise<void> {
    await Promise.all(this.#members.map((member) => member.http.close()));
  }

  async #ask<Value>(member: Member, task: (provider: RpcProvider) => Promise<Value>): Promise<Opinion<Value>> {
    try {
      const value = await task(member.provider);
      member.health.succeeded();
      this.#exclude(member, null);
      return { provider: member.provider.name, value };
    } catch (error) {
      if (error instanceof ProviderFault) member.health.failed(error.kind, performance.now(), error.retryAfterMs);
      else if (!(error instanceof RpcError)) throw error;
      if (error instanceof ProviderFault && error.kind === 'wrong-chain') this.#exclude(member, error.message);
      return { provider: member.provider.name, fault: error };
    }
  }

  #exclude(member: Member, reason: string | null): void {
    if (member.excluded === reason) return;
    member.excluded = reason;
    this.#options.observer?.onExcluded?.({ network: this.#options.network, provider: member.provider.name, reason });
  }

  #createMember(name: string, url: string): Member {
    const { network, observer, headers, timeoutMs, maxAnswerBytes, maxConcurrency } = this.#options;
    const health = createProviderHealth();
    const http = createHttpProvider({
      url,
      headers: headers ?? {},
      timeoutMs: timeoutMs ?? 10_000,
      maxAnswerBytes: maxAnswerBytes ?? 32 * 1024 * 1024,
      maxConcurrency: maxConcurrency ?? 16,
      onRequest: (method, ok, durationMs) => observer?.onRequest?.({ network, provider: name, method, ok, durationMs }),
      onServerTime: (timeMs, roundTripMs) => observer?.onServerTime?.(sourceOf(name), timeMs, roundTripMs),
    });
    const reportHead = (blockNumber: number): void => {
      health.sawHead(blockNumber, performance.now());
      observer?.onLag?.({ network, provider: name, lagBlocks: this.#lagOf(health) ?? 0 });
    };
    return { provider: { name, call: http.call, post: http.post, get: http.get, reportHead }, http, health, excluded: null };
  }

  #lagOf(health: ProviderHealth): number | null {
    const nowMs = performance.now();
    const own = health.head(nowMs);
    const best = referenceHead(this.#members.map((member) => member.health.head(nowMs)));
    return own === null || best === null ? null : Math.max(0, best - own);
  }

  /** The configured order, but those that lag after those that keep up, and unwanted ones at the very end. */
  #ranked(unwanted: readonly string[]): Member[] {
    const rank = (member: Member): number =>
      (unwanted.includes(member.provider.name) ? 2 : 0) + ((this.#lagOf(member.health) ?? 0) > this.#maxLagBlocks ? 1 : 0);
    return [...this.#members].sort((a, b) => rank(a) - rank(b));
  }

  /** Waits, within bounds, for the first provider that may be asked again; false when that would take too long. */
  async #waitForAny(untilMs: number): Promise<boolean> {
    const nowMs = performance.now();
    const waitMs = Math.min(...this.#members.map((member) => member.health.waitMs(nowMs)));
    if (nowMs + waitMs > untilMs) return false;
    await sleep(Math.ceil(waitMs) + 1);
    return true;
  }
}

/** Host names, numbered where one host serves twice. Paths and queries hold keys and stay out. */
function namesOf(urls: readonly string[]): string[] {
  const hosts = urls.map((url) => new URL(url).host);
  return hosts.map((host, index) =>
    hosts.indexOf(host) === index ? host : `${host}#${hosts.slice(0, index + 1).filter((other) => other === host).length}`,
  );
}
