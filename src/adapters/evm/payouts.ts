import { Interface, getAddress } from 'ethers';
import { amountOf, formatAmount, fromTokenUnits, least, toTokenUnits } from '../../domain/money.ts';
import type { NetworkSettings, Token } from '../../domain/networks.ts';
import type { PayoutDraft } from '../../domain/events/payout-draft.ts';
import { ChainUnavailable } from '../../ports/chain.ts';
import {
  tokenToMove,
  TransferImpossible,
  type ChainSequence,
  type LandedCheck,
  type LandedPayout,
  type PayoutChain,
  type PayoutFate,
  type PreCheck,
  type Reserved,
  type SentPayout,
  type TokenTransfer,
} from '../../ports/payouts.ts';
import { ProviderFault, RpcError, type Opinion, type RpcPool, type RpcProvider } from '../../ports/rpc-pool.ts';
import { crashPoint } from '../../runtime/util/crash-point.ts';
import { fromQuantity, mustReadHeader } from './rpc.ts';
import { fateAt, receiptsOf, vanishedAt, type FateOpinion } from './payout-fate.ts';
import { verifyProvider } from './provider-check.ts';

export interface EvmPayoutsOptions {
  readonly settings: NetworkSettings;
  readonly pool: RpcPool;
  /** Blocks that make a payout complete, the block itself included; null: the chain's own finality. */
  readonly depth: number | null;
  /** Wei for a unit of gas that is never exceeded; payouts wait instead. */
  readonly maxFeePerGas: bigint;
  /** The most of it that goes to the block's producer. */
  readonly maxPriorityFeePerGas: bigint;
  /** Tip in wei where the network does not suggest one. */
  readonly fallbackTip: bigint;
  readonly bumpAfterMs: number;
}

const TOKEN = new Interface([
  'function transfer(address to, uint256 value)',
  'function balanceOf(address) view returns (uint256)',
  'function isBlackListed(address) view returns (bool)',
  'function isBlacklisted(address) view returns (bool)',
  'function paused() view returns (bool)',
]);
/** Above what transfers of the tokens take, first-time receivers and fee-on-transfer code included. */
const GAS_FLOOR = 90_000n;
/** Nodes replace a pending transaction only for at least 10 % more on both fees (geth, PriceBump). */
const BUMP_PERCENT = 125n;

/** What a transaction takes that calls nothing. */
const PLAIN_GAS = 21_000n;

type EvmDraft = Extract<PayoutDraft, { kind: 'evm' }>;

/** Payouts on Ethereum, BSC and their like over JSON-RPC. */
export class EvmPayouts implements PayoutChain {
  readonly settings: NetworkSettings;
  readonly bumpAfterMs: number;
  readonly #options: EvmPayoutsOptions;
  readonly #pool: RpcPool;
  readonly #admitted = new Set<string>();

  constructor(options: EvmPayoutsOptions) {
    this.#options = options;
    this.settings = options.settings;
    this.bumpAfterMs = options.bumpAfterMs;
    this.#pool = options.pool;
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
      if (await flag(provider, token, 'paused', [])) return { kind: 'fail', reason: 'token_paused' };
      if (await isFrozen(provider, token, order.toAddress)) return { kind: 'fail', reason: 'recipient_frozen' };
      if (await isFrozen(provider, token, treasury)) return { kind: 'fail', reason: 'treasury_frozen' };
      const balance = fromTokenUnits(BigInt((await view(provider, token, 'balanceOf', [treasury])) ?? '0x0'), token.decimals);
      const need = amountOf(order.amount) + (reserved.coins[order.coin] ?? 0n);
      if (balance < need)
        return {
          kind: 'wait',
          reason: 'insufficient_funds',
          detail: `the treasury ${treasury} holds ${formatAmount(balance)} ${order.coin} on ${this.network} and owes ${formatAmount(need)}`,
        };
      const { maxFeePerGas } = await this.fees(provider);
      const tooDear = this.tooDear(maxFeePerGas);
      if (tooDear) return tooDear;
      const native = BigInt(String(await provider.call('eth_getBalance', [treasury, 'latest'])));
      const gas = GAS_FLOOR * maxFeePerGas * BigInt(reserved.payouts + 1);
      if (native < gas)
        return {
          kind: 'wait',
          reason: 'insufficient_gas',
          detail: `the treasury ${treasury} holds ${formatAmount(native)} for network fees on ${this.network} and needs ${formatAmount(gas)}`,
        };
      return { kind: 'ready' };
    });
  }

  async sequence(treasury: string): Promise<ChainSequence> {
    const opinions = await this.ask(async (provider) => {
      const count = async (tag: string): Promise<number> =>
        fromQuantity(await provider.call('eth_getTransactionCount', [treasury, tag]), 'transaction count');
      return { next: await count('latest'), final: await count('finalized') };
    });
    const values = opinions.map(({ value }) => value);
    // A node that lags must not make a nonce look free: the furthest one counts.
    return { next: Math.max(...values.map(({ next }) => next)), final: Math.min(...values.map(({ final }) => final)) };
  }

  async draft(order: TokenTransfer, treasury: string, nonce: number | null): Promise<PayoutDraft> {
    const token = this.token(order);
    const tokenUnits = toTokenUnits(amountOf(order.amount), token.decimals);
    return this.on(async (provider) => {
      const estimate = await gasOfTransfer(provider, token, { from: treasury, to: order.toAddress, units: tokenUnits });
      const gasLimit = (estimate * 3n) / 2n > GAS_FLOOR ? (estimate * 3n) / 2n : GAS_FLOOR;
      const { maxFeePerGas, tip } = await this.fees(provider);
      const fees = { maxFeePerGas: maxFeePerGas.toString(), maxPriorityFeePerGas: tip.toString() };
      return {
        kind: 'evm',
        chainId: this.settings.chainId,
        nonce: nonce ?? 0,
        tokenAddress: getAddress(token.address),
        tokenUnits: tokenUnits.toString(),
        gasLimit: gasLimit.toString(),
        ...fees,
      };
    });
  }

  async bump(draft: PayoutDraft): Promise<PayoutDraft | null> {
    const old = draft as EvmDraft;
    const now = await this.on((provider) => this.fees(provider));
    const raised = (fee: string): bigint => (BigInt(fee) * BUMP_PERCENT) / 100n + 1n;
    const max = (one: bigint, other: bigint): bigint => (one > other ? one : other);
    const maxFeePerGas = max(raised(old.maxFeePerGas), now.maxFeePerGas);
    const tip = max(raised(old.maxPriorityFeePerGas), now.tip);
    if (maxFeePerGas > this.#options.maxFeePerGas || tip > this.#options.maxPriorityFeePerGas) return null;
    return { ...old, maxFeePerGas: maxFeePerGas.toString(), maxPriorityFeePerGas: tip.toString() };
  }

  /** The nonce again, at a fee for which nodes let it take the payout's place. */
  async cancel(draft: PayoutDraft): Promise<PayoutDraft | null> {
    const { chainId, nonce, maxFeePerGas, maxPriorityFeePerGas } = ((await this.bump(draft)) ?? {}) as Partial<EvmDraft>;
    if (chainId === undefined || nonce === undefined) return null;
    const fees = { maxFeePerGas: maxFeePerGas!, maxPriorityFeePerGas: maxPriorityFeePerGas! };
    return { kind: 'evm-cancel', chainId, nonce, gasLimit: PLAIN_GAS.toString(), ...fees };
  }

  async broadcast({ signedBytes }: SentPayout): Promise<void> {
    crashPoint('before-broadcast');
    // An error may come from a node that has taken the bytes all the same, so only the chain is believed later.
    await this.#pool.survey((provider) => provider.call('eth_sendRawTransaction', [signedBytes]));
    crashPoint('after-broadcast');
  }

  async fate(order: TokenTransfer, treasury: string, payouts: readonly SentPayout[]): Promise<PayoutFate> {
    const token = this.token(order);
    const expected = {
      tokenAddress: token.address,
      from: treasury,
      to: order.toAddress,
      units: toTokenUnits(amountOf(order.amount), token.decimals),
    };
    const opinions = await this.ask(async (provider): Promise<FateOpinion> => {
      const receipts = await receiptsOf(provider, payouts);
      return fateAt(provider, receipts, { payouts, treasury, expected, depth: this.#options.depth });
    });
    return this.conclude(opinions.map(({ value }) => value));
  }

  async hasVanished(landed: Pick<LandedPayout, 'txHash' | 'blockNumber' | 'blockHash'>): Promise<LandedCheck> {
    const opinions = await this.ask((provider) => vanishedAt(provider, landed));
    const values = opinions.map(({ value }) => value);
    return {
      withheld: values.some(({ withheld }) => withheld),
      vanished: values.every(({ vanished }) => vanished),
      final: values.every(({ final }) => final),
      headNumber: Math.max(...values.map(({ headNumber }) => headNumber)),
    };
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  /** A conclusion that ends something takes equal voices; anything less lets the payout go on. */
  conclude(opinions: readonly FateOpinion[]): PayoutFate {
    const rank = { landed: 0, ineffective: 0, never: 0, alarm: 0, pending: 1, absent: 2 } as const;
    const alarm = opinions.find((fate) => fate.kind === 'alarm');
    if (alarm) return alarm;
    const [first, ...others] = opinions.toSorted((one, other) => rank[other.kind] - rank[one.kind]);
    if (others.every((other) => sameFate(first!, other))) return first!;
    // One says landed, the other does not see it (yet): nothing is concluded, and the bytes go out again.
    const known = opinions.some((fate) => fate.kind === 'pending' || fate.kind === 'landed');
    return known ? { kind: 'pending', inBlock: opinions.some((fate) => fate.kind === 'landed') } : { kind: 'absent' };
  }

  /** Throws `TransferImpossible`. */
  token(order: TokenTransfer): Token {
    return tokenToMove(this.settings, order);
  }

  /** Null when so much is paid for a unit of gas. */
  tooDear(maxFeePerGas: bigint): Extract<PreCheck, { kind: 'wait' }> | null {
    const limit = this.#options.maxFeePerGas;
    if (maxFeePerGas <= limit) return null;
    return { kind: 'wait', reason: 'network_fee_too_high', detail: `gas costs ${maxFeePerGas} wei, above the limit of ${limit}` };
  }

  /** Wei for a unit of gas, as the network has it now; `least` gets into one of the next blocks. */
  async fees(provider: RpcProvider): Promise<{ maxFeePerGas: bigint; least: bigint; tip: bigint }> {
    const block = (await provider.call('eth_getBlockByNumber', ['latest', false])) as { baseFeePerGas?: string } | null;
    const base = BigInt(block?.baseFeePerGas ?? '0x0');
    const tip = least(await suggestedTip(provider, this.#options.fallbackTip), this.#options.maxPriorityFeePerGas);
    return { maxFeePerGas: base * 2n + tip, least: (base * 5n) / 4n + tip, tip };
  }

  /** Asks one provider. Throws `ChainUnavailable`. */
  async on<Value>(task: (provider: RpcProvider) => Promise<Value>): Promise<Value> {
    return (await this.#pool.run(async (provider) => (await this.#admit(provider), task(provider)))).value;
  }

  /** As many answers as a conclusion needs. Throws `ChainUnavailable` when there are fewer. */
  async ask<Value>(task: (provider: RpcProvider) => Promise<Value>): Promise<{ provider: string; value: Value }[]> {
    const needed = Math.min(2, this.#pool.size);
    const answered = (soFar: readonly Opinion<Value>[]): { provider: string; value: Value }[] =>
      soFar.filter((opinion): opinion is { provider: string; value: Value } => 'value' in opinion);
    const opinions = await this.#pool.survey(
      async (provider) => (await this.#admit(provider), task(provider)),
      (soFar) => answered(soFar).length >= needed,
    );
    const answers = answered(opinions);
    if (answers.length >= needed) return answers;
    const faults = opinions.flatMap((opinion) => ('fault' in opinion ? [`${opinion.provider}: ${opinion.fault.message}`] : []));
    throw new ChainUnavailable(`${this.network}: ${answers.length} of ${needed} providers answered (${faults.join('; ')})`);
  }

  async #admit(provider: RpcProvider): Promise<void> {
    if (this.#admitted.has(provider.name)) return;
    await verifyProvider(provider, this.settings);
    await mustReadHeader(provider, 'finalized');
    this.#admitted.add(provider.name);
  }
}

function sameFate(one: PayoutFate, other: PayoutFate): boolean {
  if (one.kind === 'landed' && other.kind === 'landed')
    return one.landed.txHash === other.landed.txHash && one.landed.blockHash === other.landed.blockHash;
  if (one.kind === 'ineffective' && other.kind === 'ineffective') return one.txHash === other.txHash;
  return one.kind === other.kind;
}

async function suggestedTip(provider: RpcProvider, fallback: bigint): Promise<bigint> {
  try {
    return BigInt(String(await provider.call('eth_maxPriorityFeePerGas', [])));
  } catch (error) {
    if (error instanceof RpcError) return fallback;
    throw error;
  }
}

const isRevert = (error: unknown): boolean => error instanceof RpcError && /revert|invalid opcode|execution/i.test(error.message);

/** What the transfer takes. Throws `TransferImpossible` when the token refuses it though the sender holds enough. */
export async function gasOfTransfer(
  provider: RpcProvider,
  token: Token,
  { from, to, units }: { readonly from: string; readonly to: string; readonly units: bigint },
): Promise<bigint> {
  const data = TOKEN.encodeFunctionData('transfer', [to, units]);
  try {
    return BigInt(String(await provider.call('eth_estimateGas', [{ from, to: token.address, data }])));
  } catch (error) {
    if (!isRevert(error)) throw error;
    // A provider that lags may not know yet what the sender holds.
    if (BigInt((await view(provider, token, 'balanceOf', [from])) ?? '0x0') < units)
      throw new ProviderFault('behind', `knows too little of ${token.coin} at the sender`);
    throw new TransferImpossible('transfer_rejected', `the token refuses the transfer: ${(error as Error).message}`);
  }
}

/** Null when the contract has no such function or refuses to answer. */
export async function view(provider: RpcProvider, token: Token, name: string, args: readonly unknown[]): Promise<string | null> {
  try {
    const answer = await provider.call('eth_call', [{ to: token.address, data: TOKEN.encodeFunctionData(name, args) }, 'latest']);
    return typeof answer === 'string' && /^0x[0-9a-f]{64}$/i.test(answer) ? answer : null;
  } catch (error) {
    if (isRevert(error)) return null;
    if (error instanceof RpcError) throw new ProviderFault('incapable', `does not answer eth_call (${error.code})`);
    throw error;
  }
}

const flag = async (provider: RpcProvider, token: Token, name: string, args: readonly unknown[]): Promise<boolean> =>
  BigInt((await view(provider, token, name, args)) ?? '0x0') !== 0n;

/** Tether and Circle spell it differently. */
const isFrozen = async (provider: RpcProvider, token: Token, address: string): Promise<boolean> =>
  (await flag(provider, token, 'isBlackListed', [address])) || flag(provider, token, 'isBlacklisted', [address]);
