import { amountOf, formatAmount, fromTokenUnits, toTokenUnits } from '../../domain/money.ts';
import type { NetworkSettings, Token } from '../../domain/networks.ts';
import type { PayoutDraft } from '../../domain/events/payout-draft.ts';
import { ChainUnavailable } from '../../ports/chain.ts';
import {
  tokenToMove,
  type ChainSequence,
  type LandedCheck,
  type PayoutChain,
  type PayoutFate,
  type PreCheck,
  type Reserved,
  type SentPayout,
  type TokenTransfer,
} from '../../ports/payouts.ts';
import { ProviderFault, type Opinion, type RpcPool, type RpcProvider } from '../../ports/rpc-pool.ts';
import { crashPoint } from '../../runtime/util/crash-point.ts';
import { associatedTokenAccount } from '../../runtime/util/spl-token.ts';
import { verifySolanaProvider } from './provider-check.ts';
import { ask, blockAtSlot, readTransaction, slotOf } from './rpc.ts';
import { tokenDeltas, type SolanaTransaction } from './token-balances.ts';

export interface SolanaPayoutsOptions {
  readonly settings: NetworkSettings;
  readonly pool: RpcPool;
  /** Micro-lamports for a unit of computation, at most. */
  readonly maxPrice: number;
}

export const LAMPORT = 10n ** 9n;
/** Blocks, about a minute: a provider may ask another machine for the status than for the height; that one is believed to lag less. */
export const BALANCER_LAG_BLOCKS = 150;
/** Base fee and the dearest priority fee of one payout. */
const FEE_LAMPORTS = 2_010_000n;
const TOKEN_ACCOUNT_BYTES = 165;
/** Micro-lamports for a unit of computation. */
const MIN_PRICE = 1_000;

interface Status {
  readonly slot: number;
  readonly err: unknown;
  readonly confirmationStatus: string;
}
interface ParsedTokenAccount {
  readonly data: { readonly parsed?: { readonly info?: { readonly state?: string; readonly tokenAmount?: { readonly amount: string } } } };
}

/** Payouts on Solana over JSON-RPC. A payout has no nonce; the height of the last block that takes its blockhash ends it. */
export class SolanaPayouts implements PayoutChain {
  readonly settings: NetworkSettings;
  readonly bumpAfterMs = Number.POSITIVE_INFINITY;
  readonly #pool: RpcPool;
  readonly #maxPrice: number;
  readonly #admitted = new Set<string>();

  constructor({ settings, pool, maxPrice }: SolanaPayoutsOptions) {
    this.settings = settings;
    this.#pool = pool;
    this.#maxPrice = maxPrice;
  }

  get network(): PayoutChain['network'] {
    return this.settings.network;
  }

  get mode(): PayoutChain['mode'] {
    return this.settings.mode;
  }

  /** `feePayer` pays fee and rent; it need not be who sends. */
  async check(order: TokenTransfer, treasury: string, reserved: Reserved, feePayer = treasury): Promise<PreCheck> {
    const token = this.token(order);
    return this.on(async (provider): Promise<PreCheck> => {
      const payee = await tokenAccount(provider, associatedTokenAccount(order.toAddress, token.address));
      if (payee?.state === 'frozen') return { kind: 'fail', reason: 'recipient_frozen' };
      const own = await tokenAccount(provider, associatedTokenAccount(treasury, token.address));
      if (own?.state === 'frozen') return { kind: 'fail', reason: 'treasury_frozen' };
      const balance = fromTokenUnits(own?.units ?? 0n, token.decimals);
      const need = amountOf(order.amount) + (reserved.coins[order.coin] ?? 0n);
      if (balance < need)
        return {
          kind: 'wait',
          reason: 'insufficient_funds',
          detail: `the treasury ${treasury} holds ${formatAmount(balance)} ${order.coin} on solana and owes ${formatAmount(need)}`,
        };
      const rent = BigInt(await ask<number>(provider, 'getMinimumBalanceForRentExemption', [TOKEN_ACCOUNT_BYTES]));
      const { value } = await ask<{ value: number }>(provider, 'getBalance', [feePayer, { commitment: 'confirmed' }]);
      const gas = (rent + FEE_LAMPORTS) * BigInt(reserved.payouts + 1);
      if (BigInt(value) < gas)
        return {
          kind: 'wait',
          reason: 'insufficient_gas',
          detail: `the treasury ${feePayer} holds ${formatAmount(BigInt(value) * LAMPORT)} SOL for fees and rent and needs ${formatAmount(gas * LAMPORT)}`,
        };
      return { kind: 'ready' };
    });
  }

  /** Solana numbers no sequence; the blockhash alone keeps two transactions of one payout apart. */
  sequence(): Promise<ChainSequence> {
    return Promise.resolve({ next: null, final: null });
  }

  async draft(order: TokenTransfer): Promise<PayoutDraft> {
    const token = this.token(order);
    const tokenUnits = toTokenUnits(amountOf(order.amount), token.decimals).toString();
    return this.on(async (provider) => {
      const { value } = await ask<{ value: { blockhash: string; lastValidBlockHeight: number } }>(provider, 'getLatestBlockhash', [
        { commitment: 'confirmed' },
      ]);
      const fees = await ask<readonly { prioritizationFee: number }[]>(provider, 'getRecentPrioritizationFees', [[token.address]]).catch(() => []);
      const sorted = fees.map(({ prioritizationFee }) => prioritizationFee).sort((one, other) => one - other);
      const price = Math.min(this.#maxPrice, Math.max(MIN_PRICE, sorted[Math.floor(sorted.length * 0.75)] ?? 0));
      return { kind: 'solana', tokenAddress: token.address, tokenUnits, decimals: token.decimals, ...value, computeUnitPrice: String(price) };
    });
  }

  bump(): Promise<PayoutDraft | null> {
    return Promise.resolve(null);
  }

  async broadcast({ signedBytes }: SentPayout): Promise<void> {
    crashPoint('before-broadcast');
    // Whatever a node answers, it may have forwarded the bytes.
    await this.#pool.survey((provider) =>
      ask(provider, 'sendTransaction', [signedBytes, { encoding: 'base64', skipPreflight: true, maxRetries: 0 }]),
    );
    crashPoint('after-broadcast');
  }

  async fate(order: TokenTransfer, treasury: string, payouts: readonly SentPayout[]): Promise<PayoutFate> {
    const opinions = await this.#ask((provider) => this.#fateAt(provider, order, treasury, payouts));
    const [first, ...others] = opinions;
    const same = others.every(
      (other) => other.kind === first!.kind && (other.kind !== 'landed' || other.landed.txHash === (first as typeof other).landed.txHash),
    );
    if (same) return first!;
    return opinions.find(({ kind }) => kind === 'alarm') ?? { kind: 'pending', inBlock: opinions.some(({ kind }) => kind === 'landed') };
  }

  /** Only a finalized payout counts as landed, and the chain never takes that back; a node that forgot it proves nothing. */
  async hasVanished(): Promise<LandedCheck> {
    return { vanished: false, withheld: false, final: true, headNumber: (await this.#ask((provider) => slotOf(provider, 'finalized')))[0]! };
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  async #fateAt(provider: RpcProvider, order: TokenTransfer, treasury: string, payouts: readonly SentPayout[]): Promise<PayoutFate> {
    // Slot and height first: what has no status in an answer at or past them was in no block up to there. Only the slot can be compared.
    const slot = await slotOf(provider, 'finalized');
    const height = await ask<number>(provider, 'getBlockHeight', [{ commitment: 'finalized' }]);
    const answer = await ask<{ context: { slot: number }; value: readonly (Status | null)[] }>(provider, 'getSignatureStatuses', [
      payouts.map(({ txHash }) => txHash),
      { searchTransactionHistory: true },
    ]);
    if (answer.context.slot < slot) throw new ProviderFault('behind', 'knows fewer slots than it said before');
    const seen = payouts.flatMap((payout, index) => (answer.value[index] ? [{ payout, status: answer.value[index] }] : []));
    const working = seen.find(({ status }) => status.err === null);
    if (working)
      return working.status.confirmationStatus === 'finalized'
        ? this.#landedAt(provider, order, treasury, working.payout.txHash)
        : { kind: 'pending', inBlock: true };
    const last = payouts.at(-1)!;
    const failed = seen.find(({ payout }) => payout.txHash === last.txHash);
    if (failed) return failed.status.confirmationStatus === 'finalized' ? this.#failedAt(provider, last.txHash) : { kind: 'pending', inBlock: true };
    if (last.validity.kind !== 'solana-block-height') throw new Error('not a payout of this chain');
    const pastBlocks = height - last.validity.lastValidBlockHeight;
    if (pastBlocks > BALANCER_LAG_BLOCKS) return { kind: 'never' };
    return pastBlocks > 0 ? { kind: 'pending', inBlock: false } : { kind: 'absent' };
  }

  async #landedAt(provider: RpcProvider, order: TokenTransfer, treasury: string, txHash: string): Promise<PayoutFate> {
    const transaction = await readTransaction(provider, txHash, 'finalized');
    if (!transaction) return { kind: 'pending', inBlock: true };
    const token = this.token(order);
    const units = toTokenUnits(amountOf(order.amount), token.decimals);
    const deltas = tokenDeltas(transaction, [token]);
    const moved =
      deltas.some((delta) => delta.owner === order.toAddress && delta.units === units) &&
      deltas.some((delta) => delta.owner === treasury && delta.units === -units);
    if (!moved) return { kind: 'alarm', detail: `${txHash} succeeded without the transfer it was signed for` };
    const block = await blockAtSlot(provider, transaction.slot, 'finalized');
    if (!block) throw new ProviderFault('behind', `has no block at slot ${transaction.slot}`);
    return {
      kind: 'landed',
      landed: { txHash, blockNumber: block.number, blockHash: block.hash, blockTimeSec: block.timeSec, networkFee: spentLamports(transaction) },
      final: true,
    };
  }

  async #failedAt(provider: RpcProvider, txHash: string): Promise<PayoutFate> {
    const transaction = await readTransaction(provider, txHash, 'finalized');
    return transaction ? { kind: 'ineffective', txHash, networkFee: spentLamports(transaction) } : { kind: 'pending', inBlock: true };
  }

  /** Throws `TransferImpossible`. */
  token(order: TokenTransfer): Token {
    return tokenToMove(this.settings, order);
  }

  /** Asks one provider. Throws `ChainUnavailable`. */
  async on<Value>(task: (provider: RpcProvider) => Promise<Value>): Promise<Value> {
    return (await this.#pool.run(async (provider) => (await this.#admit(provider), task(provider)))).value;
  }

  /** As many answers as a conclusion needs. Throws `ChainUnavailable` when there are fewer. */
  async #ask<Value>(task: (provider: RpcProvider) => Promise<Value>): Promise<Value[]> {
    const needed = Math.min(2, this.#pool.size);
    const answered = (soFar: readonly Opinion<Value>[]): Value[] => soFar.flatMap((opinion) => ('value' in opinion ? [opinion.value] : []));
    const opinions = await this.#pool.survey(
      async (provider) => (await this.#admit(provider), task(provider)),
      (soFar) => answered(soFar).length >= needed,
    );
    const answers = answered(opinions);
    if (answers.length < needed) throw new ChainUnavailable(`solana: ${answers.length} of ${needed} providers answered`);
    return answers;
  }

  async #admit(provider: RpcProvider): Promise<void> {
    if (this.#admitted.has(provider.name)) return;
    await verifySolanaProvider(provider, this.settings);
    this.#admitted.add(provider.name);
  }
}

export async function tokenAccount(provider: RpcProvider, account: string): Promise<{ state: string; units: bigint } | null> {
  const { value } = await ask<{ value: ParsedTokenAccount | null }>(provider, 'getAccountInfo', [
    account,
    { encoding: 'jsonParsed', commitment: 'confirmed' },
  ]);
  const info = value?.data.parsed?.info;
  return info ? { state: info.state ?? '', units: BigInt(info.tokenAmount?.amount ?? '0') } : null;
}

/** What the fee payer, the first account, lost: fee and rent. */
function spentLamports(transaction: SolanaTransaction): string {
  const meta = transaction.meta as unknown as { preBalances: readonly number[]; postBalances: readonly number[] };
  return formatAmount(BigInt(meta.preBalances[0]! - meta.postBalances[0]!) * LAMPORT);
}
