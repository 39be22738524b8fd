import { setTimeout as sleep } from 'node:timers/promises';
import type { Mode } from '../../domain/values/ids.ts';
import type { AddressFamily } from '../../domain/networks/networks.ts';
import type { AddressPool, AddressSource } from '../../ports/chain/addresses.ts';
import type { Log } from '../../ports/log.ts';
import { Recurring } from '../../runtime/util/recurring.ts';
import { must } from '../../domain/values/must.ts';

/** `unasked`: no answer yet. */
export type Ownership = 'own' | 'foreign' | 'unasked';

export interface SourceOwnership {
  readonly mode: Mode;
  readonly family: AddressFamily;
  readonly ownership: Ownership;
}

export interface ConfirmAddressesDeps {
  readonly sources: readonly AddressSource[];
  /**
   * Whether the holder of the keys confirms the address as its own; null until it has answered. Rejects while it cannot
   * be reached.
   */
  readonly ask: (source: AddressSource) => Promise<boolean | null>;
  readonly everyMs: number;
  /** How long the start waits for missing answers. */
  readonly firstWaitMs: number;
  readonly log: Log;
}

const FIRST_LOOK_MS = 250;

/**
 * Asks the holder of the keys, at the start and then periodically, whether the assigned addresses are its own: nobody
 * could move money from any other address. An answer stays valid until the next one, because an unreachable holder has
 * not changed its keys.
 */
export class ConfirmAddresses {
  readonly #deps: ConfirmAddressesDeps;
  readonly #ownership = new Map<string, Ownership>();
  readonly #rounds: Recurring;

  constructor(deps: ConfirmAddressesDeps) {
    this.#deps = deps;
    for (const source of deps.sources) this.#ownership.set(keyOf(source), 'unasked');
    this.#rounds = new Recurring(
      () => this.round(),
      deps.everyMs,
      (error) => deps.log.error({ err: error }, 'addresses could not be confirmed'),
    );
  }

  /** Resolves once every source has an answer, or after a bounded wait. Further rounds run in the background. */
  async start(): Promise<void> {
    const endMs = performance.now() + this.#deps.firstWaitMs;
    await this.round();
    while (this.status().some(({ ownership }) => ownership === 'unasked') && performance.now() < endMs) {
      await sleep(FIRST_LOOK_MS);
      await this.round();
    }
    if (this.#deps.sources.length > 0) this.#rounds.start();
  }

  async round(): Promise<void> {
    for (const source of this.#deps.sources) await this.#look(source);
  }

  isWithheld(mode: Mode, family: AddressFamily): boolean {
    return (this.#ownership.get(keyOf({ mode, family })) ?? 'own') !== 'own';
  }

  status(): SourceOwnership[] {
    return this.#deps.sources.map(({ mode, family }) => ({
      mode,
      family,
      ownership: must(this.#ownership.get(keyOf({ mode, family }))),
    }));
  }

  close(): Promise<void> {
    return this.#rounds.close();
  }

  async #look(source: AddressSource): Promise<void> {
    const { mode, family } = source;
    const { log } = this.#deps;
    try {
      const isOwn = await this.#deps.ask(source);
      if (isOwn === null) return;
      const before = this.#ownership.get(keyOf(source));
      const now: Ownership = isOwn ? 'own' : 'foreign';
      this.#ownership.set(keyOf(source), now);
      if (now === before) return;
      if (isOwn) log.info({ mode, family }, 'the signer confirmed that the collection addresses are its own');
      else
        log.error(
          { mode, family },
          "the collection addresses are not the signer's: money sent to them could not be moved, so none is assigned",
        );
    } catch (error) {
      log.warn(
        { mode, family, err: error },
        'the signer could not be asked whether the collection addresses are its own',
      );
    }
  }
}

const keyOf = ({ mode, family }: Pick<AddressSource, 'mode' | 'family'>): string => `${mode}/${family}`;

/** The same pool, restricted to addresses that the holder of the keys has confirmed. */
export function withConfirmation(pool: AddressPool, confirmation: Pick<ConfirmAddresses, 'isWithheld'>): AddressPool {
  return {
    take: (mode, family) => (confirmation.isWithheld(mode, family) ? null : pool.take(mode, family)),
    giveBack: (mode, address) => pool.giveBack(mode, address),
    isWithheld: (mode, family) => confirmation.isWithheld(mode, family),
  };
}
