import type { UsedNonces } from '../../domain/events/treasury-events.ts';
import type { MoveDraft } from '../../domain/events/payout-draft.ts';
import { amountOf, formatAmount, fromTokenUnits, type Coin } from '../../domain/money.ts';
import type { NetworkSettings } from '../../domain/networks.ts';
import {
  moveFailureOf,
  tokenTransferOf,
  type AccountBalances,
  type MissingAccount,
  type MoveChain,
  type MoveCheck,
  type MoveOrder,
  type SeenOutflow,
  type StrangersAmong,
} from '../../ports/moves.ts';
import type { PayoutFate, Reserved, SentPayout } from '../../ports/payouts.ts';
import { associatedTokenAccount } from '../../runtime/util/spl-token.ts';
import { missingNonceAccount } from './nonces.ts';
import { solanaOutflows } from './outflows.ts';
import { LAMPORT, tokenAccount, type SolanaPayouts } from './payouts.ts';
import { ACCOUNTS_A_CALL, ask, readBalances, slotOf } from './rpc.ts';

/** Of one transaction without a priority fee. */
const MAKING_FEE_LAMPORTS = 5_000n;

/**
 * Sweeps and transfers out of the treasury on Solana. The treasury pays every fee, so a collection address needs none of
 * its own; its token account stays open, since a late payer may still use it. Only what is finalized counts.
 */
export class SolanaMoves implements MoveChain {
  readonly settings: NetworkSettings;
  readonly bumpAfterMs: number;
  readonly #payouts: SolanaPayouts;

  constructor(payouts: SolanaPayouts) {
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
        const account = await tokenAccount(provider, associatedTokenAccount(address, token.address));
        coins[token.coin] = fromTokenUnits(account?.units ?? 0n, token.decimals);
      }
      const { value } = await ask<{ value: number }>(provider, 'getBalance', [address, { commitment: 'confirmed' }]);
      return { coins, native: BigInt(value) * LAMPORT };
    });
  }

  tokenBalances(addresses: readonly string[]): Promise<AccountBalances['coins'][]> {
    const accounts = addresses.flatMap((owner) =>
      this.settings.tokens.map((token) => ({ account: associatedTokenAccount(owner, token.address), owner, token })),
    );
    return this.#payouts.on(async (provider) => {
      const units: bigint[] = [];
      for (let from = 0; from < accounts.length; from += ACCOUNTS_A_CALL)
        units.push(...(await readBalances(provider, accounts.slice(from, from + ACCOUNTS_A_CALL), 'finalized')).units);
      const held = new Map(addresses.map((owner): [string, Partial<Record<Coin, bigint>>] => [owner, {}]));
      accounts.forEach(({ owner, token }, index) => (held.get(owner)![token.coin] = fromTokenUnits(units[index]!, token.decimals)));
      return addresses.map((owner) => held.get(owner)!);
    });
  }

  async check(order: MoveOrder, treasury: string, reserved: Reserved): Promise<MoveCheck> {
    if (order.kind === 'nonce_account') return this.#checkRent(order);
    const check = await this.#payouts.check(tokenTransferOf(order), order.fromAddress, reserved, treasury);
    if (check.kind !== 'fail') return check;
    return { kind: 'fail', reason: moveFailureOf(check.reason) };
  }

  async #checkRent({ amount, fromAddress }: MoveOrder): Promise<MoveCheck> {
    const { native } = await this.balances(fromAddress);
    const need = amountOf(amount) + MAKING_FEE_LAMPORTS * LAMPORT;
    if (native >= need) return { kind: 'ready' };
    const detail = `the treasury ${fromAddress} holds ${formatAmount(native)} SOL and needs ${formatAmount(need)} for a nonce account`;
    return { kind: 'wait', reason: 'insufficient_gas', detail };
  }

  missingAccount(treasury: string, used: UsedNonces): Promise<MissingAccount | null> {
    return this.#payouts.on((provider) => missingNonceAccount(provider, treasury, used));
  }

  /** Solana numbers no sequence of an account. */
  nextNonce(): Promise<null> {
    return Promise.resolve(null);
  }

  draft(order: MoveOrder, treasury: string, nonce: number | null, used: UsedNonces): Promise<MoveDraft | null> {
    if (order.kind !== 'nonce_account') return this.#payouts.draft(tokenTransferOf(order), treasury, nonce, used);
    return this.#payouts.on(async (provider) => {
      const { value } = await ask<{ value: { blockhash: string } }>(provider, 'getLatestBlockhash', [{ commitment: 'confirmed' }]);
      const lamports = String(amountOf(order.amount) / LAMPORT);
      return { kind: 'solana-nonce-account', nonceIndex: order.derivationIndex!, lamports, blockhash: value.blockhash };
    });
  }

  bump(draft: MoveDraft): Promise<MoveDraft | null> {
    return this.#payouts.bump(draft);
  }

  broadcast(sent: SentPayout): Promise<void> {
    return this.#payouts.broadcast(sent);
  }

  finalBlock(): Promise<number> {
    return this.#payouts.on((provider) => slotOf(provider, 'finalized'));
  }

  outflows(address: string, fromBlock: number, strangersAmong: StrangersAmong): Promise<readonly SeenOutflow[]> {
    return this.#payouts.on((provider) => solanaOutflows(provider, this.settings, address, fromBlock, strangersAmong));
  }

  fate(order: MoveOrder, sent: readonly SentPayout[]): Promise<PayoutFate> {
    if (order.kind === 'nonce_account') return this.#payouts.fateOfMaking(sent, amountOf(order.amount));
    const treasury = order.kind === 'sweep' ? order.toAddress : order.fromAddress;
    return this.#payouts.fate(tokenTransferOf(order), order.fromAddress, sent, treasury);
  }
}
