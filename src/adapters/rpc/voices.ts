import { ChainUnavailable, WrongChain } from '../../ports/chain.ts';
import type { Transfer } from '../../ports/chain.ts';
import { ProviderFault, sourceOf } from '../../ports/rpc-pool.ts';
import type { Opinion, RpcPool, RpcProvider } from '../../ports/rpc-pool.ts';
import { BelievedAlone } from './believed-alone.ts';

/** What two providers of a network say about the same thing, and how many of them it takes. */
export class Voices {
  readonly #network: string;
  readonly #pool: RpcPool;
  readonly #unitsOf: (transfer: Transfer) => bigint;
  readonly #confirmWithSecond: (units: bigint) => boolean;
  readonly #believedAlone = new BelievedAlone();

  /**
   * `confirmWithSecond`: whether so much, in 10^-18 units as `unitsOf` tells them, counts only if a second, independent
   * provider reports the very same.
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
   * Lets every provider prove that it serves this chain. One of another chain is left out, as the pool's status tells;
   * throws `WrongChain` when no other is left, `ChainUnavailable` when none can be used.
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
   * The transfer as enough providers tell it; null when enough do not know it. Throws `ChainUnavailable` while they
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
   * Whether a second provider, too, calls the block of a transfer final, where the transfer needs a second source: one
   * that has moved its finality forward must not be believed alone.
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
   * A small transfer needs one voice; a large one, and the claim that it is gone, two equal ones where there are two
   * sources.
   */
  #verdictOf(opinions: readonly Opinion<Transfer | null>[]): Transfer | null | undefined {
    const answers = opinions.flatMap((opinion) => ('value' in opinion ? [opinion.value] : []));
    return answers.find(
      (answer) => sourcesOf(opinions, (other) => isSame(other, answer)) >= this.#voicesNeeded(answer),
    );
  }

  /** With what its address was given on one word before. */
  #needsSecond(transfer: Transfer): boolean {
    return this.#confirmWithSecond(this.#unitsOf(transfer) + this.#believedAlone.besides(transfer));
  }

  #voicesNeeded(answer: Transfer | null): number {
    if (answer === null) return Math.min(2, this.#pool.sources);
    return this.#needsSecond(answer) ? 2 : 1;
  }
}

const isOfAnotherChain = (fault: Error): boolean => fault instanceof ProviderFault && fault.kind === 'wrong-chain';

/** How many independent sources gave such an answer. */
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
