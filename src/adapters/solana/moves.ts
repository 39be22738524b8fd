import type { MoveDraft } from '../../domain/events/payout-draft.ts';
import { fromTokenUnits, type Coin } from '../../domain/money.ts';
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
import { associatedTokenAccount } from '../../runtime/util/spl-token.ts';
import { solanaOutflows } from './outflows.ts';
import { LAMPORT, tokenAccount, type SolanaPayouts } from './payouts.ts';
import { ACCOUNTS_A_CALL, ask, readBalances, slotOf } from './rpc.ts';

/**
 * Sweeps and transfers out of the treasury on Solana. The treasury pays every fee, so a collection address needs none of
 * its own; its token account stays open, since a late payer may still use it. Only what is finalized counts.
 */
export class SolanaMoves implements MoveChain {
  readonly settings: NetworkSettings;
  readonly bumpAfterMs = Number.POSITIVE_INFINITY;
  readonly #payouts: SolanaPayouts;

  constructor(payouts: SolanaPayouts) {
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
    const check = await this.#payouts.check(tokenTransferOf(order), order.fromAddress, reserved, treasury);
    if (check.kind !== 'fail') return check;
    return { kind: 'fail', reason: moveFailureOf(check.reason) };
  }

  /** Solana numbers no sequence; the blockhash alone keeps two transactions of one move apart. */
  nextNonce(): Promise<null> {
    return Promise.resolve(null);
  }

  draft(order: MoveOrder): Promise<MoveDraft> {
    return this.#payouts.draft(tokenTransferOf(order));
  }

  bump(): Promise<null> {
    return Promise.resolve(null);
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
    return this.#payouts.fate(tokenTransferOf(order), order.fromAddress, sent);
  }
}
