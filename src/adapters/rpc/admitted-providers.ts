import { ChainUnavailable } from '../../ports/chain/chain.ts';
import { answersOf, ProviderFault, RpcError, type RpcPool, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import type { BroadcastAnswer } from '../../ports/outgoing/chain.ts';

/** Providers of one network. Nothing from a provider counts before it has proven to serve this chain. */
export class AdmittedProviders {
  readonly #network: string;
  readonly #pool: RpcPool;
  readonly #verify: (provider: RpcProvider) => Promise<unknown>;
  /**
   * The number of its outages when it was verified. By object, not by name: another URL of the same host has to be
   * verified too.
   */
  readonly #admitted = new WeakMap<RpcProvider, number>();

  /** `verify` throws for a provider that does not serve the chain. */
  constructor(network: string, pool: RpcPool, verify: (provider: RpcProvider) => Promise<unknown>) {
    this.#network = network;
    this.#pool = pool;
    this.#verify = verify;
  }

  /** Asks one provider; those in the list only if no other answers. Throws `ChainUnavailable`. */
  async on<Value>(
    task: (provider: RpcProvider) => Promise<Value>,
    preferOtherThan?: readonly string[],
  ): Promise<Value> {
    return (await this.run(task, preferOtherThan)).value;
  }

  /** The same, and which provider answered. */
  run<Value>(
    task: (provider: RpcProvider) => Promise<Value>,
    preferOtherThan: readonly string[] = [],
  ): Promise<{ readonly value: Value; readonly provider: string }> {
    return this.#pool.run(async (provider) => (await this.admit(provider), task(provider)), { preferOtherThan });
  }

  /**
   * As many answers as a conclusion needs: two if two sources are configured. Throws `ChainUnavailable` if there are
   * fewer.
   */
  async ask<Value>(task: (provider: RpcProvider) => Promise<Value>): Promise<readonly Value[]> {
    const needed = Math.min(2, this.#pool.sources);
    const opinions = await this.#pool.survey(
      async (provider) => (await this.admit(provider), task(provider)),
      (soFar) => answersOf(soFar).length >= needed,
    );
    const answers = answersOf(opinions);
    if (answers.length >= needed) return answers;
    const faults = opinions.flatMap((opinion) =>
      'fault' in opinion ? [`${opinion.provider}: ${opinion.fault.message}`] : [],
    );
    throw new ChainUnavailable(
      `${this.#network}: ${answers.length} of ${needed} providers answered (${faults.join('; ')})`,
    );
  }

  /** The lower of two answers, so that no provider alone moves it forward. Throws `ChainUnavailable`. */
  async lowest(task: (provider: RpcProvider) => Promise<number>): Promise<number> {
    return Math.min(...(await this.#upToTwo(task)));
  }

  /** The higher of two answers, so that no provider alone holds it back. Throws `ChainUnavailable`. */
  async highest(task: (provider: RpcProvider) => Promise<number>): Promise<number> {
    return Math.max(...(await this.#upToTwo(task)));
  }

  /** Sends a transaction to all of them, including unverified ones. */
  async broadcast(task: (provider: RpcProvider) => Promise<unknown>): Promise<readonly BroadcastAnswer[]> {
    const opinions = await this.#pool.survey(async (provider) => {
      try {
        await task(provider);
        return null;
      } catch (error) {
        // What a node says against a transaction is no reason to read less from it.
        if (error instanceof RpcError) return error;
        throw error;
      }
    });
    return opinions.map((opinion) => {
      const { provider } = opinion;
      const refused = 'fault' in opinion ? opinion.fault : opinion.value;
      return { provider, ...(refused === null ? { kind: 'taken', text: 'taken' } : refusalOf(refused)) };
    });
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  /** One where no second provider answers. */
  #upToTwo<Value>(task: (provider: RpcProvider) => Promise<Value>): Promise<readonly Value[]> {
    return this.ask(task).catch(async () => [await this.on(task)]);
  }

  /**
   * Nothing from a provider counts before this resolves, at first and each time that it was unreachable: it may be
   * another node since, or one that was reset. Throws if it does not serve the chain.
   */
  async admit(provider: RpcProvider): Promise<void> {
    const { outages = 0 } = provider;
    if (this.#admitted.get(provider) === outages) return;
    await this.#verify(provider);
    this.#admitted.set(provider, outages);
  }
}

/** A node that holds back or keeps no calls for us has refused, too; one that cannot be reached has said nothing. */
function refusalOf(fault: Error): Pick<BroadcastAnswer, 'kind' | 'text'> {
  const text = fault.message;
  if (fault instanceof RpcError)
    return {
      kind: fault.means === 'known' ? 'taken' : fault.means === 'underpriced' ? 'underpriced' : 'refused',
      text,
    };
  const isSilent = fault instanceof ProviderFault && (fault.kind === 'unreachable' || fault.kind === 'too-large');
  return { kind: isSilent ? 'silent' : 'refused', text };
}
