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
import type { PayoutFate, Reserved, SentPayout } from '../../ports/payouts.ts';
import { ProviderFault, type RpcProvider } from '../../ports/rpc-pool.ts';
import { tronOutflows } from './outflows.ts';
import { BALANCER_LAG_MS, BANDWIDTH_SUN, hexOf, SUN, view, word, type TronPayouts } from './payouts.ts';
import { ask, blockAt, newestBlock, transactionInfo } from './rpc.ts';

const SUN_DECIMALS = 6;
/** Accounts asked for at the same time. */
const AT_A_TIME = 4;
/** Energy varies from call to call; what is left over serves the next sweep. */
const MARGIN_PERCENT = 130;
/** Making an account, and the bandwidth of it, when the sender has none staked. */
const ACTIVATION_SUN = 1_100_000;
/** Nothing of it is burnt before the transfer itself is: bandwidth only. */
const TRANSFER_SUN = 300_000;

/** Sweeps, top-ups and transfers out of the treasury on TRON. Only what is solidified counts. */
export class TronMoves implements MoveChain {
  readonly settings: NetworkSettings;
  readonly bumpAfterMs = Number.POSITIVE_INFINITY;
  readonly #payouts: TronPayouts;

  constructor(payouts: TronPayouts) {
    this.#payouts = payouts;
    this.settings = payouts.settings;
  }

  get network(): MoveChain['network'] {
    return this.settings.network;
  }

  get mode(): MoveChain['mode'] {
    return this.settings.mode;
  }

  balances(address: string): Promise<AccountBalances> {
    return this.#payouts.on(async (provider) => ({
      coins: await this.#coinsOf(provider, address),
      native: BigInt(await sunOf(provider, address)) * SUN,
    }));
  }

  /** TRON serves one account a call. */
  async tokenBalances(addresses: readonly string[]): Promise<AccountBalances['coins'][]> {
    const held: AccountBalances['coins'][] = [];
    for (let from = 0; from < addresses.length; from += AT_A_TIME) {
      const part = addresses.slice(from, from + AT_A_TIME);
      held.push(...(await Promise.all(part.map((address) => this.#payouts.on((provider) => this.#coinsOf(provider, address))))));
    }
    return held;
  }

  async #coinsOf(provider: RpcProvider, address: string): Promise<AccountBalances['coins']> {
    const coins: Partial<Record<Coin, bigint>> = {};
    for (const token of this.settings.tokens) {
      const units = await view(provider, token, 'balanceOf(address)', word(address));
      if (units === null) throw new ProviderFault('incapable', 'does not say what an account holds');
      coins[token.coin] = fromTokenUnits(units, token.decimals);
    }
    return coins;
  }

  async check(order: MoveOrder, _treasury: string, reserved: Reserved): Promise<MoveCheck> {
    if (order.kind === 'gas_top_up') return this.#checkTopUp(order, reserved);
    const transfer = tokenTransferOf(order);
    const check = await this.#payouts.check(transfer, order.fromAddress, reserved);
    if (check.kind === 'fail') return { kind: 'fail', reason: moveFailureOf(check.reason) };
    if (order.kind !== 'sweep' || check.kind === 'ready' || check.reason !== 'insufficient_gas') return check;
    return this.#payouts.on(async (provider): Promise<MoveCheck> => {
      const { burntSun } = await this.#payouts.cost(provider, transfer, order.fromAddress);
      const needed = Math.ceil((burntSun * MARGIN_PERCENT) / 100) + BANDWIDTH_SUN;
      const held = await sunOf(provider, order.fromAddress);
      return held >= needed ? { kind: 'ready' } : { kind: 'needs_gas', amount: BigInt(needed - held) * SUN };
    });
  }

  /** TRON numbers no sequence; the expiration alone keeps two transactions of one move apart. */
  nextNonce(): Promise<null> {
    return Promise.resolve(null);
  }

  async draft(order: MoveOrder): Promise<MoveDraft> {
    if (order.kind !== 'gas_top_up') return this.#payouts.draft(tokenTransferOf(order), order.fromAddress);
    const sun = toTokenUnits(amountOf(order.amount), SUN_DECIMALS).toString();
    return { kind: 'tron-native', sun, ...(await this.#payouts.on((provider) => this.#payouts.validity(provider))) };
  }

  bump(): Promise<null> {
    return Promise.resolve(null);
  }

  broadcast(sent: SentPayout): Promise<void> {
    return this.#payouts.broadcast(sent);
  }

  async fate(order: MoveOrder, sent: readonly SentPayout[]): Promise<PayoutFate> {
    if (order.kind !== 'gas_top_up') return this.#payouts.fate(tokenTransferOf(order), order.fromAddress, sent);
    const [first, ...others] = await this.#payouts.ask((provider) => nativeFateAt(this.#payouts, provider, sent));
    if (others.every((other) => JSON.stringify(other) === JSON.stringify(first))) return first!;
    return { kind: 'pending', inBlock: [first!, ...others].some(({ kind }) => kind === 'landed') };
  }

  finalBlock(): Promise<number> {
    return this.#payouts.on(async (provider) => (await newestBlock(provider, 'walletsolidity')).number);
  }

  outflows(address: string, fromBlock: number, strangersAmong: StrangersAmong): Promise<readonly SeenOutflow[]> {
    return tronOutflows((task) => this.#payouts.on(task), this.settings, address, fromBlock, strangersAmong);
  }

  async #checkTopUp(order: MoveOrder, reserved: Reserved): Promise<MoveCheck> {
    return this.#payouts.on(async (provider): Promise<MoveCheck> => {
      const needed = amountOf(order.amount) + BigInt(ACTIVATION_SUN + TRANSFER_SUN * (reserved.payouts + 1)) * SUN;
      const held = BigInt(await sunOf(provider, order.fromAddress)) * SUN;
      if (held >= needed) return { kind: 'ready' };
      const detail = `the treasury ${order.fromAddress} holds ${formatAmount(held)} TRX and needs ${formatAmount(needed)} to give a sweep its energy`;
      return { kind: 'wait', reason: 'insufficient_gas', detail };
    });
  }
}

/** What one provider shows about transfers of TRX, of which at most one can land. */
async function nativeFateAt(payouts: TronPayouts, provider: RpcProvider, sent: readonly SentPayout[]): Promise<PayoutFate> {
  // The block first: what is missing afterwards was not in any block up to it.
  const solid = await newestBlock(provider, 'walletsolidity');
  for (const { txHash } of sent) {
    const info = await transactionInfo(provider, 'walletsolidity', txHash);
    if (!info) continue;
    const networkFee = formatAmount(BigInt(info.fee ?? 0) * SUN);
    // A plain transfer has no receipt code; only a failed one says so.
    if (info.result === 'FAILED') return { kind: 'ineffective', txHash, networkFee };
    const block = await blockAt(provider, info.blockNumber ?? 0);
    if (!block) throw new ProviderFault('behind', 'does not have the block of its own receipt');
    const landed = { txHash, blockNumber: block.number, blockHash: block.hash, blockTimeSec: block.timeSec, networkFee };
    return { kind: 'landed', landed, final: true };
  }
  const last = sent.at(-1)!;
  if (last.validity.kind !== 'tron-expiration') throw new Error('not a transfer of this chain');
  if ((await transactionInfo(provider, 'wallet', last.txHash)) !== null) return { kind: 'pending', inBlock: true };
  if (solid.timeSec * 1000 >= last.validity.expirationMs + BALANCER_LAG_MS)
    return payouts.onceExpired(provider, last.txHash, last.validity.expirationMs);
  const head = await newestBlock(provider, 'wallet');
  return head.timeSec * 1000 >= last.validity.expirationMs ? { kind: 'pending', inBlock: false } : { kind: 'absent' };
}

const sunOf = async (provider: RpcProvider, address: string): Promise<number> =>
  (await ask<{ readonly balance?: number }>(provider, 'wallet', 'getaccount', { address: hexOf(address) })).balance ?? 0;
