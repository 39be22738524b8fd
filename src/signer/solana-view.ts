import { amountOf, fromTokenUnits, toTokenUnits } from '../domain/money.ts';
import type { MoveDraft, PayoutDraft } from '../domain/events/payout-draft.ts';
import type { PayoutNetwork } from '../ports/signer-protocol.ts';
import type { DepositProof } from '../domain/deposit-proof.ts';
import type { PayoutOrder } from '../ports/payouts.ts';
import { agreed, rpc, ViewUnavailable, type ChainView, type FoundDeposit, type JournaledBytes, type SignedBytes } from './chain-view.ts';
import { solanaPayoutBytes, type SolanaDraft } from './solana-payout-bytes.ts';
import type { SigningWallet } from './signing-wallet.ts';

interface TokenBalance {
  readonly accountIndex: number;
  readonly mint: string;
  readonly owner?: string;
  readonly programId?: string;
  readonly uiTokenAmount: { readonly amount: string };
}
interface RawTransaction {
  readonly transaction: { readonly signatures: readonly string[] };
  readonly meta: {
    readonly err: unknown;
    readonly preTokenBalances?: readonly TokenBalance[];
    readonly postTokenBalances?: readonly TokenBalance[];
  } | null;
}

const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';

/** Blocks, about a minute: a provider may ask another machine for the status than for the height; that one is believed to lag less. */
const BALANCER_LAG_BLOCKS = 150;

/** Solana as the signer sees it; only what is finalized counts. */
export class SolanaView implements ChainView {
  readonly #network: PayoutNetwork;

  constructor(network: PayoutNetwork) {
    this.#network = network;
  }

  async findDeposit(proof: DepositProof): Promise<FoundDeposit | null> {
    return agreed(this.#network, async (url) => {
      const finalized = await this.#transaction(url, proof.txHash, 'finalized');
      const transaction = finalized ?? (await this.#transaction(url, proof.txHash, 'confirmed'));
      if (!transaction?.meta || transaction.meta.err !== null) return null;
      const deltas = deltasOf(transaction.meta);
      const own = deltas.find(({ accountIndex }) => accountIndex === proof.logIndex);
      const token = this.#network.tokens.find(({ address }) => address === own?.mint);
      if (!own || !token || own.owner !== proof.toAddress || own.units <= 0n) return null;
      return {
        depositKey: `solana:${transaction.transaction.signatures[0]}:${own.accountIndex}`,
        coin: token.coin,
        units: fromTokenUnits(own.units, token.decimals),
        payer: payerOf(deltas, own.mint),
        final: finalized !== null,
      };
    });
  }

  faultOf(draft: MoveDraft, order: { readonly coin: string; readonly amount: string }): string | null {
    const token = this.#network.tokens.find(({ coin }) => coin === order.coin);
    if (draft.kind !== 'solana') return 'the draft is for another chain';
    if (!token || draft.tokenAddress !== token.address || draft.decimals !== token.decimals) return 'the draft moves another token';
    return BigInt(draft.tokenUnits) === toTokenUnits(amountOf(order.amount), token.decimals) ? null : 'the draft moves another amount';
  }

  sign(draft: PayoutDraft, order: PayoutOrder, wallet: SigningWallet): Promise<SignedBytes> {
    return solanaPayoutBytes(draft as SolanaDraft, order, wallet);
  }

  hasLanded(txHash: string): Promise<boolean> {
    return agreed(this.#network, async (url) => (await this.#transaction(url, txHash, 'confirmed')) !== null);
  }

  /** The treasury pays for sweeps. */
  sweepGas(): Promise<null> {
    return Promise.resolve(null);
  }

  async mayFollow(last: JournaledBytes, next: MoveDraft): Promise<boolean> {
    return next.kind === 'solana' && (await this.#isDead(last, false));
  }

  async hadNoEffect(entries: readonly JournaledBytes[]): Promise<boolean> {
    for (const entry of entries) if (!(await this.#isDead(entry, true))) return false;
    return true;
  }

  /** Well past its last block height without a status in the whole history; or, where `failedCounts`, finalized without effect. */
  #isDead({ draft, txHash }: JournaledBytes, failedCounts: boolean): Promise<boolean> {
    return agreed(this.#network, async (url) => {
      const slot = (await rpc(this.#network, url, 'getSlot', [{ commitment: 'finalized' }])) as number;
      const height = (await rpc(this.#network, url, 'getBlockHeight', [{ commitment: 'finalized' }])) as number;
      const answer = (await rpc(this.#network, url, 'getSignatureStatuses', [[txHash], { searchTransactionHistory: true }])) as {
        context: { slot: number };
        value: readonly ({ err: unknown; confirmationStatus: string } | null)[];
      };
      // A machine behind the balancer that lags would not know what the others have.
      if (answer.context.slot < slot) throw new ViewUnavailable('a provider lags behind itself');
      const status = answer.value[0];
      if (status) return failedCounts && status.err !== null && status.confirmationStatus === 'finalized';
      return draft.kind === 'solana' && height > draft.lastValidBlockHeight + BALANCER_LAG_BLOCKS;
    });
  }

  #transaction(url: string, txHash: string, commitment: string): Promise<RawTransaction | null> {
    return rpc(this.#network, url, 'getTransaction', [
      txHash,
      { commitment, encoding: 'json', maxSupportedTransactionVersion: 1 },
    ]) as Promise<RawTransaction | null>;
  }
}

interface Delta {
  readonly accountIndex: number;
  readonly mint: string;
  readonly owner: string | null;
  readonly units: bigint;
}

function deltasOf({ preTokenBalances, postTokenBalances }: NonNullable<RawTransaction['meta']>): Delta[] {
  const deltas = new Map<number, Delta>();
  const add = (balance: TokenBalance, sign: bigint): void => {
    if (balance.programId !== TOKEN_PROGRAM) return;
    const known = deltas.get(balance.accountIndex);
    const units = (known?.units ?? 0n) + sign * BigInt(balance.uiTokenAmount.amount);
    deltas.set(balance.accountIndex, { accountIndex: balance.accountIndex, mint: balance.mint, owner: balance.owner ?? known?.owner ?? null, units });
  };
  for (const balance of preTokenBalances ?? []) add(balance, -1n);
  for (const balance of postTokenBalances ?? []) add(balance, 1n);
  return [...deltas.values()];
}

/** The one owner whose money fell; null when that is not exactly one. */
function payerOf(deltas: readonly Delta[], mint: string): string | null {
  const byOwner = new Map<string | null, bigint>();
  for (const { owner, units, mint: of } of deltas) if (of === mint) byOwner.set(owner, (byOwner.get(owner) ?? 0n) + units);
  const fallen = [...byOwner].filter(([, units]) => units < 0n);
  return fallen.length === 1 ? fallen[0]![0] : null;
}
