import { ChainUnavailable } from '../../ports/chain.ts';
import type { RpcPool, RpcProvider } from '../../ports/rpc-pool.ts';

/** Providers of one network of which nothing counts before they proved to serve this chain. */
export class AdmittedProviders {
  readonly #network: string;
  readonly #pool: RpcPool;
  readonly #verify: (provider: RpcProvider) => Promise<unknown>;
  /** Not by name: another address of the same host has to prove itself. */
  readonly #admitted = new WeakSet<RpcProvider>();

  /** `verify` throws for a provider that does not serve the chain. */
  constructor(network: string, pool: RpcPool, verify: (provider: RpcProvider) => Promise<unknown>) {
    this.#network = network;
    this.#pool = pool;
    this.#verify = verify;
  }

  /** Asks one provider. Throws `ChainUnavailable`. */
  async on<Value>(task: (provider: RpcProvider) => Promise<Value>): Promise<Value> {
    return (await this.run(task)).value;
  }

  /** The same, and which provider answered; one of the named is asked only if no other answers. */
  run<Value>(
    task: (provider: RpcProvider) => Promise<Value>,
    preferOtherThan: readonly string[] = [],
  ): Promise<{ readonly value: Value; readonly provider: string }> {
    return this.#pool.run(async (provider) => (await this.admit(provider), task(provider)), { preferOtherThan });
  }

  /**
   * As many answers as a conclusion needs: two where two are configured. Throws `ChainUnavailable` when there are
   * fewer.
   */
  async ask<Value>(task: (provider: RpcProvider) => Promise<Value>): Promise<readonly Value[]> {
    const needed = Math.min(2, this.#pool.size);
    const opinions = await this.#pool.survey(
      async (provider) => (await this.admit(provider), task(provider)),
      (soFar) => soFar.filter((opinion) => 'value' in opinion).length >= needed,
    );
    const answers = opinions.flatMap((opinion) => ('value' in opinion ? [opinion.value] : []));
    if (answers.length >= needed) return answers;
    const faults = opinions.flatMap((opinion) =>
      'fault' in opinion ? [`${opinion.provider}: ${opinion.fault.message}`] : [],
    );
    throw new ChainUnavailable(
      `${this.#network}: ${answers.length} of ${needed} providers answered (${faults.join('; ')})`,
    );
  }

  /**
   * Hands something to all of them, also to those that could not be verified. What they answer proves nothing, so there
   * is no answer.
   */
  async tellAll(task: (provider: RpcProvider) => Promise<unknown>): Promise<void> {
    await this.#pool.survey(task);
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  /** Nothing a provider says counts before this came back. Throws for one that does not serve the chain. */
  async admit(provider: RpcProvider): Promise<void> {
    if (this.#admitted.has(provider)) return;
    await this.#verify(provider);
    this.#admitted.add(provider);
  }
}
