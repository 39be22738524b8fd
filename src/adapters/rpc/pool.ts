import { setTimeout as sleep } from 'node:timers/promises';
import { ChainUnavailable } from '../../ports/chain/chain.ts';
import { ProviderFault, RpcError, sourceOf } from '../../ports/chain/rpc-pool.ts';
import type {
  Opinion,
  ProviderStatus,
  RpcObserver,
  RpcPool,
  RpcProvider,
  RunOptions,
} from '../../ports/chain/rpc-pool.ts';
import { sourceOfUrl } from '../../domain/networks/provider-source.ts';
import type { Family } from './dialects.ts';
import { createHttpProvider, type HttpProvider } from './http-provider.ts';
import { createProviderHealth, referenceHead, type ProviderHealth } from './provider-health.ts';
import { must } from '../../domain/values/must.ts';

export interface RpcPoolOptions {
  /** For metrics and messages. */
  readonly network: string;
  /**
   * In order of preference; the first healthy one is used. A function is evaluated at every call; a different array is
   * a different list.
   */
  readonly urls: readonly string[] | (() => readonly string[]);
  /** Sent with every request, such as an API key; never logged. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Time limit of one whole exchange; default 10,000. */
  readonly timeoutMs?: number;
  /** Maximum size of one response; default 32 MiB. */
  readonly maxAnswerBytes?: number;
  /** A provider that lags further is asked last; default 3. */
  readonly maxLagBlocks?: number;
  /** How long a call waits if every provider has asked for a pause; default 3,000. */
  readonly maxWaitMs?: number;
  readonly observer?: RpcObserver;
}

interface Member {
  readonly url: string;
  readonly provider: RpcProvider;
  readonly http: HttpProvider;
  readonly health: ProviderHealth;
  excluded: string | null;
  outages: number;
  /** Number of running tasks. */
  underWay: number;
}

/** At one provider. */
const REQUESTS_IN_FLIGHT = 16;

export function createRpcPool(options: RpcPoolOptions): RpcPool {
  return new HttpRpcPool(options);
}

class HttpRpcPool implements RpcPool {
  readonly #options: RpcPoolOptions;
  readonly #maxLagBlocks: number;
  readonly #urls: () => readonly string[];
  #listed: readonly string[] = [];
  #current: readonly Member[] = [];
  /** Removed from the list and still used by running tasks. */
  readonly #leaving = new Set<Member>();

  constructor(options: RpcPoolOptions) {
    const { urls } = options;
    this.#options = options;
    this.#maxLagBlocks = options.maxLagBlocks ?? 3;
    this.#urls = typeof urls === 'function' ? urls : () => urls;
    if (this.#members.length === 0) throw new Error(`no provider URL for ${options.network}`);
  }

  /** The members of the current list. Those that remain keep their health record. */
  get #members(): readonly Member[] {
    const urls = this.#urls();
    if (urls === this.#listed) return this.#current;
    const before = this.#current;
    this.#listed = urls;
    this.#current = namesOf(urls).map((name, index) => {
      const url = must(urls[index]);
      return (
        before.find((member) => member.url === url && member.provider.name === name) ?? this.#createMember(name, url)
      );
    });
    for (const member of before) if (!this.#current.includes(member)) this.#letGo(member);
    return this.#current;
  }

  get size(): number {
    return this.#members.length;
  }

  get sources(): number {
    return new Set(this.#members.map(({ provider }) => sourceOf(provider.name))).size;
  }

  async run<Value>(
    task: (provider: RpcProvider) => Promise<Value>,
    runOptions: RunOptions = {},
  ): Promise<{ value: Value; provider: string }> {
    const untilMs = performance.now() + (this.#options.maxWaitMs ?? 3_000);
    const faults = new Map<string, string>();
    do {
      let asked = false;
      for (const member of this.#bestFirst(runOptions.preferOtherThan ?? [])) {
        if (member.health.waitMs(performance.now()) > 0) continue;
        asked = true;
        const opinion = await this.#ask(member, task);
        if ('value' in opinion) return opinion;
        faults.set(opinion.provider, opinion.fault.message);
      }
      // After every provider has failed, only a pause is worth waiting for: the same question would get the same
      // answer.
      if (asked && this.#members.every((member) => member.health.waitMs(performance.now()) === 0)) break;
    } while (await this.#waitForAny(untilMs));
    const reasons = this.#members.map(
      ({ provider, health }) =>
        `${provider.name}: ${faults.get(provider.name) ?? `paused for ${Math.ceil(health.waitMs(performance.now()))} ms`}`,
    );
    throw new ChainUnavailable(`${this.#options.network}: no provider could answer (${reasons.join('; ')})`);
  }

  async survey<Value>(
    task: (provider: RpcProvider) => Promise<Value>,
    enough: (soFar: readonly Opinion<Value>[]) => boolean = () => false,
  ): Promise<readonly Opinion<Value>[]> {
    const opinions: Opinion<Value>[] = [];
    for (const member of this.#bestFirst([])) {
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
      refusal: health.refusal(performance.now()),
      reported: health.reported(performance.now()),
    }));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#current, ...this.#leaving].map((member) => member.http.close()));
  }

  /** Removes a provider. Its running requests may still finish. */
  #letGo(member: Member): void {
    const { network, observer } = this.#options;
    if (member.underWay > 0) this.#leaving.add(member);
    else void member.http.close();
    const { name } = member.provider;
    if (!this.#current.some(({ provider }) => provider.name === name)) observer?.onGone?.({ network, provider: name });
    // Another URL of the same host took its place and is not excluded.
    else if (member.excluded !== null) observer?.onExcluded?.({ network, provider: name, reason: null });
  }

  async #ask<Value>(member: Member, task: (provider: RpcProvider) => Promise<Value>): Promise<Opinion<Value>> {
    member.underWay += 1;
    try {
      const value = await task(member.provider);
      member.health.succeeded();
      this.#exclude(member, null);
      return { provider: member.provider.name, value };
    } catch (error) {
      if (error instanceof ProviderFault) member.health.failed(error.kind, performance.now(), error.retryAfterMs);
      else if (!(error instanceof RpcError)) throw error;
      else if (error.means === 'unknown') member.health.failed('unknown', performance.now());
      if (error instanceof ProviderFault && error.kind === 'unreachable') member.outages += 1;
      if (error instanceof ProviderFault && error.kind === 'wrong-chain') this.#exclude(member, error.message);
      return { provider: member.provider.name, fault: error };
    } finally {
      member.underWay -= 1;
      if (member.underWay === 0 && this.#leaving.delete(member)) void member.http.close();
    }
  }

  #exclude(member: Member, reason: string | null): void {
    if (member.excluded === reason) return;
    member.excluded = reason;
    if (!this.#isListed(member)) return;
    this.#options.observer?.onExcluded?.({ network: this.#options.network, provider: member.provider.name, reason });
  }

  #createMember(name: string, url: string): Member {
    const { network, observer, headers, timeoutMs, maxAnswerBytes } = this.#options;
    const health = createProviderHealth();
    const http = createHttpProvider({
      url,
      headers: headers ?? {},
      timeoutMs: timeoutMs ?? 10_000,
      maxAnswerBytes: maxAnswerBytes ?? 32 * 1024 * 1024,
      maxConcurrency: REQUESTS_IN_FLIGHT,
      family: familyOf(network),
      onRefusal: (refusal) => {
        health.refused(refusal, performance.now());
        if (this.#isListed(member)) observer?.onRefusal?.({ network, provider: name, ...refusal });
      },
      onRequest: (method, ok, durationMs) => observer?.onRequest?.({ network, provider: name, method, ok, durationMs }),
      onServerTime: (timeMs, roundTripMs) => observer?.onServerTime?.(sourceOf(name), timeMs, roundTripMs),
    });
    const report: RpcProvider['report'] = (what, blockNumber) => {
      health.saw(what, blockNumber, performance.now());
      if (what === 'head' && this.#isListed(member))
        observer?.onLag?.({ network, provider: name, lagBlocks: this.#lagOf(health) ?? 0 });
    };
    const provider: RpcProvider = {
      ...{ name, call: http.call, post: http.post, get: http.get, report },
      get outages() {
        return member.outages;
      },
    };
    const member: Member = { url, provider, http, health, excluded: null, outages: 0, underWay: 0 };
    return member;
  }

  /** Nothing is reported about removed providers, because observers would keep them forever. */
  #isListed(member: Member): boolean {
    return this.#members.includes(member);
  }

  #lagOf(health: ProviderHealth): number | null {
    const nowMs = performance.now();
    const own = health.head(nowMs);
    const best = referenceHead(this.#members.map((member) => member.health.head(nowMs)));
    return own === null || best === null ? null : Math.max(0, best - own);
  }

  /** Each provider once, best first, following changes of the list at each step. */
  *#bestFirst(unwanted: readonly string[]): Generator<Member> {
    const given = new Set<Member>();
    const next = (): Member | undefined => this.#ranked(unwanted).find((member) => !given.has(member));
    for (let member = next(); member !== undefined; member = next()) {
      given.add(member);
      yield member;
    }
  }

  /** The configured order, with lagging providers after the others and unwanted ones last, in the order given. */
  #ranked(unwanted: readonly string[]): Member[] {
    const rank = (member: Member): number =>
      2 * (unwanted.indexOf(member.provider.name) + 1) +
      ((this.#lagOf(member.health) ?? 0) > this.#maxLagBlocks ? 1 : 0);
    return [...this.#members].sort((a, b) => rank(a) - rank(b));
  }

  /** Waits within bounds for the first provider that may be asked again; false if that would take too long. */
  async #waitForAny(untilMs: number): Promise<boolean> {
    const nowMs = performance.now();
    const waitMs = Math.min(...this.#members.map((member) => member.health.waitMs(nowMs)));
    if (nowMs + waitMs > untilMs) return false;
    await sleep(Math.ceil(waitMs) + 1);
    return true;
  }
}

const familyOf = (network: string): Family => (network === 'tron' || network === 'solana' ? network : 'evm');

/** Sources, numbered if one serves twice. Paths and queries contain keys and are left out. */
function namesOf(urls: readonly string[]): string[] {
  const hosts = urls.map(sourceOfUrl);
  return hosts.map((host, index) =>
    hosts.indexOf(host) === index
      ? host
      : `${host}#${hosts.slice(0, index + 1).filter((other) => other === host).length}`,
  );
}
