import type { ApprovalAct, ApprovalVerdict } from '../../../src/ports/signer/approvals.ts';
import type { Signature, SigningRequest } from '../../../src/ports/outgoing/signer.ts';
import type { OutgoingTransaction } from '../../../src/ports/outgoing/transaction.ts';
import type { Included } from '../chain/block.ts';
import type { SimulatedChain } from '../chain/simulated-chain.ts';
import { addressOf, treasuryOn } from '../networks.ts';
import type { ModelledNetwork } from '../plan/plan.ts';
import type { Prng } from '../time/prng.ts';
import { unitsOf } from '../oracle/truth.ts';

/** Payments that are to be given free before each request. */
const MOST_FREED = 2;
/** What the treasury signs in a token. */
const OF_THE_TREASURY: readonly string[] = ['refund', 'return', 'withdrawal', 'settlement'];

interface Signed {
  readonly order: OutgoingTransaction;
  readonly txHashes: Set<string>;
}

/** What signers signed and whether they are stopped, whichever process is the signer at the moment. */
export class SignerWatch {
  readonly #signed = new Map<string, Signed>();
  readonly #chains: ReadonlyMap<ModelledNetwork, { readonly chain: SimulatedChain }>;
  readonly #prng: Prng;
  readonly #count: (situation: string) => void;
  #judging = 0;
  #isStopped = false;

  constructor(
    chains: ReadonlyMap<ModelledNetwork, { readonly chain: SimulatedChain }>,
    prng: Prng,
    count: (situation: string) => void,
  ) {
    this.#chains = chains;
    this.#prng = prng;
    this.#count = count;
  }

  /** A request and its answer, which says `found` what must not be. */
  async during(
    method: string,
    params: unknown,
    ask: (params: unknown) => Promise<unknown>,
    found: (what: string) => void,
  ): Promise<unknown> {
    if (method !== 'sign') {
      if (method === 'stop' && this.#judging > 0) this.#count('stop while the signer judges');
      const answer = await ask(params);
      if (method === 'stop') this.#isStopped = true;
      if (method === 'approve' && isResumed(params, answer)) this.#isStopped = false;
      return answer;
    }
    this.#judging += 1;
    try {
      const answer = (await ask(params)) as Signature;
      const { order } = params as SigningRequest;
      if (answer.ok && this.#isStopped) found(`the signer signed ${order.id} although it was stopped`);
      if (answer.ok) this.#keep(order, answer.txHash);
      return answer;
    } finally {
      this.#judging -= 1;
    }
  }

  /** Some of what is in its chain and did what it was to do. */
  landed(): OutgoingTransaction[] {
    const landed = [...this.#signed.values()].filter((signed) => this.#successOf(signed) !== null);
    return Array.from({ length: Math.min(MOST_FREED, landed.length) }, () => this.#prng.pick(landed).order);
  }

  /** Sweeps that landed, named as what somebody paid and is to be paid back. */
  asDeposits(request: SigningRequest): SigningRequest[] {
    const { order } = request;
    if (!OF_THE_TREASURY.includes(order.kind)) return [];
    const treasury = addressOf(order.network, treasuryOn(order.network));
    return [...this.#signed.values()].flatMap((signed): SigningRequest[] => {
      const sweep = signed.order;
      if (sweep.kind !== 'sweep' || sweep.network !== order.network || sweep.coin !== order.coin) return [];
      const success = unitsOf(sweep.amount) < unitsOf(order.amount) ? null : this.#successOf(signed);
      if (!success) return [];
      const [txHash, logIndex] = [success.transaction.txHash, success.logIndexes[0]!];
      const depositKey = `${order.network}:${txHash}:${logIndex}`;
      const named = { depositKey, txHash, logIndex, toAddress: treasury, derivationIndex: null, amount: order.amount };
      const nobody = { refund: null, merchantId: null, derivationIndex: null };
      const back = { kind: 'return', toAddress: sweep.fromAddress, deposits: [named], ...nobody } as const;
      return [{ ...request, order: { ...order, ...back } }];
    });
  }

  #keep(order: OutgoingTransaction, txHash: string): void {
    const signed = this.#signed.get(order.id) ?? { order, txHashes: new Set() };
    signed.txHashes.add(txHash);
    this.#signed.set(order.id, signed);
  }

  #successOf({ order, txHashes }: Signed): Included<unknown, unknown> | null {
    const { chain } = this.#chains.get(order.network)!;
    for (const txHash of txHashes) {
      const included = chain.blockOf(txHash, chain.view)?.included.find((one) => one.transaction.txHash === txHash);
      if (included?.succeeded) return included;
    }
    return null;
  }
}

function isResumed(params: unknown, answer: unknown): boolean {
  const { act } = params as { readonly act: ApprovalAct };
  const verdict = answer as ApprovalVerdict;
  return act.kind === 'resume' && verdict.ok && verdict.done;
}
