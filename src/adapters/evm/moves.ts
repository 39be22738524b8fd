import type { MoveDraft } from '../../domain/events/payout-draft.ts';
import { amountOf, formatAmount, fromTokenUnits, toTokenUnits, type Coin } from '../../domain/money.ts';
import type { NetworkSettings } from '../../domain/networks.ts';
import {
  moveFailureOf,
  tokenTransferOf,
  type AccountBalances,
  type MoveChain,
  type MoveCheck,
  type MoveOrder,
  type SeenOutflow,
  type StrangersAmong,
} from '../../ports/moves.ts';
import type { PayoutFate, Reserved, SentPayout, TokenTransfer } from '../../ports/payouts.ts';
import { ProviderFault, type RpcProvider } from '../../ports/rpc-pool.ts';
import { evmTokenUnits } from './balances.ts';
import { evmOutflows } from './outflows.ts';
import { mustReadHeader } from './rpc.ts';
import { nativeFateAt } from './native-fate.ts';
import type { EvmPayouts } from './payouts.ts';
import { gasOfTransfer, view } from './payouts.ts';

/** A plain transfer to an account without code. */
const NATIVE_GAS = 21_000n;
const HUNDRED = 100n;
/** Room for what the token's code may do differently in another block. */
const GAS_MARGIN = 125n;
/** A top-up must last until the sweep is in a block, whatever the fee does meanwhile. */
const TOP_UP_MARGIN = 150n;

/** Sweeps, top-ups and transfers out of the treasury on Ethereum, BSC and their like. Only what is finalized counts. */
export class EvmMoves implements MoveChain {
  readonly settings: NetworkSettings;
  readonly bumpAfterMs: number;
  readonly #payouts: EvmPayouts;

  constructor(payouts: EvmPayouts) {
    this.#payouts = payouts;
    this.settings = payouts.settings;
    this.bumpAfterMs = payouts.bumpAfterMs;
  }

  get network(): MoveChain['network'] {
    return this.settings.network;
  }

  get mode(): MoveChain['mode'] {
    return this.settings.mode;
  }

  balances(address: string): Promise<AccountBalances> {
    return this.#payouts.on(async (provider) => {
      const coins: Partial<Record<Coin, bigint>> = {};
      for (const token of this.settings.tokens) {
        const units = await view(provider, token, 'balanceOf', [address]);
        if (units === null) throw new ProviderFault('incapable', 'does not say what an account holds');
        coins[token.coin] = fromTokenUnits(BigInt(units), token.decimals);
      }
      return { coins, native: await nativeOf(provider, address) };
    });
  }

  tokenBalances(addresses: readonly string[]): Promise<AccountBalances['coins'][]> {
    return this.#payouts.on(async (provider) => {
      const held = addresses.map((): Partial<Record<Coin, bigint>> => ({}));
      for (const token of this.settings.tokens) {
        const units = await evmTokenUnits(provider, token, addresses);
        held.forEach((coins, index) => (coins[token.coin] = fromTokenUnits(units[index]!, token.decimals)));
      }
      return held;
    });
  }

  async check(order: MoveOrder, _treasury: string, reserved: Reserved): Promise<MoveCheck> {
    if (order.kind === 'gas_top_up') return this.#checkTopUp(order, reserved);
    const transfer = tokenTransferOf(order);
    const check = await this.#payouts.check(transfer, order.fromAddress, reserved);
    if (check.kind === 'fail') return { kind: 'fail', reason: moveFailureOf(check.reason) };
    if (order.kind !== 'sweep' || check.kind === 'ready' || check.reason !== 'insufficient_gas') return check;
    // The general rule keeps more in reserve than one transfer takes; a sweep is given what it needs.
    return this.#payouts.on(async (provider): Promise<MoveCheck> => {
      const gasLimit = await this.#gasLimit(provider, transfer, order.fromAddress);
      const { maxFeePerGas, least } = await this.#payouts.fees(provider);
      const held = await nativeOf(provider, order.fromAddress);
      // The signer gives no more before what it gave was spent, so a fee that rose since is paid as far as the gas goes.
      if (held >= gasLimit * least) return { kind: 'ready' };
      return { kind: 'needs_gas', amount: (gasLimit * maxFeePerGas * TOP_UP_MARGIN) / HUNDRED - held };
    });
  }

  async nextNonce(address: string): Promise<number | null> {
    return (await this.#payouts.sequence(address)).next;
  }

  draft(order: MoveOrder, _treasury: string, nonce: number | null): Promise<MoveDraft> {
    return this.#payouts.on(async (provider): Promise<MoveDraft> => {
      const { maxFeePerGas, tip } = await this.#payouts.fees(provider);
      const fees = { maxFeePerGas: maxFeePerGas.toString(), maxPriorityFeePerGas: tip.toString() };
      const shared = { chainId: this.settings.chainId, nonce: nonce ?? 0, ...fees };
      if (order.kind === 'gas_top_up')
        return { kind: 'evm-native', ...shared, value: amountOf(order.amount).toString(), gasLimit: NATIVE_GAS.toString() };
      const transfer = tokenTransferOf(order);
      const token = this.#payouts.token(transfer);
      const gasLimit = await this.#gasLimit(provider, transfer, order.fromAddress);
      const tokenUnits = toTokenUnits(amountOf(order.amount), token.decimals).toString();
      // A sweep has no more gas than it was given, so its fee may rise only as far as that goes.
      const held = await nativeOf(provider, order.fromAddress);
      const affordable = held / gasLimit < maxFeePerGas ? (held / gasLimit).toString() : shared.maxFeePerGas;
      const tipAtMost = BigInt(shared.maxPriorityFeePerGas) > BigInt(affordable) ? affordable : shared.maxPriorityFeePerGas;
      return {
        ...{ kind: 'evm', ...shared, maxFeePerGas: affordable, maxPriorityFeePerGas: tipAtMost },
        ...{ tokenAddress: token.address, tokenUnits, gasLimit: gasLimit.toString() },
      };
    });
  }

  async bump(draft: MoveDraft): Promise<MoveDraft | null> {
    if (draft.kind === 'evm') return this.#payouts.bump(draft);
    if (draft.kind !== 'evm-native') throw new Error('not a draft of this chain');
    const { maxFeePerGas, maxPriorityFeePerGas } = draft;
    const bumped = await this.#payouts.bump({ ...draft, kind: 'evm', tokenAddress: '', tokenUnits: '0' });
    if (bumped?.kind !== 'evm') return null;
    return bumped.maxFeePerGas === maxFeePerGas && bumped.maxPriorityFeePerGas === maxPriorityFeePerGas
      ? null
      : { ...draft, maxFeePerGas: bumped.maxFeePerGas, maxPriorityFeePerGas: bumped.maxPriorityFeePerGas };
  }

  broadcast(sent: SentPayout): Promise<void> {
    return this.#payouts.broadcast(sent);
  }

  async fate(order: MoveOrder, sent: readonly SentPayout[]): Promise<PayoutFate> {
    if (order.kind !== 'gas_top_up') return this.#payouts.fate(tokenTransferOf(order), order.fromAddress, sent);
    const opinions = await this.#payouts.ask((provider) => nativeFateAt(provider, sent, order.fromAddress));
    return this.#payouts.conclude(opinions.map(({ value }) => value));
  }

  finalBlock(): Promise<number> {
    return this.#payouts.on(async (provider) => (await mustReadHeader(provider, 'finalized')).block.number);
  }

  outflows(address: string, fromBlock: number, strangersAmong: StrangersAmong): Promise<readonly SeenOutflow[]> {
    return this.#payouts.on((provider) => evmOutflows(provider, this.settings, address, fromBlock, strangersAmong));
  }

  async #checkTopUp(order: MoveOrder, reserved: Reserved): Promise<MoveCheck> {
    return this.#payouts.on(async (provider): Promise<MoveCheck> => {
      const { maxFeePerGas } = await this.#payouts.fees(provider);
      const tooDear = this.#payouts.tooDear(maxFeePerGas);
      if (tooDear) return tooDear;
      const need = amountOf(order.amount) + NATIVE_GAS * maxFeePerGas * BigInt(reserved.payouts + 1);
      const held = await nativeOf(provider, order.fromAddress);
      if (held >= need) return { kind: 'ready' };
      const detail = `the treasury ${order.fromAddress} holds ${formatAmount(held)} ${order.coin} and needs ${formatAmount(need)} to give a sweep its gas`;
      return { kind: 'wait', reason: 'insufficient_gas', detail };
    });
  }

  async #gasLimit(provider: RpcProvider, transfer: TokenTransfer, from: string): Promise<bigint> {
    const token = this.#payouts.token(transfer);
    const units = toTokenUnits(amountOf(transfer.amount), token.decimals);
    return ((await gasOfTransfer(provider, token, { from, to: transfer.toAddress, units })) * GAS_MARGIN) / HUNDRED;
  }
}

const nativeOf = async (provider: RpcProvider, address: string): Promise<bigint> =>
  BigInt(String(await provider.call('eth_getBalance', [address, 'latest'])));
