import { amountOf, formatAmount, fromTokenUnits, toTokenUnits } from '../../domain/money.ts';
import type { NetworkSettings, Token } from '../../domain/networks.ts';
import type { UsedNonces } from '../../domain/events/treasury-events.ts';
import type { MoveDraft, PayoutDraft } from '../../domain/events/payout-draft.ts';
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
import { freeNonce, nonceAt } from './nonces.ts';
import { verifySolanaProvider } from './provider-check.ts';
import { ask, blockAtSlot, readTransaction, slotOf } from './rpc.ts';
import { tokenDeltas, type SolanaTransaction } from './token-balances.ts';

export interface SolanaPayoutsOptions {
  readonly settings: NetworkSettings;
  readonly pool: RpcPool;
  /** Micro-lamports for a unit of computation, at most. */
  readonly maxPrice: number;
  /** How long a payout may stay out before it offers more. */
  readonly bumpAfterMs?: number;
}

export const LAMPORT = 10n ** 9n;
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
/** How the fate of one transfer is told from what the chain shows. */
interface FateParts {
  landed(txHash: string): Promise<PayoutFate>;
  /** In no block up to this slot. */
  unseen(slot: number): Promise<PayoutFate>;
}
interface ParsedTokenAccount {
  readonly data: { readonly parsed?: { readonly info?: { readonly state?: string; readonly tokenAmount?: { readonly amount: string } } } };
}

/**
 * Payouts on Solana over JSON-RPC. Each names the value of a nonce account of the treasury, so it lives until that value is used, and of all that
 * name one value one lands at most.
 */
export class SolanaPayouts implements PayoutChain {
  readonly settings: NetworkSettings;
  readonly bumpAfterMs: number;
  readonly #pool: RpcPool;
  readonly #maxPrice: number;
  readonly #admitted = new Set<string>();

  constructor({ settings, pool, maxPrice, bumpAfterMs = Number.POSITIVE_INFINITY }: SolanaPayoutsOptions) {
    this.bumpAfterMs = bumpAfterMs;
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

  /** Solana numbers no sequence of an account. */
  sequence(): Promise<ChainSequence> {
    return Promise.resolve({ next: null, final: null });
  }

  async draft(order: TokenTransfer, treasury: string, _: number | null, used: UsedNonces): Promise<PayoutDraft | null> {
    const token = this.token(order);
    const tokenUnits = toTokenUnits(amountOf(order.amount), token.decimals).toString();
    return this.on(async (provider) => {
      const free = await freeNonce(provider, treasury, used);
      if (free === null) return null;
      const computeUnitPrice = String(await this.#price(provider, token));
      return { kind: 'solana', tokenAddress: token.address, tokenUnits, decimals: token.decimals, ...free, computeUnitPrice };
    });
  }

  /** The same with the same nonce at twice the price, or at what the network takes now if that is more. */
  async bump(draft: MoveDraft): Promise<PayoutDraft | null> {
    if (draft.kind !== 'solana' || Number(draft.computeUnitPrice) >= this.#maxPrice) return null;
    const token = this.settings.tokens.find(({ address }) => address === draft.tokenAddress)!;
    const price = await this.on((provider) => this.#price(provider, token));
    return { ...draft, computeUnitPrice: String(Math.min(this.#maxPrice, Math.max(2 * Number(draft.computeUnitPrice), price))) };
  }

  /** What three of four transactions of the token paid at most. */
  async #price(provider: RpcProvider, token: Token): Promise<number> {
    const fees = await ask<readonly { prioritizationFee: number }[]>(provider, 'getRecentPrioritizationFees', [[token.address]]).catch(() => []);
    const sorted = fees.map(({ prioritizationFee }) => prioritizationFee).sort((one, other) => one - other);
    return Math.min(this.#maxPrice, Math.max(MIN_PRICE, sorted[Math.floor(sorted.length * 0.75)] ?? 0));
  }

  async broadcast({ signedBytes }: SentPayout): Promise<void> {
    crashPoint('before-broadcast');
    // Whatever a node answers, it may have forwarded the bytes.
    await this.#pool.survey((provider) =>
      ask(provider, 'sendTransaction', [signedBytes, { encoding: 'base64', skipPreflight: true, maxRetries: 0 }]),
    );
    crashPoint('after-broadcast');
  }

  /** `owner` keeps the nonce accounts; it need not be who sends. */
  async fate(order: TokenTransfer, treasury: string, payouts: readonly SentPayout[], owner = treasury): Promise<PayoutFate> {
    const fate = (provider: RpcProvider): Promise<PayoutFate> =>
      this.#fateAt(provider, payouts, {
        landed: (txHash) => this.#landedAt(provider, order, treasury, txHash),
        unseen: async (slot) => unseenAt(await nonceAt(provider, owner, payouts.at(-1)!.validity, slot)),
      });
    return agreedFate(await this.#ask(fate));
  }

  /** What became of a transaction that makes a nonce account: the space is taken once, whoever takes it. */
  async fateOfMaking(payouts: readonly SentPayout[], rent: bigint): Promise<PayoutFate> {
    const { validity } = payouts.at(-1)!;
    if (validity.kind !== 'solana-blockhash') throw new Error('does not make an account');
    const fate = (provider: RpcProvider): Promise<PayoutFate> =>
      this.#fateAt(provider, payouts, {
        landed: (txHash) => this.#landed(provider, txHash, (transaction) => lamportsOf(transaction) * LAMPORT - rent),
        unseen: async () => {
          const { value } = await ask<{ value: boolean }>(provider, 'isBlockhashValid', [validity.blockhash, { commitment: 'confirmed' }]);
          return value ? { kind: 'absent' } : { kind: 'never' };
        },
      });
    return agreedFate(await this.#ask(fate));
  }

  /** Only a finalized payout counts as landed, and the chain never takes that back; a node that forgot it proves nothing. */
  async hasVanished(): Promise<LandedCheck> {
    return { vanished: false, withheld: false, final: true, headNumber: (await this.#ask((provider) => slotOf(provider, 'finalized')))[0]! };
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  async #fateAt(provider: RpcProvider, payouts: readonly SentPayout[], parts: FateParts): Promise<PayoutFate> {
    // Slot first: what has no status in an answer at or past it was in no block up to there.
    const slot = await slotOf(provider, 'finalized');
    const answer = await ask<{ context: { slot: number }; value: readonly (Status | null)[] }>(provider, 'getSignatureStatuses', [
      payouts.map(({ txHash }) => txHash),
      { searchTransactionHistory: true },
    ]);
    if (answer.context.slot < slot) throw new ProviderFault('behind', 'knows fewer slots than it said before');
    const seen = payouts.flatMap(({ txHash }, index) => (answer.value[index] ? [{ txHash, status: answer.value[index] }] : []));
    const included = seen.find(({ status }) => status.err === null) ?? seen.at(-1);
    if (!included) return parts.unseen(slot);
    if (included.status.confirmationStatus !== 'finalized') return { kind: 'pending', inBlock: true };
    return included.status.err === null ? parts.landed(included.txHash) : this.#failedAt(provider, included.txHash);
  }

  async #landedAt(provider: RpcProvider, order: TokenTransfer, treasury: string, txHash: string): Promise<PayoutFate> {
    const token = this.token(order);
    const units = toTokenUnits(amountOf(order.amount), token.decimals);
    return this.#landed(provider, txHash, (transaction) => {
      const deltas = tokenDeltas(transaction, [token]);
      const moved =
        deltas.some((delta) => delta.owner === order.toAddress && delta.units === units) &&
        deltas.some((delta) => delta.owner === treasury && delta.units === -units);
      return moved ? lamportsOf(transaction) * LAMPORT : null;
    });
  }

  /** `feeOf`: what it cost, in 10^-18 SOL; null when it did not do what it was signed for. */
  async #landed(provider: RpcProvider, txHash: string, feeOf: (transaction: SolanaTransaction) => bigint | null): Promise<PayoutFate> {
    const transaction = await readTransaction(provider, txHash, 'finalized');
    if (!transaction) return { kind: 'pending', inBlock: true };
    const fee = feeOf(transaction);
    if (fee === null) return { kind: 'alarm', detail: `${txHash} succeeded without the transfer it was signed for` };
    const block = await blockAtSlot(provider, transaction.slot, 'finalized');
    if (!block) throw new ProviderFault('behind', `has no block at slot ${transaction.slot}`);
    const networkFee = formatAmount(fee);
    return {
      kind: 'landed',
      landed: { txHash, blockNumber: block.number, blockHash: block.hash, blockTimeSec: block.timeSec, networkFee },
      final: true,
    };
  }

  async #failedAt(provider: RpcProvider, txHash: string): Promise<PayoutFate> {
    const transaction = await readTransaction(provider, txHash, 'finalized');
    return transaction
      ? { kind: 'ineffective', txHash, networkFee: formatAmount(lamportsOf(transaction) * LAMPORT) }
      : { kind: 'pending', inBlock: true };
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
function lamportsOf(transaction: SolanaTransaction): bigint {
  const meta = transaction.meta as unknown as { preBalances: readonly number[]; postBalances: readonly number[] };
  return BigInt(meta.preBalances[0]! - meta.postBalances[0]!);
}

/** Nobody shows the transaction. Once its nonce was used something landed that is not shown yet; what, is not to be guessed. */
const unseenAt = (nonceIsUnused: boolean): PayoutFate => (nonceIsUnused ? { kind: 'absent' } : { kind: 'pending', inBlock: true });

/** A conclusion needs all that were asked to agree. */
function agreedFate(opinions: readonly PayoutFate[]): PayoutFate {
  const [first, ...others] = opinions;
  const same = others.every(
    (other) => other.kind === first!.kind && (other.kind !== 'landed' || other.landed.txHash === (first as typeof other).landed.txHash),
  );
  if (same) return first!;
  return opinions.find(({ kind }) => kind === 'alarm') ?? { kind: 'pending', inBlock: opinions.some(({ kind }) => kind === 'landed') };
}
