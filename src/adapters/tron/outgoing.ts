import type { TransactionDraft } from '../../domain/events/transaction-draft.ts';
import { amountOf, formatAmount, fromTokenUnits, toTokenUnits, type Coin } from '../../domain/money/money.ts';
import { mostNative } from '../../domain/networks/native-cost.ts';
import { NATIVE_DECIMALS, type NetworkSettings, type Token } from '../../domain/networks/networks.ts';
import { OUTCOMES } from '../../domain/networks/outcomes.ts';
import {
  isNative,
  lackOfFunds,
  tokenToMove,
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
  OutgoingChain,
  SeenInflow,
  SeenOutflow,
  SoughtInflows,
  StrangersAmong,
} from '../../ports/outgoing/chain.ts';
import { mustReach, type RpcPool, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { crashPoint } from '../../runtime/util/crash-point.ts';
import { AdmittedProviders } from '../rpc/admitted-providers.ts';
import { askBeforeEnding } from '../rpc/ask-before-ending.ts';
import { broadcastAt } from './broadcast.ts';
import { agreedFate } from '../rpc/agreed-fate.ts';
import { tronInflows } from './inflows.ts';
import { tronOutflows } from './outflows.ts';
import { fateAt, SUN } from './outgoing-fate.ts';
import { verifyTronProvider } from './provider-check.ts';
import { newestBlock, transactionInfo, type TronView } from './rpc.ts';
import { costOfTransfer, isFrozen, isPaused, sunOf, unitsOf } from './token-calls.ts';
import { must } from '../../domain/values/must.ts';

export interface TronOutgoingOptions {
  readonly settings: NetworkSettings;
  readonly pool: RpcPool;
  /**
   * How long a transaction may land: longer than a slow network needs, short enough that a lost one is soon replaced.
   */
  readonly lifetimeMs: number;
}

/** Accounts queried concurrently. */
const AT_A_TIME = 4;
/** Bandwidth of a token transfer, paid in TRX when the free allowance is used up. */
const BANDWIDTH_SUN = 500_000;
/** Energy varies between calls; what is left over serves the next sweep. */
const SWEEP_MARGIN_PERCENT = 130;
/** Creating an account, with bandwidth, for a sender without staked resources. */
const ACTIVATION_SUN = 1_100_000;
/** A native transfer burns only bandwidth. */
const TRANSFER_SUN = 300_000;

/**
 * Outgoing transactions on TRON over the `/wallet` API. A transaction has no nonce; only its expiration ends it, and
 * only what is solidified counts.
 */
export class TronOutgoing implements OutgoingChain {
  readonly settings: NetworkSettings;
  readonly bumpAfterMs = Number.POSITIVE_INFINITY;
  readonly #providers: AdmittedProviders;
  readonly #lifetimeMs: number;

  constructor({ settings, pool, lifetimeMs }: TronOutgoingOptions) {
    this.settings = settings;
    this.#lifetimeMs = lifetimeMs;
    this.#providers = new AdmittedProviders(settings.network, pool, (provider) =>
      verifyTronProvider(provider, settings),
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
      await mustReach(atLeast, async () => (await newestBlock(provider, 'wallet')).number);
      return this.#held(provider, address, 'wallet');
    }, preferOtherThan);
    return { ...value, provider: shownBy };
  }

  /** TRON serves one account per call. */
  async finalBalances(
    addresses: readonly string[],
    preferOtherThan: readonly string[] = [],
  ): Promise<AccountBalances[]> {
    const held: AccountBalances[] = [];
    for (let from = 0; from < addresses.length; from += AT_A_TIME) {
      const part = addresses.slice(from, from + AT_A_TIME);
      held.push(
        ...(await Promise.all(
          part.map((address) =>
            this.#providers.on((provider) => this.#held(provider, address, 'walletsolidity'), preferOtherThan),
          ),
        )),
      );
    }
    return held;
  }

  async check(order: OutgoingTransaction, reserved: Reserved): Promise<PreCheck> {
    if (isNative(order)) return this.#checkNative(order, reserved);
    const token = tokenToMove(this.settings, order);
    const { fromAddress, toAddress } = order;
    return askBeforeEnding(this.#providers, async (provider): Promise<PreCheck> => {
      if (await isPaused(provider, token)) return { kind: 'fail', reason: 'token_paused' };
      if (await isFrozen(provider, token, toAddress)) return { kind: 'fail', reason: 'recipient_frozen' };
      if (await isFrozen(provider, token, fromAddress)) return { kind: 'fail', reason: 'sender_frozen' };
      const balance = fromTokenUnits(await unitsOf(provider, token, fromAddress), token.decimals);
      const lack = lackOfFunds(order, balance, reserved);
      if (lack) return lack;
      const held = await sunOf(provider, fromAddress);
      const { burnt, mostBurnt, feeLimit, isTooDear } = await costOf(provider, token, order);
      if (isTooDear)
        return {
          kind: 'wait',
          reason: 'network_fee_too_high',
          detail: `the transfer may burn more than the limit of ${formatAmount(BigInt(feeLimit) * SUN)} TRX`,
        };
      const isSweep = order.kind === 'sweep';
      const gas = (burnt + BANDWIDTH_SUN) * reserved.payouts + (isSweep ? burnt : mostBurnt) + BANDWIDTH_SUN;
      if (held >= gas) return { kind: 'ready' };
      if (!isSweep)
        return {
          kind: 'wait',
          reason: 'insufficient_gas',
          detail: `the treasury ${fromAddress} holds ${formatAmount(BigInt(held) * SUN)} TRX for network fees and needs ${formatAmount(BigInt(gas) * SUN)}`,
        };
      const needed = Math.ceil((burnt * SWEEP_MARGIN_PERCENT) / 100) + BANDWIDTH_SUN;
      return { kind: 'needs_gas', amount: BigInt(needed - held) * SUN };
    });
  }

  /** TRON accounts have no sequence numbers; only the expiration distinguishes two transactions for the same order. */
  nextNonce(): Promise<null> {
    return Promise.resolve(null);
  }

  draft(order: OutgoingTransaction): Promise<TransactionDraft> {
    const token = isNative(order) ? null : tokenToMove(this.settings, order);
    return askBeforeEnding(this.#providers, async (provider): Promise<TransactionDraft> => {
      if (!token) {
        const sun = toTokenUnits(amountOf(order.amount), NATIVE_DECIMALS.tron).toString();
        return { kind: 'tron-native', sun, ...(await this.#validity(provider)) };
      }
      const { feeLimit } = await costOf(provider, token, order);
      const tokenUnits = toTokenUnits(amountOf(order.amount), token.decimals).toString();
      return { kind: 'tron', tokenAddress: token.address, tokenUnits, ...(await this.#validity(provider)), feeLimit };
    });
  }

  sweepFee(order: OutgoingTransaction): Promise<bigint> {
    const token = tokenToMove(this.settings, order);
    return this.#providers.on(async (provider) => {
      const { burnt } = await costOf(provider, token, order);
      const isToppedUp = (await sunOf(provider, order.fromAddress)) < burnt + BANDWIDTH_SUN;
      return BigInt(burnt + BANDWIDTH_SUN * (isToppedUp ? 2 : 1)) * SUN;
    });
  }

  async returnFee(order: OutgoingTransaction): Promise<bigint> {
    return mostNative(await this.draft(order)) - amountOf(order.amount);
  }

  bump(): Promise<null> {
    return Promise.resolve(null);
  }

  async broadcast({ signedBytes }: SentTransaction): Promise<readonly BroadcastAnswer[]> {
    crashPoint('before-broadcast');
    const transaction: unknown = JSON.parse(signedBytes);
    const said = await this.#providers.broadcast((provider) => broadcastAt(provider, transaction));
    crashPoint('after-broadcast');
    return said;
  }

  async fate(order: OutgoingTransaction, sent: readonly SentTransaction[]): Promise<Fate> {
    const token = isNative(order) ? null : tokenToMove(this.settings, order);
    const expected = token && {
      token,
      from: order.fromAddress,
      to: order.toAddress,
      units: toTokenUnits(amountOf(order.amount), token.decimals),
    };
    return agreedFate(
      await this.#providers.ask((provider) => fateAt(provider, { sent, expected, lifetimeMs: this.#lifetimeMs })),
    );
  }

  async holds(funding: readonly Funding[]): Promise<boolean> {
    const txHashes = funding.map(({ txHash }) => txHash);
    const seen = await this.#providers.ask(async (provider) => {
      for (const txHash of txHashes) {
        const info = await transactionInfo(provider, 'walletsolidity', txHash);
        // A call of a contract names its result; a transfer of TRX, which has no logs, names none.
        const kind = info?.log?.length ? 'tron' : 'tron-native';
        if (info === null || OUTCOMES[kind](info) !== 'moved') return false;
      }
      return true;
    });
    return seen.every(Boolean);
  }

  /**
   * Only what is solidified counts as landed, and the chain never reverts that. A node that forgot it proves nothing.
   */
  async hasVanished(): Promise<LandedCheck> {
    const [head] = await this.#providers.ask((provider) => newestBlock(provider, 'walletsolidity'));
    return { vanished: false, withheld: false, final: true, headNumber: must(head).number };
  }

  finalBlock(): Promise<number> {
    return this.#providers.lowest(async (provider) => (await newestBlock(provider, 'walletsolidity')).number);
  }

  outflows(address: string, fromBlock: number, strangersAmong: StrangersAmong): Promise<readonly SeenOutflow[]> {
    return tronOutflows((task) => this.#providers.on(task), this.settings, address, fromBlock, strangersAmong);
  }

  newestBlock(): Promise<number> {
    return this.#providers.highest(async (provider) => (await newestBlock(provider, 'wallet')).number);
  }

  inflows(address: string, sought: SoughtInflows, strangersAmong: StrangersAmong): Promise<readonly SeenInflow[]> {
    return tronInflows((task) => this.#providers.on(task), this.settings, address, sought, strangersAmong);
  }

  close(): Promise<void> {
    return this.#providers.close();
  }

  /** Contract calls always use the newest block. */
  async #held(provider: RpcProvider, address: string, view: TronView): Promise<AccountBalances> {
    const coins: Partial<Record<Coin, bigint>> = {};
    for (const token of this.settings.tokens) {
      coins[token.coin] = fromTokenUnits(await unitsOf(provider, token, address), token.decimals);
    }
    return { coins, native: BigInt(await sunOf(provider, address, view)) * SUN };
  }

  #checkNative({ amount, fromAddress }: OutgoingTransaction, reserved: Reserved): Promise<PreCheck> {
    return this.#providers.on(async (provider): Promise<PreCheck> => {
      const needed = amountOf(amount) + BigInt(ACTIVATION_SUN + TRANSFER_SUN * (reserved.payouts + 1)) * SUN;
      const held = BigInt(await sunOf(provider, fromAddress)) * SUN;
      if (held >= needed) return { kind: 'ready' };
      const detail = `the treasury ${fromAddress} holds ${formatAmount(held)} TRX and needs ${formatAmount(needed)} to send ${amount}`;
      return { kind: 'wait', reason: 'insufficient_gas', detail };
    });
  }

  /** The block that a transaction refers to, and the time until which it may land. */
  async #validity(provider: RpcProvider) {
    // A solidified reference cannot be reorganised away, which would invalidate the transaction early.
    const reference = await newestBlock(provider, 'walletsolidity');
    const head = await newestBlock(provider, 'wallet');
    return {
      refBlockBytes: reference.hash.slice(12, 16).toLowerCase(),
      refBlockHash: reference.hash.slice(16, 32).toLowerCase(),
      timestampMs: Date.now(),
      expirationMs: head.timeSec * 1000 + this.#lifetimeMs,
    };
  }
}

const costOf = (
  provider: RpcProvider,
  token: Token,
  { amount, fromAddress: from, toAddress: to }: OutgoingTransaction,
) => costOfTransfer(provider, token, { from, to, units: toTokenUnits(amountOf(amount), token.decimals) });
