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
import { accountOf } from './address.ts';
import { verifyTronProvider } from './provider-check.ts';
import { readTransfers, succeeded, tokenAccounts, type TokenAccounts } from './receipt.ts';
import { ask, blockAt, newestBlock, transactionInfo } from './rpc.ts';
import { isListedBetween } from './window.ts';

export interface TronPayoutsOptions {
  readonly settings: NetworkSettings;
  readonly pool: RpcPool;
  /** How long a payout may land. Longer than a slow network needs, short enough that a lost one is soon replaced. */
  readonly lifetimeMs: number;
}

/** A payee that holds none of the token yet costs twice the energy, and dynamic energy varies from call to call. */
const FEE_MARGIN = 2;
const MIN_FEE_LIMIT_SUN = 15_000_000;
const MAX_FEE_LIMIT_SUN = 120_000_000;
/** Bandwidth of a token transfer, paid in TRX when the free allowance is used. */
export const BANDWIDTH_SUN = 500_000;
export const SUN = 10n ** 12n;
/** A provider may ask another machine for the receipt than for the block; that one is believed to lag less than this. */
export const BALANCER_LAG_MS = 60_000;

interface Resources {
  readonly EnergyLimit?: number;
  readonly EnergyUsed?: number;
}

/** Payouts on TRON over the `/wallet` API. A payout has no nonce; its expiration is what ends it. */
export class TronPayouts implements PayoutChain {
  readonly settings: NetworkSettings;
  readonly bumpAfterMs = Number.POSITIVE_INFINITY;
  readonly #pool: RpcPool;
  readonly #lifetimeMs: number;
  readonly #tokens: TokenAccounts;
  readonly #admitted = new Set<string>();

  constructor({ settings, pool, lifetimeMs }: TronPayoutsOptions) {
    this.settings = settings;
    this.#pool = pool;
    this.#lifetimeMs = lifetimeMs;
    this.#tokens = tokenAccounts(settings.tokens);
  }

  get network(): PayoutChain['network'] {
    return this.settings.network;
  }

  get mode(): PayoutChain['mode'] {
    return this.settings.mode;
  }

  async check(order: TokenTransfer, treasury: string, reserved: Reserved): Promise<PreCheck> {
    const token = this.token(order);
    return this.on(async (provider): Promise<PreCheck> => {
      if (await flag(provider, token, 'paused()', '')) return { kind: 'fail', reason: 'token_paused' };
      if (await isFrozen(provider, token, order.toAddress)) return { kind: 'fail', reason: 'recipient_frozen' };
      if (await isFrozen(provider, token, treasury)) return { kind: 'fail', reason: 'treasury_frozen' };
      const balance = fromTokenUnits((await view(provider, token, 'balanceOf(address)', word(treasury))) ?? 0n, token.decimals);
      const need = amountOf(order.amount) + (reserved.coins[order.coin] ?? 0n);
      if (balance < need)
        return {
          kind: 'wait',
          reason: 'insufficient_funds',
          detail: `the treasury ${treasury} holds ${formatAmount(balance)} ${order.coin} on tron and owes ${formatAmount(need)}`,
        };
      const account = await ask<{ readonly balance?: number }>(provider, 'wallet', 'getaccount', { address: hexOf(treasury) });
      const { burntSun } = await this.cost(provider, order, treasury);
      const gas = (burntSun + BANDWIDTH_SUN) * (reserved.payouts + 1);
      if ((account.balance ?? 0) < gas)
        return {
          kind: 'wait',
          reason: 'insufficient_gas',
          detail: `the treasury ${treasury} holds ${formatAmount(BigInt(account.balance ?? 0) * SUN)} TRX for network fees and needs ${formatAmount(BigInt(gas) * SUN)}`,
        };
      return { kind: 'ready' };
    });
  }

  /** TRON numbers no sequence; the expiration alone keeps two transactions of one payout apart. */
  sequence(): Promise<ChainSequence> {
    return Promise.resolve({ next: null, final: null });
  }

  async draft(order: TokenTransfer, treasury: string): Promise<PayoutDraft> {
    const token = this.token(order);
    return this.on(async (provider) => {
      const { feeLimit } = await this.cost(provider, order, treasury);
      return {
        kind: 'tron',
        tokenAddress: token.address,
        tokenUnits: toTokenUnits(amountOf(order.amount), token.decimals).toString(),
        ...(await this.validity(provider)),
        feeLimit,
      };
    });
  }

  /** The block that a transaction refers to and the time in which it may land. */
  async validity(
    provider: RpcProvider,
  ): Promise<{ readonly refBlockBytes: string; readonly refBlockHash: string; readonly timestampMs: number; readonly expirationMs: number }> {
    // A solidified reference cannot be reorganised away, which would end the payout before its time.
    const reference = await newestBlock(provider, 'walletsolidity');
    const head = await newestBlock(provider, 'wallet');
    return {
      refBlockBytes: reference.hash.slice(12, 16).toLowerCase(),
      refBlockHash: reference.hash.slice(16, 32).toLowerCase(),
      timestampMs: Date.now(),
      expirationMs: head.timeSec * 1000 + this.#lifetimeMs,
    };
  }

  bump(): Promise<PayoutDraft | null> {
    return Promise.resolve(null);
  }

  async broadcast({ signedBytes }: SentPayout): Promise<void> {
    crashPoint('before-broadcast');
    const transaction = JSON.parse(signedBytes) as Readonly<Record<string, unknown>>;
    // A refusal proves nothing: DUP_TRANSACTION_ERROR means it is there, most others that this node cannot take it now.
    await this.#pool.survey((provider) => ask(provider, 'wallet', 'broadcasttransaction', transaction));
    crashPoint('after-broadcast');
  }

  async fate(order: TokenTransfer, treasury: string, payouts: readonly SentPayout[]): Promise<PayoutFate> {
    const opinions = await this.ask((provider) => this.#fateAt(provider, order, treasury, payouts));
    const [first, ...others] = opinions;
    const same = others.every(
      (other) => other.kind === first!.kind && (other.kind !== 'landed' || other.landed.txHash === (first as typeof other).landed.txHash),
    );
    if (same) return first!;
    return opinions.find(({ kind }) => kind === 'alarm') ?? { kind: 'pending', inBlock: opinions.some(({ kind }) => kind === 'landed') };
  }

  /** Only a solidified payout counts as landed, and the chain never takes that back; a node that forgot it proves nothing. */
  async hasVanished(): Promise<LandedCheck> {
    const [head] = await this.ask((provider) => newestBlock(provider, 'walletsolidity'));
    return { vanished: false, withheld: false, final: true, headNumber: head!.number };
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  async #fateAt(provider: RpcProvider, order: TokenTransfer, treasury: string, payouts: readonly SentPayout[]): Promise<PayoutFate> {
    // The block first: what is missing afterwards was not in any block up to it.
    const solid = await newestBlock(provider, 'walletsolidity');
    let failed: PayoutFate | null = null;
    for (const payout of payouts) {
      const info = await transactionInfo(provider, 'walletsolidity', payout.txHash);
      if (!info) continue;
      const networkFee = formatAmount(BigInt(info.fee ?? 0) * SUN);
      if (!succeeded(info)) {
        failed = { kind: 'ineffective', txHash: payout.txHash, networkFee };
        continue;
      }
      const units = toTokenUnits(amountOf(order.amount), this.token(order).decimals);
      const moved = readTransfers(info, this.#tokens, (to) => to === order.toAddress).some(
        (transfer) => transfer.fromAddress === treasury && transfer.tokenUnits === units && transfer.tokenAddress === this.token(order).address,
      );
      if (!moved) return { kind: 'alarm', detail: `${payout.txHash} succeeded without the transfer it was signed for` };
      const block = await blockAt(provider, info.blockNumber ?? 0);
      if (!block) throw new ProviderFault('behind', 'does not have the block of its own receipt');
      const landed = { txHash: payout.txHash, blockNumber: block.number, blockHash: block.hash, blockTimeSec: block.timeSec, networkFee };
      return { kind: 'landed', landed, final: true };
    }
    const last = payouts.at(-1)!;
    if (failed && failed.kind === 'ineffective' && failed.txHash === last.txHash) return failed;
    if (last.validity.kind !== 'tron-expiration') throw new Error('not a payout of this chain');
    if ((await transactionInfo(provider, 'wallet', last.txHash)) !== null) return { kind: 'pending', inBlock: true };
    if (solid.timeSec * 1000 >= last.validity.expirationMs + BALANCER_LAG_MS)
      return this.onceExpired(provider, last.txHash, last.validity.expirationMs);
    const head = await newestBlock(provider, 'wallet');
    return head.timeSec * 1000 >= last.validity.expirationMs ? { kind: 'pending', inBlock: false } : { kind: 'absent' };
  }

  /** A receipt that is missing proves nothing, so the blocks that might hold an expired transaction must list no such one. */
  async onceExpired(provider: RpcProvider, txHash: string, expirationMs: number): Promise<PayoutFate> {
    const isListed = await isListedBetween(provider, txHash, expirationMs - this.#lifetimeMs, expirationMs + BALANCER_LAG_MS);
    return isListed ? { kind: 'pending', inBlock: true } : { kind: 'never' };
  }

  /** Sun that a transfer may burn, after what is staked, and the limit to set. */
  async cost(provider: RpcProvider, order: TokenTransfer, treasury: string): Promise<{ burntSun: number; feeLimit: number }> {
    const token = this.token(order);
    const parameter = word(order.toAddress) + toTokenUnits(amountOf(order.amount), token.decimals).toString(16).padStart(64, '0');
    const call = {
      owner_address: hexOf(treasury),
      contract_address: hexOf(token.address),
      function_selector: 'transfer(address,uint256)',
      parameter,
    };
    const estimate = await ask<{ readonly energy_used?: number }>(provider, 'wallet', 'triggerconstantcontract', call);
    const { chainParameter = [] } = await ask<{ readonly chainParameter?: readonly { key: string; value?: number }[] }>(
      provider,
      'wallet',
      'getchainparameters',
      {},
    );
    const price = chainParameter.find(({ key }) => key === 'getEnergyFee')?.value ?? 100;
    const resources = await ask<Resources>(provider, 'wallet', 'getaccountresource', { address: hexOf(treasury) });
    const staked = Math.max(0, (resources.EnergyLimit ?? 0) - (resources.EnergyUsed ?? 0));
    const energy = estimate.energy_used ?? 0;
    const feeLimit = Math.min(MAX_FEE_LIMIT_SUN, Math.max(MIN_FEE_LIMIT_SUN, energy * price * FEE_MARGIN));
    return { burntSun: Math.min(feeLimit, Math.max(0, energy - staked) * price), feeLimit };
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
  async ask<Value>(task: (provider: RpcProvider) => Promise<Value>): Promise<Value[]> {
    const needed = Math.min(2, this.#pool.size);
    const answered = (soFar: readonly Opinion<Value>[]): Value[] => soFar.flatMap((opinion) => ('value' in opinion ? [opinion.value] : []));
    const opinions = await this.#pool.survey(
      async (provider) => (await this.#admit(provider), task(provider)),
      (soFar) => answered(soFar).length >= needed,
    );
    const answers = answered(opinions);
    if (answers.length < needed) throw new ChainUnavailable(`tron: ${answers.length} of ${needed} providers answered`);
    return answers;
  }

  async #admit(provider: RpcProvider): Promise<void> {
    if (this.#admitted.has(provider.name)) return;
    await verifyTronProvider(provider, this.settings);
    this.#admitted.add(provider.name);
  }
}

export const hexOf = (address: string): string => `41${accountOf(address)}`;
export const word = (address: string): string => accountOf(address)!.padStart(64, '0');

/** Null when the contract has no such function. */
export async function view(provider: RpcProvider, token: Token, selector: string, parameter: string): Promise<bigint | null> {
  const call = { owner_address: hexOf(token.address), contract_address: hexOf(token.address), function_selector: selector, parameter };
  const answer = await ask<{ readonly constant_result?: readonly string[] }>(provider, 'wallet', 'triggerconstantcontract', call);
  const result = answer.constant_result?.[0] ?? '';
  return /^[0-9a-f]{64}$/i.test(result) ? BigInt(`0x${result}`) : null;
}

const flag = async (provider: RpcProvider, token: Token, selector: string, parameter: string): Promise<boolean> =>
  ((await view(provider, token, selector, parameter)) ?? 0n) !== 0n;

/** Tether and Circle spell it differently. */
const isFrozen = async (provider: RpcProvider, token: Token, address: string): Promise<boolean> =>
  (await flag(provider, token, 'isBlackListed(address)', word(address))) || flag(provider, token, 'isBlacklisted(address)', word(address));
