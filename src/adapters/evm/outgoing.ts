import { getAddress } from 'ethers';
import type { TransactionDraft } from '../../domain/events/transaction-draft.ts';
import {
  amountOf,
  formatAmount,
  fromTokenUnits,
  least,
  most,
  toTokenUnits,
  type Coin,
} from '../../domain/money/money.ts';
import { mostNative } from '../../domain/networks/native-cost.ts';
import type { NetworkSettings, Token } from '../../domain/networks/networks.ts';
import {
  isNative,
  lackOfFunds,
  tokenToMove,
  type Fate,
  type LandedCheck,
  type LandedTransaction,
  type OutgoingTransaction,
  type PreCheck,
  type Reserved,
  type SentTransaction,
  type Funding,
} from '../../ports/outgoing/transaction.ts';
import type {
  AccountBalances,
  BroadcastAnswer,
  ShownBalances,
  OutgoingChain,
  SeenInflow,
  SeenOutflow,
  SoughtInflows,
  StrangersAmong,
} from '../../ports/outgoing/chain.ts';
import { mustReach, ProviderFault, type RpcPool, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { crashPoint } from '../../runtime/util/crash-point.ts';
import { AdmittedProviders } from '../rpc/admitted-providers.ts';
import { askBeforeEnding } from '../rpc/ask-before-ending.ts';
import { agreedFate } from '../rpc/agreed-fate.ts';
import { evmNativeUnits, evmTokenUnits } from './balances.ts';
import { areHeldAt, fateAt, vanishedAt } from './outgoing-fate.ts';
import { feesNow, GAS_FLOOR, gasLimitOf, nativeGasOf, textOf, type Fees, type TipLimits } from './gas.ts';
import { evmInflows } from './inflows.ts';
import { evmOutflows } from './outflows.ts';
import { verifyProvider } from './provider-check.ts';
import { fromQuantity, mustReadHeader, newestNumber, wideQuantity } from './rpc.ts';
import { balanceOf, gasOfTransfer, isFrozen, isPaused, NATIVE_GAS } from './token-calls.ts';
import { must } from '../../domain/values/must.ts';

export interface EvmOutgoingOptions extends TipLimits {
  readonly settings: NetworkSettings;
  readonly pool: RpcPool;
  /** Number of blocks, including its own, after which a transaction is complete; null: the chain's own finality. */
  readonly depth: number | null;
  /** Maximum fee in wei per gas. Above it, transactions wait. */
  readonly maxFeePerGas: bigint;
  readonly bumpAfterMs: number;
}

const HUNDRED = 100n;
/** A top-up must suffice until the sweep is in a block, even if fees rise. */
const TOP_UP_MARGIN = 150n;
/** Fees may double while a return waits for two people. */
const RETURN_FEE_MARGIN = 2n;
/** Nodes replace a pending transaction only if both fees rise by at least 10 % (geth, PriceBump). */
const BUMP_PERCENT = 125n;

/** Outgoing transactions on EVM chains over JSON-RPC. */
export class EvmOutgoing implements OutgoingChain {
  readonly settings: NetworkSettings;
  readonly bumpAfterMs: number;
  readonly #options: EvmOutgoingOptions;
  readonly #providers: AdmittedProviders;

  constructor(options: EvmOutgoingOptions) {
    const { settings, pool, bumpAfterMs } = options;
    this.#options = options;
    this.settings = settings;
    this.bumpAfterMs = bumpAfterMs;
    this.#providers = new AdmittedProviders(settings.network, pool, (provider) => verifyProvider(provider, settings));
  }

  get network(): OutgoingChain['network'] {
    return this.settings.network;
  }

  get mode(): OutgoingChain['mode'] {
    return this.settings.mode;
  }

  async balances(address: string, atLeast = 0, preferOtherThan: readonly string[] = []): Promise<ShownBalances> {
    const { value, provider: shownBy } = await this.#providers.run(async (provider) => {
      await mustReach(atLeast, () => newestNumber(provider));
      const coins: Partial<Record<Coin, bigint>> = {};
      for (const token of this.settings.tokens) {
        coins[token.coin] = fromTokenUnits(await balanceOf(provider, token, address), token.decimals);
      }
      return { coins, native: await nativeOf(provider, address) };
    }, preferOtherThan);
    return { ...value, provider: shownBy };
  }

  finalBalances(addresses: readonly string[], preferOtherThan: readonly string[] = []): Promise<AccountBalances[]> {
    return this.#providers.on(async (provider) => {
      const native = await evmNativeUnits(provider, addresses);
      const held = native.map((wei): { coins: Partial<Record<Coin, bigint>>; native: bigint } => ({
        coins: {},
        native: wei,
      }));
      for (const token of this.settings.tokens) {
        const units = await evmTokenUnits(provider, token, addresses);
        held.forEach(({ coins }, index) => (coins[token.coin] = fromTokenUnits(must(units[index]), token.decimals)));
      }
      return held;
    }, preferOtherThan);
  }

  async check(order: OutgoingTransaction, reserved: Reserved): Promise<PreCheck> {
    const token = isNative(order) ? null : tokenToMove(this.settings, order);
    return askBeforeEnding(this.#providers, async (provider): Promise<PreCheck> => {
      const fault = token && (await this.#tokenFault(provider, token, order, reserved));
      if (fault) return fault;
      const fees = await feesNow(provider, this.#options);
      const limit = this.#options.maxFeePerGas;
      if (fees.maxFeePerGas > limit)
        return {
          kind: 'wait',
          reason: 'network_fee_too_high',
          detail: `gas costs ${fees.maxFeePerGas} wei, above the limit of ${limit}`,
        };
      const held = await nativeOf(provider, order.fromAddress);
      const gas =
        (token ? GAS_FLOOR : await nativeGasOf(provider, order)) * fees.maxFeePerGas * BigInt(reserved.payouts + 1);
      const need = token ? gas : gas + amountOf(order.amount);
      if (held >= need) return { kind: 'ready' };
      if (order.kind === 'sweep') return this.#sweepGas(provider, must(token), order, { fees, held });
      const what = token ? 'for network fees' : `and must send ${order.amount}`;
      const detail = `the treasury ${order.fromAddress} holds ${formatAmount(held)} ${what} on ${this.network} and needs ${formatAmount(need)}`;
      return { kind: 'wait', reason: 'insufficient_gas', detail };
    });
  }

  async nextNonce(address: string): Promise<number> {
    const counts = await this.#providers.ask(async (provider) =>
      fromQuantity(await provider.call('eth_getTransactionCount', [address, 'latest']), 'transaction count'),
    );
    // Uses the highest count, so that a lagging node cannot make a used nonce look free.
    return Math.max(...counts);
  }

  draft(order: OutgoingTransaction, nonce: number | null): Promise<TransactionDraft> {
    const token = isNative(order) ? null : tokenToMove(this.settings, order);
    return askBeforeEnding(this.#providers, async (provider): Promise<TransactionDraft> => {
      const fees = await feesNow(provider, this.#options);
      const shared = { chainId: this.settings.chainId, nonce: nonce ?? 0 };
      if (!token) {
        const gasLimit = String(await nativeGasOf(provider, order));
        return { kind: 'evm-native', ...shared, value: amountOf(order.amount).toString(), gasLimit, ...textOf(fees) };
      }
      const gasLimit = await gasLimitOf(provider, token, order);
      const tokenUnits = toTokenUnits(amountOf(order.amount), token.decimals).toString();
      // A sweep can spend only the gas it was given, which limits its fee.
      const affordable =
        order.kind === 'sweep' ? (await nativeOf(provider, order.fromAddress)) / gasLimit : fees.maxFeePerGas;
      // With a node that does not see that gas yet, the address would sign a transaction that no node accepts, and wait
      // for it forever.
      if (affordable < fees.least && order.kind === 'sweep')
        throw new ProviderFault('inconsistent', `does not show the gas that ${order.fromAddress} was given`);
      const maxFeePerGas = least(affordable, fees.maxFeePerGas);
      const capped = textOf({ maxFeePerGas, tip: least(fees.tip, maxFeePerGas) });
      return {
        kind: 'evm',
        ...shared,
        tokenAddress: getAddress(token.address),
        tokenUnits,
        gasLimit: String(gasLimit),
        ...capped,
      };
    });
  }

  sweepFee(order: OutgoingTransaction): Promise<bigint> {
    const token = tokenToMove(this.settings, order);
    return this.#providers.on(async (provider) => {
      const { least: price } = await feesNow(provider, this.#options);
      const gas = await gasOfTransfer(provider, token, {
        ...{ from: order.fromAddress, to: order.toAddress },
        units: toTokenUnits(amountOf(order.amount), token.decimals),
      });
      const held = await nativeOf(provider, order.fromAddress);
      return price * (held >= gas * price ? gas : gas + NATIVE_GAS);
    });
  }

  async returnFee(order: OutgoingTransaction): Promise<bigint> {
    return (mostNative(await this.draft(order, null)) - amountOf(order.amount)) * RETURN_FEE_MARGIN;
  }

  async bump(old: TransactionDraft, order?: OutgoingTransaction): Promise<TransactionDraft | null> {
    if (!('maxFeePerGas' in old)) throw new Error('not a draft of this chain');
    const { now, affordable } = await this.#providers.on(async (provider) => {
      const fees = await feesNow(provider, this.#options);
      const held = order?.kind === 'sweep' ? await nativeOf(provider, order.fromAddress) : null;
      return { now: fees, affordable: held === null ? null : held / BigInt(old.gasLimit) };
    });
    const raised = (fee: string, wanted: bigint): bigint =>
      most((BigInt(fee) * BUMP_PERCENT) / HUNDRED + 1n, least(wanted, affordable ?? wanted));
    const maxFeePerGas = raised(old.maxFeePerGas, now.maxFeePerGas);
    const tip = raised(old.maxPriorityFeePerGas, now.tip);
    if (maxFeePerGas > least(this.#options.maxFeePerGas, affordable ?? maxFeePerGas)) return null;
    return tip > this.#options.maxPriorityFeePerGas ? null : { ...old, ...textOf({ maxFeePerGas, tip }) };
  }

  /** Uses the nonce again, at a fee for which nodes replace the drafted transaction. */
  async cancel(draft: TransactionDraft): Promise<TransactionDraft | null> {
    const bumped = await this.bump(draft);
    if (bumped === null || !('maxFeePerGas' in bumped)) return null;
    const { chainId, nonce, maxFeePerGas, maxPriorityFeePerGas } = bumped;
    return { kind: 'evm-cancel', chainId, nonce, gasLimit: String(NATIVE_GAS), maxFeePerGas, maxPriorityFeePerGas };
  }

  async broadcast({ signedBytes }: SentTransaction): Promise<readonly BroadcastAnswer[]> {
    crashPoint('before-broadcast');
    // A node may accept the bytes in spite of an error, so only the chain tells the outcome.
    const said = await this.#providers.broadcast((provider) => provider.call('eth_sendRawTransaction', [signedBytes]));
    crashPoint('after-broadcast');
    return said;
  }

  async fate(order: OutgoingTransaction, sent: readonly SentTransaction[]): Promise<Fate> {
    const token = isNative(order) ? null : tokenToMove(this.settings, order);
    const expected = token && {
      tokenAddress: token.address,
      from: order.fromAddress,
      to: order.toAddress,
      units: toTokenUnits(amountOf(order.amount), token.decimals),
    };
    const asked = { sent, from: order.fromAddress, expected, depth: this.#options.depth };
    return agreedFate(await this.#providers.ask((provider) => fateAt(provider, asked)));
  }

  async holds(funding: readonly Funding[]): Promise<boolean> {
    const { depth } = this.#options;
    const seen = await this.#providers.ask((provider) => areHeldAt(provider, { funding, depth }));
    return seen.every(Boolean);
  }

  async hasVanished(landed: Pick<LandedTransaction, 'txHash' | 'blockNumber' | 'blockHash'>): Promise<LandedCheck> {
    const seen = await this.#providers.ask((provider) => vanishedAt(provider, landed));
    return {
      withheld: seen.some(({ withheld }) => withheld),
      vanished: seen.every(({ vanished }) => vanished),
      final: seen.every(({ final }) => final),
      headNumber: Math.max(...seen.map(({ headNumber }) => headNumber)),
    };
  }

  finalBlock(): Promise<number> {
    return this.#providers.lowest(async (provider) => (await mustReadHeader(provider, 'finalized')).block.number);
  }

  outflows(address: string, fromBlock: number, strangersAmong: StrangersAmong): Promise<readonly SeenOutflow[]> {
    return this.#providers.on((provider) => evmOutflows(provider, this.settings, address, fromBlock, strangersAmong));
  }

  newestBlock(): Promise<number> {
    return this.#providers.highest(newestNumber);
  }

  inflows(address: string, sought: SoughtInflows, strangersAmong: StrangersAmong): Promise<readonly SeenInflow[]> {
    return this.#providers.on((provider) => evmInflows(provider, this.settings, address, sought, strangersAmong));
  }

  close(): Promise<void> {
    return this.#providers.close();
  }

  async #tokenFault(
    provider: RpcProvider,
    token: Token,
    order: OutgoingTransaction,
    reserved: Reserved,
  ): Promise<PreCheck | null> {
    const { fromAddress, toAddress } = order;
    if (await isPaused(provider, token)) return { kind: 'fail', reason: 'token_paused' };
    if (await isFrozen(provider, token, toAddress)) return { kind: 'fail', reason: 'recipient_frozen' };
    if (await isFrozen(provider, token, fromAddress)) return { kind: 'fail', reason: 'sender_frozen' };
    const balance = fromTokenUnits(await balanceOf(provider, token, fromAddress), token.decimals);
    return lackOfFunds(order, balance, reserved);
  }

  /** The general rule reserves more than one transfer needs; a sweep gets what it needs. */
  async #sweepGas(
    provider: RpcProvider,
    token: Token,
    order: OutgoingTransaction,
    { fees, held }: { fees: Fees; held: bigint },
  ): Promise<PreCheck> {
    const gasLimit = await gasLimitOf(provider, token, order);
    // The signer grants no more before the last top-up was spent, so a risen fee is paid as far as the gas suffices.
    if (held >= gasLimit * fees.least) return { kind: 'ready' };
    return { kind: 'needs_gas', amount: (gasLimit * fees.maxFeePerGas * TOP_UP_MARGIN) / HUNDRED - held };
  }
}

const nativeOf = async (provider: RpcProvider, address: string): Promise<bigint> =>
  wideQuantity(await provider.call('eth_getBalance', [address, 'latest']), 'balance');
