import type { RpcPool, RpcProvider } from '../../ports/chain/rpc-pool.ts';

const EVERY_MS = 10_000;

/**
 * Periodically reads the heads of all providers. A stalled provider still answers everything and shows only in
 * comparison; the pool then prefers the others.
 */
export class HeadComparison {
  readonly #pool: RpcPool;
  readonly #report: (provider: RpcProvider) => Promise<unknown>;
  readonly #everyMs: number;
  #atMs = -Infinity;

  /** `report` reads the head of one provider, which records it. `everyMs`: default 10,000. */
  constructor(pool: RpcPool, report: (provider: RpcProvider) => Promise<unknown>, everyMs = EVERY_MS) {
    this.#pool = pool;
    this.#report = report;
    this.#everyMs = everyMs;
  }

  /** Starts a comparison unless the last one is recent. `justRead`: the provider that has told its head this moment. */
  nowAndThen(justRead: string): void {
    if (performance.now() - this.#atMs >= this.#everyMs) void this.now(justRead);
  }

  /** Resolves when all have answered or failed. Never rejects. */
  async now(justRead?: string): Promise<void> {
    if (this.#pool.size < 2) return;
    this.#atMs = performance.now();
    const report = (provider: RpcProvider) => (provider.name === justRead ? null : this.#report(provider));
    await this.#pool.survey(async (provider) => report(provider)).catch(() => undefined);
  }
}
