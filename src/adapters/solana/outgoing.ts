import { z } from 'zod';
import type { TransactionDraft } from '../../domain/events/transaction-draft.ts';
import type { UsedNonces } from '../../domain/events/treasury-events.ts';
import { amountOf, formatAmount, fromTokenUnits, toTokenUnits, type Coin } from '../../domain/money/money.ts';
import { mostNative } from '../../domain/networks/native-cost.ts';
import { NATIVE_DECIMALS, type NetworkSettings } from '../../domain/networks/networks.ts';
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
} from '../../ports/outgoing/transaction.ts';
import type {
  AccountBalances,
  ShownBalances,
  MissingAccount,
  OutgoingChain,
  SeenInflow,
  SeenOutflow,
  SoughtInflows,
  StrangersAmong,
} from '../../ports/outgoing/chain.ts';
import { mustReach, type RpcPool, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { crashPoint } from '../../runtime/util/crash-point.ts';
import { associatedTokenAccount } from '../../chain-formats/spl-token.ts';
import { AdmittedProviders } from '../rpc/admitted-providers.ts';
import { askBeforeEnding } from '../rpc/ask-before-ending.ts';
import { agreedFate } from '../rpc/agreed-fate.ts';
import { freeNonce, missingNonceAccount } from './nonces.ts';
import { solanaInflows, solanaOutflows } from './outflows.ts';
import { fateAt, LAMPORT } from './outgoing-fate.ts';
import { verifySolanaProvider } from './provider-check.ts';
import { tokenAmount } from './token-balances.ts';
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
/** Fee of one transaction without a priority fee. */
const MAKING_FEE_LAMPORTS = 5_000n;
/** Margin for a price that rises while two people approve. */
const RETURN_FEE_MARGIN = 2n;
const TOKEN_ACCOUNT_BYTES = 165;
/** Micro-lamports per compute unit. */
const MIN_PRICE = 1_000;

const tokenInfo = z.object({ state: z.string().nullish(), tokenAmount: tokenAmount.nullish() });
/** Nodes answer a list of texts for an account that they cannot parse, such as one that only holds SOL. */
const parsedData = z.object({ parsed: z.object({ info: tokenInfo.optional() }).optional() });
const parsedAccount = z.object({
  value: z.object({ data: z.union([z.array(z.string()).transform(() => null), parsedData]) }).nullable(),
});
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
        const account = await tokenAccount(provider, associatedTokenAccount(address, token.address));
        coins[token.coin] = fromTokenUnits(account?.units ?? 0n, token.decimals);
      }
      return { coins, native: (await lamportsAt(provider, address)) * LAMPORT };
    }, preferOtherThan);
    return { ...value, provider: shownBy };
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
    const { fromAddress, toAddress } = order;
    const feePayer = treasuryOf(order);
    return askBeforeEnding(this.#providers, async (provider): Promise<PreCheck> => {
      const payee = await tokenAccount(provider, associatedTokenAccount(toAddress, token.address));
      if (payee?.state === 'frozen') return { kind: 'fail', reason: 'recipient_frozen' };
      const own = await tokenAccount(provider, associatedTokenAccount(fromAddress, token.address));
      if (own?.state === 'frozen') return { kind: 'fail', reason: 'sender_frozen' };
      const balance = fromTokenUnits(own?.units ?? 0n, token.decimals);
      const lack = lackOfFunds(order, balance, reserved);
      if (lack) return lack;
      const rent = await rentOf(provider, TOKEN_ACCOUNT_BYTES);
      const held = await lamportsAt(provider, feePayer);
      const gas = (rent + FEE_LAMPORTS) * BigInt(reserved.payouts + 1);
      if (held >= gas) return { kind: 'ready' };
      const detail = `the treasury ${feePayer} holds ${formatAmount(held * LAMPORT)} SOL for fees and rent and needs ${formatAmount(gas * LAMPORT)}`;
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
          blockhash: await latestBlockhash(provider),
          // Without one, a busy network takes none of the few attempts that a day may have.
          computeUnitPrice: String(await this.#price(provider, null)),
        };
      }
      const free = await freeNonce(provider, treasuryOf(order), used);
      if (free === null) return null;
      const { address: tokenAddress, decimals } = token ?? { address: null, decimals: NATIVE_DECIMALS.solana };
      const tokenUnits = toTokenUnits(amountOf(order.amount), decimals).toString();
      const computeUnitPrice = String(await this.#price(provider, tokenAddress));
      return { kind: 'solana', tokenAddress, tokenUnits, decimals, ...free, computeUnitPrice };
    });
  }

  async sweepFee(order: OutgoingTransaction): Promise<bigint> {
    const { address: tokenAddress, decimals } = tokenToMove(this.settings, order);
    const computeUnitPrice = String(await this.#providers.on((provider) => this.#price(provider, tokenAddress)));
    const transfer = { kind: 'solana', tokenAddress, tokenUnits: '0', decimals, computeUnitPrice } as const;
    // The treasury pays for both signatures.
    return mostNative({ ...transfer, nonceIndex: 0, nonce: '' }) + MAKING_FEE_LAMPORTS * LAMPORT;
  }

  async returnFee(): Promise<bigint> {
    const computeUnitPrice = String(await this.#providers.on((provider) => this.#price(provider, null)));
    const transfer = {
      kind: 'solana',
      tokenAddress: null,
      tokenUnits: '0',
      decimals: NATIVE_DECIMALS.solana,
      computeUnitPrice,
    } as const;
    return mostNative({ ...transfer, nonceIndex: 0, nonce: '' }) * RETURN_FEE_MARGIN;
  }

  missingAccount(treasury: string, used: UsedNonces): Promise<MissingAccount | null> {
    return this.#providers.on((provider) => missingNonceAccount(provider, treasury, used));
  }

  /**
   * The same transaction with the same nonce at twice the price, or at the network's current price if that is higher.
   */
  async bump(draft: TransactionDraft): Promise<TransactionDraft | null> {
    if (draft.kind !== 'solana' || Number(draft.computeUnitPrice) >= this.#maxPrice) return null;
    const price = await this.#providers.on((provider) => this.#price(provider, draft.tokenAddress));
    return {
      ...draft,
      computeUnitPrice: String(Math.min(this.#maxPrice, Math.max(2 * Number(draft.computeUnitPrice), price))),
    };
  }

  async broadcast({ signedBytes }: SentTransaction): Promise<void> {
    crashPoint('before-broadcast');
    // A node may have forwarded the bytes whatever it answers.
    await this.#providers.tellAll((provider) =>
      ask(provider, z.unknown(), 'sendTransaction', [
        signedBytes,
        { encoding: 'base64', skipPreflight: true, maxRetries: 0 },
      ]),
    );
    crashPoint('after-broadcast');
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

  #checkNative({ kind, amount, fromAddress, toAddress }: OutgoingTransaction): Promise<PreCheck> {
    return askBeforeEnding(this.#providers, async (provider): Promise<PreCheck> => {
      const held = (await lamportsAt(provider, fromAddress)) * LAMPORT;
      const need = amountOf(amount) + (kind === 'native_return' ? FEE_LAMPORTS : MAKING_FEE_LAMPORTS) * LAMPORT;
      const least = kind === 'native_return' ? await rentOf(provider, 0) : 0n;
      if ((await lamportsAt(provider, toAddress)) + amountOf(amount) / LAMPORT < least)
        throw new TransferImpossible(
          'amount_not_payable',
          `an account on Solana holds ${formatAmount(least * LAMPORT)} SOL at least, and ${toAddress} would hold less`,
        );
      if (held >= need) return { kind: 'ready' };
      const detail = `the treasury ${fromAddress} holds ${formatAmount(held)} SOL and needs ${formatAmount(need)} to send ${amount}`;
      return { kind: 'wait', reason: 'insufficient_gas', detail };
    });
  }

  /** The price that three of four transactions of the token stayed below; of all transactions for SOL. */
  async #price(provider: RpcProvider, tokenAddress: string | null): Promise<number> {
    const asked = [tokenAddress === null ? [] : [tokenAddress]];
    const fees = await ask(provider, recentFees, 'getRecentPrioritizationFees', asked).catch(() => []);
    const sorted = fees.map(({ prioritizationFee }) => prioritizationFee).sort((one, other) => one - other);
    return Math.min(this.#maxPrice, Math.max(MIN_PRICE, sorted[Math.floor(sorted.length * 0.75)] ?? 0));
  }
}

async function tokenAccount(provider: RpcProvider, account: string): Promise<{ state: string; units: bigint } | null> {
  const options = { encoding: 'jsonParsed', commitment: 'confirmed' };
  const { value } = await ask(provider, parsedAccount, 'getAccountInfo', [account, options]);
  const info = value?.data?.parsed?.info;
  return info ? { state: info.state ?? '', units: BigInt(info.tokenAmount?.amount ?? '0') } : null;
}

const lamportsAt = async (provider: RpcProvider, address: string): Promise<bigint> =>
  BigInt((await ask(provider, lamports, 'getBalance', [address, { commitment: 'confirmed' }])).value);
