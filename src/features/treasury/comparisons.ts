import type { Mode } from '../../domain/values/ids.ts';
import type { Network } from '../../domain/networks/networks.ts';
import type { OutgoingChain } from '../../ports/outgoing/chain.ts';
import { messageOf } from '../../runtime/util/message-of.ts';

/** A comparison of the books with one chain as it ended last. */
export interface Comparison {
  readonly mode: Mode;
  readonly network: Network;
  readonly kind: 'treasury' | 'addresses';
  /** How often it has failed since it last succeeded. */
  readonly failures: number;
  /** Null after a success. */
  readonly why: string | null;
  /** By how much the comparison of a treasury is overdue; 0 for addresses. */
  readonly overdueSec: number;
}

/** After this many failures in a row, a person must look: an outflow would go unnoticed. */
const TOO_MANY = 2;

export const keepsFailing = ({ failures }: Comparison): boolean => failures >= TOO_MANY;

/** Counts comparisons that fail, whoever asked for them. */
export class Comparisons {
  readonly #last = new Map<string, Comparison>();

  get all(): readonly Comparison[] {
    return [...this.#last.values()];
  }

  async run<Result>(
    { mode, network }: Pick<OutgoingChain, 'mode' | 'network'>,
    kind: Comparison['kind'],
    compare: () => Promise<Result>,
  ): Promise<Result> {
    const key = `${mode}/${network}/${kind}`;
    const ended = (failures: number, why: string | null): void => {
      const overdueSec = failures === 0 ? 0 : (this.#last.get(key)?.overdueSec ?? 0);
      this.#last.set(key, { mode, network, kind, failures, why, overdueSec });
    };
    try {
      const result = await compare();
      ended(0, null);
      return result;
    } catch (error) {
      ended((this.#last.get(key)?.failures ?? 0) + 1, messageOf(error));
      throw error;
    }
  }

  /** Also of treasuries that this process has not compared yet. */
  overdue({ mode, network }: Pick<OutgoingChain, 'mode' | 'network'>, overdueSec: number): void {
    const [key, kind] = [`${mode}/${network}/treasury`, 'treasury' as const];
    const last = this.#last.get(key) ?? { mode, network, kind, failures: 0, why: null };
    this.#last.set(key, { ...last, overdueSec });
  }
}
