import { z } from 'zod';
import type { TransactionDraft } from '../../domain/events/transaction-draft.ts';
import type { UsedNonces } from '../../domain/events/treasury-events.ts';
import { amountOf, formatAmount, fromTokenUnits, toTokenUnits, type Coin } from '../../domain/money/money.ts';
import { mostNative } from '../../domain/networks/native-cost.ts';
import { NATIVE_DECIMALS, type NetworkSettings, type Token } from '../../domain/networks/networks.ts';
import {
  isNative,
  lackOfFunds,
  tokenToMove,
  TransferImpossible,
  treasuryOf,
  type Fate,
  type LandedCheck,
  type OutgoingTransaction,
  type PreCheck,
  type Reserved,
  type SentTransaction,
  type Funding,
} from '../../ports/outgoing/transaction.ts';
import type {
  BroadcastAnswer,
  AccountBalances,
  ShownBalances,
  MissingAccount,
  OutgoingChain,
  SeenInflow,
  SeenOutflow,
  SoughtInflows,
  StrangersAmong,
} from '../../ports/outgoing/chain.ts';
import { mustReach, ProviderFault, type RpcPool, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { crashPoint } from '../../runtime/util/crash-point.ts';
import { associatedTokenAccount } from '../../chain-formats/spl-token.ts';
import { AdmittedProviders } from '../rpc/admitted-providers.ts';
import { askBeforeEnding } from '../rpc/ask-before-ending.ts';
import { agreedFate } from '../rpc/agreed-fate.ts';
import { freeNonce, missingNonceAccount } from './nonces.ts';
import { solanaInflows, solanaOutflows } from './outflows.ts';
import { areHeldAt, fateAt, LAMPORT } from './outgoing-fate.ts';
import { verifySolanaProvider } from './provider-check.ts';
import { holdingsOf, payeeAccount, paysBack, tokenAccount } from './payee-account.ts';
import { sweptAccounts } from './swept-accounts.ts';
import { ACCOUNTS_A_CALL, ask, finalLamports, latestBlockhash, readBalances, rentOf, slotOf } from './rpc.ts';
import { must } from '../../domain/values/must.ts';

export interface SolanaOutgoingOptions {
  readonly settings: NetworkSettings;
  readonly pool: RpcPool;
  /** Maximum price in micro-lamports per compute unit. */
  readonly maxPrice: number;
  /** How long a transaction may be in flight before its price is raised. */
  readonly bumpAfterMs?: number;
}

/** Base fee and the highest priority fee of one transfer. */
const FEE_LAMPORTS = 2_010_000n;
const SIGNATURE_LAMPORTS = 5_000n;
/** Margin for a price that rises while two people approve. */
const RETURN_FEE_MARGIN = 2n;
const TOKEN_ACCOUNT_BYTES = 165;
/** Micro-lamports per compute unit. */
const MIN_PRICE = 1_000;

const lamports = z.object({ value: z.number() });
const recentFees = z.array(z.object({ prioritizationFee: z.number() }));

/**
 * Outgoing transactions on Solana over JSON-RPC. Each transfer names the value of a nonce account of the treasury, so
 * it is valid until that value is used, and at most one of those naming the same value can land. The treasury pays
 * every fee, so collection addresses need no SOL; their token accounts stay open, because a late payer may still use
 * them. Only what is finalised counts.
 */
export class SolanaOutgoing implements OutgoingChain {
  readonly settings: NetworkSettings;
  readonly bumpAfterMs: number;
  readonly #providers: AdmittedProviders;
  readonly #maxPrice: number;

  constructor({ settings, pool, maxPrice, bumpAfterMs = Number.POSITIVE_INFINITY }: SolanaOutgoingOptions) {
    this.bumpAfterMs = bumpAfterMs;
    this.settings = settings;
    this.#maxPrice = maxPrice;
    this.#providers = new AdmittedProviders(settings.network, pool, (provider) =>
      verifySolanaProvider(provider, settings),
    );
  }

  get network(): OutgoingChain['network'] {
    return this.settings.network;
  }

  get mode(): OutgoingChain['mode'] {
    return this.settings.mode;
  }

  async balances(address: string, atLeast = 0, preferOtherThan: readonly string[] = []): Promise<ShownBalances> {
    const { value, provider: shownBy } = await this.#providers.run(async (provider) => {
      await mustReach(atLeast, () => slotOf(provider, 'confirmed'));
      const coins: Partial<Record<Coin, bigint>> = {};
      for (const token of this.settings.tokens) {
        const account = await tokenAccount(provider, associatedTokenAccount(address, token.address), address, token);
        coins[token.coin] = fromTokenUnits(account?.units ?? 0n, token.decimals);
      }
      return { coins, native: (await lamportsAt(provider, address)) * LAMPORT };
    }, preferOtherThan);
    return { ...value, provider: shownBy };
  }

  async heldElsewhere(address: string): Promise<Partial<Record<Coin, bigint>>> {
    const held = await this.#providers.on((provider) => holdingsOf(provider, address));
    const coins: Partial<Record<Coin, bigint>> = {};
    for (const { coin, address: mint, decimals } of this.settings.tokens) {
      const usual = associatedTokenAccount(address, mint);
      const others = held.filter((one) => one.mint === mint && one.account !== usual);
      coins[coin] = fromTokenUnits(
        others.reduce((sum, { units }) => sum + units, 0n),
        decimals,
      );
    }
    return coins;
  }

  finalBalances(addresses: readonly string[], preferOtherThan: readonly string[] = []): Promise<AccountBalances[]> {
    const accounts = addresses.flatMap((owner) =>
      this.settings.tokens.map((token) => ({ account: associatedTokenAccount(owner, token.address), owner, token })),
    );
    return this.#providers.on(async (provider) => {
      const units: bigint[] = [];
      for (let from = 0; from < accounts.length; from += ACCOUNTS_A_CALL)
        units.push(...(await readBalances(provider, accounts.slice(from, from + ACCOUNTS_A_CALL), 'finalized')).units);
      const lamports = await finalLamports(provider, addresses);
      const held = new Map(addresses.map((owner): [string, Partial<Record<Coin, bigint>>] => [owner, {}]));
      accounts.forEach(
        ({ owner, token }, index) =>
          (must(held.get(owner))[token.coin] = fromTokenUnits(must(units[index]), token.decimals)),
      );
      return addresses.map((owner, index) => ({
        coins: must(held.get(owner)),
        native: must(lamports[index]) * LAMPORT,
      }));
    }, preferOtherThan);
  }

  async check(order: OutgoingTransaction, reserved: Reserved): Promise<PreCheck> {
    if (isNative(order)) return this.#checkNative(order);
    const token = tokenToMove(this.settings, order);
    const { fromAddress } = order;
    const feePayer = treasuryOf(order);
    return askBeforeEnding(this.#providers, async (provider): Promise<PreCheck> => {
      const payee = await payeeAccount(provider, order, token);
      if (payee.isFrozen) return { kind: 'fail', reason: 'recipient_frozen' };
      const ownAccount = associatedTokenAccount(fromAddress, token.address);
      const own = await tokenAccount(provider, ownAccount, fromAddress, token);
      if (own?.isFrozen) return { kind: 'fail', reason: 'sender_frozen' };
      const taken = order.kind === 'sweep' ? await sweptAccounts(provider, order, token) : null;
      const units = taken?.reduce((sum, account) => sum + account.units, 0n) ?? own?.units ?? 0n;
      const balance = fromTokenUnits(units, token.decimals);
      const lack = lackOfFunds(order, balance, reserved);
      if (lack) return lack;
      const rent = payee.exists ? 0n : await rentOf(provider, TOKEN_ACCOUNT_BYTES);
      const held = await lamportsAt(provider, feePayer);
      const least = await rentOf(provider, 0);
      const gas = (rent + FEE_LAMPORTS) * BigInt(reserved.payouts + 1) + least;
      if (held >= gas) return { kind: 'ready' };
      const detail = `the treasury ${feePayer} holds ${formatAmount(held * LAMPORT)} SOL for fees and rent and needs ${formatAmount(gas * LAMPORT)}, of which the network keeps ${formatAmount(least * LAMPORT)} in every account`;
      return { kind: 'wait', reason: 'insufficient_gas', detail };
    });
  }

  /** Solana accounts have no sequence numbers. */
  nextNonce(): Promise<null> {
    return Promise.resolve(null);
  }

  draft(order: OutgoingTransaction, _: number | null, used: UsedNonces): Promise<TransactionDraft | null> {
    const token = isNative(order) ? null : tokenToMove(this.settings, order);
    return this.#providers.on(async (provider): Promise<TransactionDraft | null> => {
      if (order.kind === 'nonce_account') {
        return {
          kind: 'solana-nonce-account',
          nonceIndex: must(order.derivationIndex),
          lamports: String(amountOf(order.amount) / LAMPORT),
          blockhash: await latestBlockhash(provider, 'confirmed'),
          // Without one, a busy network takes none of the few attempts that a day may have.
          computeUnitPrice: String(await this.#price(provider, lockedBy(order, null))),
        };
      }
      const free = await freeNonce(provider, treasuryOf(order), used);
      if (free === null) return null;
      const { address: tokenAddress, decimals } = token ?? { address: null, decimals: NATIVE_DECIMALS.solana };
      const payee = token && paysBack(order) ? await payeeAccount(provider, order, token) : null;
      const tokenUnits = toTokenUnits(amountOf(order.amount), decimals).toString();
      const taken = token && order.kind === 'sweep' ? await sweptAccounts(provider, order, token) : null;
      const locked = lockedBy(order, token, payee?.account);
      const computeUnitPrice = String(await this.#price(provider, locked));
      const named = {
        ...(payee?.exists && { toAccount: payee.account }),
        ...(taken && { fromAccounts: taken.map(({ account, units }) => ({ account, units: units.toString() })) }),
      };
      return { kind: 'solana', tokenAddress, tokenUnits, decimals, ...named, ...free, computeUnitPrice };
    });
  }

  async sweepFee(order: OutgoingTransaction): Promise<bigint> {
    const locked = lockedBy(order, tokenToMove(this.settings, order));
    const fee = feeOf(await this.#providers.on((provider) => this.#price(provider, locked)));
    // The treasury pays for both signatures.
    return fee + SIGNATURE_LAMPORTS * LAMPORT;
  }

  async returnFee(order: OutgoingTransaction): Promise<bigint> {
    const locked = lockedBy(order, null);
    return feeOf(await this.#providers.on((provider) => this.#price(provider, locked))) * RETURN_FEE_MARGIN;
  }

  missingAccount(treasury: string, used: UsedNonces): Promise<MissingAccount | null> {
    return this.#providers.on((provider) => missingNonceAccount(provider, treasury, used));
  }

  /**
   * The same transaction with the same nonce at twice the price, or at the network's current price if that is higher.
   */
  async bump(draft: TransactionDraft, order?: OutgoingTransaction): Promise<TransactionDraft | null> {
    if (draft.kind !== 'solana' || Number(draft.computeUnitPrice) >= this.#maxPrice) return null;
    const token = order && !isNative(order) ? tokenToMove(this.settings, order) : null;
    const locked = order ? lockedBy(order, token, draft.toAccount) : [];
    const price = await this.#providers.on((provider) => this.#price(provider, locked));
    return {
      ...draft,
      computeUnitPrice: String(Math.min(this.#maxPrice, Math.max(2 * Number(draft.computeUnitPrice), price))),
    };
  }

  async broadcast({ signedBytes }: SentTransaction): Promise<readonly BroadcastAnswer[]> {
    crashPoint('before-broadcast');
    // A node may have forwarded the bytes whatever it answers.
    const said = await this.#providers.broadcast((provider) =>
      ask(provider, z.unknown(), 'sendTransaction', [
        signedBytes,
        { encoding: 'base64', skipPreflight: true, maxRetries: 0 },
      ]),
    );
    crashPoint('after-broadcast');
    return said;
  }

  async fate(order: OutgoingTransaction, sent: readonly SentTransaction[]): Promise<Fate> {
    const units = amountOf(order.amount);
    const token = isNative(order) ? null : tokenToMove(this.settings, order);
    const { fromAddress: from, toAddress: to } = order;
    const expected = token ? { token, from, to, units: toTokenUnits(units, token.decimals) } : { native: units };
    return agreedFate(
      await this.#providers.ask((provider) => fateAt(provider, { sent, treasury: treasuryOf(order), expected })),
    );
  }

  async holds(funding: readonly Funding[]): Promise<boolean> {
    return (await this.#providers.ask((provider) => areHeldAt(provider, funding))).every(Boolean);
  }

  /**
   * Only what is finalised counts as landed, and the chain never reverts that. A node that forgot it proves nothing.
   */
  async hasVanished(): Promise<LandedCheck> {
    const [headNumber] = await this.#providers.ask((provider) => slotOf(provider, 'finalized'));
    return { vanished: false, withheld: false, final: true, headNumber: must(headNumber) };
  }

  finalBlock(): Promise<number> {
    return this.#providers.lowest((provider) => slotOf(provider, 'finalized'));
  }

  outflows(address: string, fromBlock: number, strangersAmong: StrangersAmong): Promise<readonly SeenOutflow[]> {
    return this.#providers.on((provider) =>
      solanaOutflows(provider, this.settings, address, fromBlock, strangersAmong),
    );
  }

  newestBlock(): Promise<number> {
    return this.#providers.highest((provider) => slotOf(provider, 'confirmed'));
  }

  inflows(address: string, sought: SoughtInflows, strangersAmong: StrangersAmong): Promise<readonly SeenInflow[]> {
    return this.#providers.on((provider) => solanaInflows(provider, this.settings, address, sought, strangersAmong));
  }

  close(): Promise<void> {
    return this.#providers.close();
  }

  /** Who pays fees keeps the least that an account holds, or the network refuses the transaction. */
  #checkNative(order: OutgoingTransaction): Promise<PreCheck> {
    const { kind, amount, fromAddress, toAddress } = order;
    return askBeforeEnding(this.#providers, async (provider): Promise<PreCheck> => {
      const least = (await rentOf(provider, 0)) * LAMPORT;
      if (kind === 'native_return' && (await lamportsAt(provider, toAddress)) * LAMPORT + amountOf(amount) < least)
        throw new TransferImpossible(
          'amount_not_payable',
          `an account on Solana holds ${formatAmount(least)} SOL at least, and ${toAddress} would hold less`,
        );
      const held = (await lamportsAt(provider, fromAddress)) * LAMPORT;
      const fee = feeOf(await this.#price(provider, [fromAddress, toAddress]));
      const need = amountOf(amount) + fee + least;
      if (held >= need) return { kind: 'ready' };
      const detail = `the treasury ${fromAddress} holds ${formatAmount(held)} SOL and needs ${formatAmount(need)} to send ${amount}: the fee is up to ${formatAmount(fee)}, and the network keeps ${formatAmount(least)} in every account`;
      return { kind: 'wait', reason: 'insufficient_gas', detail };
    });
  }

  /**
   * The price that three of four transactions stayed below that locked these accounts for writing. Nodes know no other
   * accounts: for a mint, which transfers only read, they answer 0.
   */
  async #price(provider: RpcProvider, locked: readonly string[]): Promise<number> {
    const fees = await ask(provider, recentFees, 'getRecentPrioritizationFees', [locked]).catch((error: unknown) => {
      if (error instanceof ProviderFault && error.kind === 'incapable') return [];
      throw error;
    });
    const sorted = fees.map(({ prioritizationFee }) => prioritizationFee).sort((one, other) => one - other);
    return Math.min(this.#maxPrice, Math.max(MIN_PRICE, sorted[Math.floor(sorted.length * 0.75)] ?? 0));
  }
}

/** Of a transaction with one signature, in 10^-18 units. */
const feeOf = (price: number): bigint =>
  mostNative({
    ...{ kind: 'solana', tokenAddress: null, tokenUnits: '0', decimals: NATIVE_DECIMALS.solana },
    ...{ nonceIndex: 0, nonce: '', computeUnitPrice: String(price) },
  });

/** Accounts that a transfer writes to. */
function lockedBy({ fromAddress, toAddress }: OutgoingTransaction, token: Token | null, toAccount?: string): string[] {
  if (token === null) return [fromAddress, toAddress];
  const [from, to] = [fromAddress, toAddress].map((owner) => associatedTokenAccount(owner, token.address));
  return [must(from), toAccount ?? must(to)];
}

const lamportsAt = async (provider: RpcProvider, address: string): Promise<bigint> =>
  BigInt((await ask(provider, lamports, 'getBalance', [address, { commitment: 'confirmed' }])).value);
