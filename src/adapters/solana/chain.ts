import type { DepositFacts, FinalityRule } from '../../domain/events/session-events.ts';
import { isFinalEnough } from '../../domain/networks/finality.ts';
import { fromTokenUnits } from '../../domain/money/money.ts';
import type { NetworkSettings } from '../../domain/networks/networks.ts';
import type {
  AccountChain,
  AccountEffect,
  BalanceLook,
  HistoryEntry,
  HistoryOptions,
  TokenAccount,
} from '../../ports/chain/account-chain.ts';
import type { AddressHistory } from '../../ports/chain/address-safety.ts';
import type { Block, Disproof, Transfer } from '../../ports/chain/chain.ts';
import type { PayerTransactions, WantedTransfer } from '../../ports/chain/payer-transactions.ts';
import { agreedDisproof } from '../rpc/agreed-disproof.ts';
import { HeadComparison } from '../rpc/head-comparison.ts';
import { AdmittedProviders } from '../rpc/admitted-providers.ts';
import { Voices } from '../rpc/voices.ts';
import { ProviderFault, type RpcPool, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { associatedTokenAccount } from '../../chain-formats/spl-token.ts';
import { usedSolanaOwners } from './address-history.ts';
import { solanaDisproof } from './disproof.ts';
import { verifySolanaProvider } from './provider-check.ts';
import { holdingsOf } from './payee-account.ts';
import {
  ACCOUNTS_A_CALL,
  blockAtSlot,
  hasStatus,
  newestFinalized,
  readBalances,
  readHistory,
  readTransaction,
  slotOf,
} from './rpc.ts';
import { SolanaPayerTransactions } from './unsigned-transfer.ts';
import { payerOf, tokenDeltas, type SolanaTransaction, type TokenDelta } from './token-balances.ts';
import { must } from '../../domain/values/must.ts';

export interface SolanaChainOptions {
  readonly settings: NetworkSettings;
  readonly pool: RpcPool;
  /**
   * True if a transfer of this many 10^-18 units counts only once a second provider reports the same; default never.
   */
  readonly confirmWithSecond?: (units: bigint) => boolean;
  /** Interval of comparing the slots of all providers to detect stalled ones; default 10,000. */
  readonly lagProbeMs?: number;
}

/** Solana over JSON-RPC, read by receiving accounts. */
export function createSolanaChain(options: SolanaChainOptions): AccountChain & AddressHistory & PayerTransactions {
  return new SolanaChain(options);
}

class SolanaChain implements AccountChain, AddressHistory, PayerTransactions {
  readonly settings: NetworkSettings;
  readonly #pool: RpcPool;
  readonly #payerTransactions: SolanaPayerTransactions;
  readonly #voices: Voices;
  readonly #providers: AdmittedProviders;
  readonly #heads: HeadComparison;
  #headSeen = 0;
  #finalizedSeen = -1;

  constructor(options: SolanaChainOptions) {
    this.settings = options.settings;
    this.#pool = options.pool;
    this.#providers = new AdmittedProviders(options.settings.network, options.pool, (provider) =>
      verifySolanaProvider(provider, options.settings),
    );
    this.#payerTransactions = new SolanaPayerTransactions(options.pool);
    this.#heads = new HeadComparison(options.pool, (provider) => this.#reportHead(provider), options.lagProbeMs);
    const unitsOf = ({ tokenAddress, tokenUnits }: Transfer): bigint =>
      fromTokenUnits(tokenUnits, must(this.settings.tokens.find(({ address }) => address === tokenAddress)).decimals);
    this.#voices = new Voices(options.settings.network, options.pool, unitsOf, options.confirmWithSecond);
  }

  get network(): AccountChain['network'] {
    return this.settings.network;
  }

  get mode(): AccountChain['mode'] {
    return this.settings.mode;
  }

  async verify(): Promise<void> {
    await this.#voices.verify((provider) => this.#providers.admit(provider));
  }

  tokenAccountsOf(owner: string): readonly TokenAccount[] {
    return this.settings.tokens.map((token) => ({
      account: associatedTokenAccount(owner, token.address),
      owner,
      token,
    }));
  }

  async balances(accounts: readonly TokenAccount[]): Promise<BalanceLook> {
    const calls = Math.max(1, Math.ceil(accounts.length / ACCOUNTS_A_CALL));
    const parts = Array.from({ length: calls }, (_, index) =>
      accounts.slice(index * ACCOUNTS_A_CALL, (index + 1) * ACCOUNTS_A_CALL),
    );
    const looks = await Promise.all(
      parts.map((part) => this.#providers.run((provider) => readBalances(provider, part))),
    );
    this.#heads.nowAndThen(must(looks[0]).provider);
    const oldest = looks.map(({ value }) => value).reduce((one, other) => (one.slot <= other.slot ? one : other));
    this.#headSeen = Math.max(this.#headSeen, ...looks.map(({ value }) => value.slot));
    return {
      units: looks.flatMap(({ value }) => value.units),
      slot: oldest.slot,
      timeSec: Math.min(...looks.map(({ value }) => value.timeSec)),
      providers: [...new Set(looks.map(({ provider }) => provider))],
    };
  }

  async history(account: string, options: HistoryOptions): Promise<readonly HistoryEntry[]> {
    return this.#providers.on((provider) => readHistory(provider, account, options));
  }

  async effectOf(txHash: string, account: TokenAccount): Promise<AccountEffect | null> {
    const task = async (provider: RpcProvider): Promise<AccountEffect | null> => {
      const transaction = await readTransaction(provider, txHash, 'confirmed');
      if (transaction === null) return null;
      const deltas = tokenDeltas(transaction, this.settings.tokens);
      const own = deltas.find(
        (delta) => delta.account === account.account && delta.token.address === account.token.address,
      );
      if (own === undefined) return { unitsDelta: 0n, transfer: null };
      const arrived = own.units > 0n && own.owner === account.owner;
      return {
        unitsDelta: own.units,
        transfer: arrived ? await this.#toTransfer(provider, txHash, transaction, deltas, own) : null,
      };
    };
    return this.#providers.on(task);
  }

  async otherHoldings(owner: string): Promise<readonly (TokenAccount & { readonly units: bigint })[]> {
    const usual = new Set(this.tokenAccountsOf(owner).map(({ account }) => account));
    const held = await this.#providers.on((provider) => holdingsOf(provider, owner));
    return held.flatMap(({ account, mint, units }) => {
      const token = this.settings.tokens.find(({ address }) => address === mint);
      return token && units > 0n && !usual.has(account) ? [{ account, owner, token, units }] : [];
    });
  }

  async finalized(): Promise<Block> {
    const task = async (provider: RpcProvider): Promise<Block> => {
      const block = await newestFinalized(provider);
      provider.report('final', block.number);
      return block;
    };
    const value = await this.#providers.on(task);
    this.#finalizedSeen = Math.max(this.#finalizedSeen, value.number);
    return value;
  }

  async blockAt(slot: number): Promise<Block | null> {
    if (slot > this.#headSeen) return null;
    return this.#providers.on((provider) => blockAtSlot(provider, slot, 'confirmed'));
  }

  async transferAt(txHash: string, logIndex: number): Promise<Transfer | null> {
    return this.#voices.transfer((provider) => this.#readTransfer(provider, txHash, logIndex), `${txHash}:${logIndex}`);
  }

  agreeOnFinality(transfer: Transfer, rule: FinalityRule): Promise<boolean> {
    return this.#voices.agreeOnFinality(transfer, (provider) => this.#callsItFinal(provider, transfer.block, rule));
  }

  async usedAmong(owners: readonly string[]): Promise<ReadonlySet<string>> {
    return this.#providers.on((provider) => usedSolanaOwners(provider, owners, (owner) => this.tokenAccountsOf(owner)));
  }

  unsignedTransfer(transfer: WantedTransfer): Promise<Uint8Array | null> {
    return this.#payerTransactions.unsignedTransfer(transfer);
  }

  disprove(deposit: DepositFacts): Promise<Disproof | null> {
    return agreedDisproof(this.#pool, async (provider) => {
      await this.#providers.admit(provider);
      return solanaDisproof(provider, this.settings, deposit, this.#finalizedSeen);
    });
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  async #reportHead(provider: RpcProvider): Promise<void> {
    await this.#providers.admit(provider);
    provider.report('head', await slotOf(provider, 'confirmed'));
  }

  /** At or below the finalised slot only the finalised answer counts. */
  async #readTransfer(provider: RpcProvider, txHash: string, logIndex: number): Promise<Transfer | null> {
    await this.#providers.admit(provider);
    let transaction = await readTransaction(provider, txHash, 'confirmed');
    if (transaction === null) {
      await this.#assertAbsent(provider, txHash);
      return null;
    }
    if (transaction.slot <= this.#finalizedSeen) {
      transaction = await readTransaction(provider, txHash, 'finalized');
      if (transaction === null) throw new ProviderFault('behind', `does not serve ${txHash} as finalized yet`);
    }
    const deltas = tokenDeltas(transaction, this.settings.tokens);
    const own = deltas.find((delta) => delta.accountIndex === logIndex);
    return own === undefined || own.units <= 0n || own.owner === null
      ? null
      : this.#toTransfer(provider, txHash, transaction, deltas, own);
  }

  async #callsItFinal(provider: RpcProvider, { number, hash }: Block, rule: FinalityRule): Promise<boolean> {
    await this.#providers.admit(provider);
    const commitment = rule.kind === 'finalized' ? 'finalized' : 'confirmed';
    const slot = await slotOf(provider, commitment);
    if (!isFinalEnough(rule, number, { headNumber: slot, finalizedNumber: slot })) return false;
    return (await blockAtSlot(provider, number, commitment))?.hash === hash;
  }

  /** "No such transaction" counts only from a provider that keeps up and has no status for it either. */
  async #assertAbsent(provider: RpcProvider, txHash: string): Promise<void> {
    const slot = await slotOf(provider, 'confirmed');
    provider.report('head', slot);
    if (slot < Math.max(this.#finalizedSeen, this.#headSeen - MAX_LAG_SLOTS))
      throw new ProviderFault('behind', `is ${this.#headSeen - slot} slots behind`);
    if (await hasStatus(provider, txHash, Math.max(0, this.#finalizedSeen)))
      throw new ProviderFault('behind', `knows ${txHash} but does not show it yet`);
  }

  async #toTransfer(
    provider: RpcProvider,
    txHash: string,
    { slot }: SolanaTransaction,
    deltas: readonly TokenDelta[],
    own: TokenDelta,
  ): Promise<Transfer> {
    const block = await blockAtSlot(provider, slot, 'confirmed');
    if (block === null) throw new ProviderFault('behind', `has no block at slot ${slot} yet`);
    return {
      tokenAddress: own.token.address,
      tokenUnits: own.units,
      ...payerOf(deltas, own.token.address),
      toAddress: must(own.owner),
      txHash,
      logIndex: own.accountIndex,
      block,
    };
  }
}

/** Machines behind a load balancer normally differ by a few slots. */
const MAX_LAG_SLOTS = 8;
