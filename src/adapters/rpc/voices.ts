import { ChainUnavailable, WrongChain, type Transfer } from '../../ports/chain/chain.ts';
import { ProviderFault, sourceOf, type Opinion, type RpcPool, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { BelievedAlone } from './believed-alone.ts';

/** Combines providers' answers to the same question and decides how many must agree. */
export class Voices {
  readonly #network: string;
  readonly #pool: RpcPool;
  readonly #unitsOf: (transfer: Transfer) => bigint;
  readonly #confirmWithSecond: (units: bigint) => boolean;
  readonly #believedAlone = new BelievedAlone();

  /**
   * `confirmWithSecond`: whether a transfer of this size (10^-18 units, as `unitsOf` computes them) counts only once a
   * second, independent provider reports the same.
   */
  constructor(
    network: string,
    pool: RpcPool,
    unitsOf: (transfer: Transfer) => bigint,
    confirmWithSecond: (units: bigint) => boolean = () => false,
  ) {
    this.#network = network;
    this.#pool = pool;
    this.#unitsOf = unitsOf;
    this.#confirmWithSecond = confirmWithSecond;
  }

  /**
   * Verifies that every provider serves this chain. Providers of another chain are excluded, which the pool's status
   * shows. Throws `WrongChain` if no other is left, `ChainUnavailable` if none can be used.
   */
  async verify(admit: (provider: RpcProvider) => Promise<void>): Promise<void> {
    const opinions = await this.#pool.survey(admit);
    const faults = opinions.flatMap((opinion) => ('fault' in opinion ? [opinion] : []));
    if (faults.length < opinions.length) return;
    const text = faults.map(({ provider, fault }) => `${provider}: ${fault.message}`).join('; ');
    if (faults.every(({ fault }) => isOfAnotherChain(fault))) throw new WrongChain(`${this.#network}: ${text}`);
    throw new ChainUnavailable(`${this.#network}: no provider can be used (${text})`);
  }

  /**
   * The transfer on which enough providers agree; null if enough do not have it. Throws `ChainUnavailable` while they
   * disagree.
   */
  async transfer(read: (provider: RpcProvider) => Promise<Transfer | null>, name: string): Promise<Transfer | null> {
    const opinions = await this.#pool.survey(read, (soFar) => this.#verdictOf(soFar) !== undefined);
    const verdict = this.#verdictOf(opinions);
    if (verdict !== undefined) return verdict;
    throw new ChainUnavailable(
      `${this.#network}: the providers do not agree on ${name} (${opinions.map(inWords).join('; ')})`,
    );
  }

  /**
   * Whether a second provider also considers the transfer's block final, if the transfer needs a second source: a
   * single provider that has moved its finality forward must not be trusted.
   */
  async agreeOnFinality(
    transfer: Transfer,
    callsItFinal: (provider: RpcProvider) => Promise<boolean>,
  ): Promise<boolean> {
    if (!this.#needsSecond(transfer)) {
      if (this.#pool.sources > 1) this.#believedAlone.add(transfer, this.#unitsOf(transfer));
      return true;
    }
    const enough = (soFar: readonly Opinion<boolean>[]): boolean => sourcesOf(soFar, (answer) => answer) >= 2;
    return enough(await this.#pool.survey(callsItFinal, enough));
  }

  /**
   * A small transfer needs one answer. A large one, and the claim that it is gone, need two equal ones if there are two
   * sources.
   */
  #verdictOf(opinions: readonly Opinion<Transfer | null>[]): Transfer | null | undefined {
    const answers = opinions.flatMap((opinion) => ('value' in opinion ? [opinion.value] : []));
    return answers.find(
      (answer) => sourcesOf(opinions, (other) => isSame(other, answer)) >= this.#voicesNeeded(answer),
    );
  }

  /** Includes what its address received before on the word of one provider. */
  #needsSecond(transfer: Transfer): boolean {
    return this.#confirmWithSecond(this.#unitsOf(transfer) + this.#believedAlone.besides(transfer));
  }

  #voicesNeeded(answer: Transfer | null): number {
    if (answer === null) return Math.min(2, this.#pool.sources);
    return this.#needsSecond(answer) ? 2 : 1;
  }
}

const isOfAnotherChain = (fault: Error): boolean => fault instanceof ProviderFault && fault.kind === 'wrong-chain';

/** Number of independent sources with such an answer. */
function sourcesOf<Value>(opinions: readonly Opinion<Value>[], isSuch: (value: Value) => boolean): number {
  return new Set(
    opinions.flatMap((opinion) => ('value' in opinion && isSuch(opinion.value) ? [sourceOf(opinion.provider)] : [])),
  ).size;
}

function isSame(a: Transfer | null, b: Transfer | null): boolean {
  if (a === null || b === null) return a === b;
  return (
    a.block.hash === b.block.hash &&
    a.block.number === b.block.number &&
    a.block.timeSec === b.block.timeSec &&
    a.tokenAddress === b.tokenAddress &&
    a.tokenUnits === b.tokenUnits &&
    a.toAddress === b.toAddress &&
    a.fromAddress === b.fromAddress
  );
}

function inWords(opinion: Opinion<Transfer | null>): string {
  if ('fault' in opinion) return `${opinion.provider}: ${opinion.fault.message}`;
  return `${opinion.provider}: ${opinion.value ? `in block ${opinion.value.block.number}` : 'absent'}`;
}
