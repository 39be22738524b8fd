import type { DepositFacts } from '../../src/domain/events/session-events.ts';
import type { NetworkSettings } from '../../src/domain/networks/networks.ts';
import type { AccountChain, AccountEffect, TokenAccount } from '../../src/ports/chain/account-chain.ts';
import { ChainUnavailable, type Block, type Disproof, type Transfer } from '../../src/ports/chain/chain.ts';

export interface LedgerTransaction {
  readonly txHash: string;
  slot: number;
  readonly owner: string;
  readonly units: bigint;
  readonly from: string | null;
  readonly failed?: boolean;
}

/**
 * A Solana in memory whose lists, balances and transactions can lag, vanish or move, each on its own, as they do at a
 * provider with many machines.
 */
export class ScriptedAccountChain implements AccountChain {
  readonly network = 'solana';
  readonly mode = 'test';
  readonly settings: NetworkSettings;
  transactions: LedgerTransaction[] = [];
  slot = 1_000;
  finalizedSlot = 968;
  /** Added to what the transactions explain. */
  readonly unexplained = new Map<string, bigint>();
  readonly hiddenFromHistory = new Set<string>();
  readonly notShownYet = new Set<string>();
  /** Nobody answers for these when asked by name, although they are in the chain. */
  readonly denied = new Set<string>();
  down = false;
  /** Owners whose history every provider refuses. */
  readonly refused = new Set<string>();
  readonly calls: string[] = [];

  constructor() {
    this.settings = {
      network: 'solana',
      mode: 'test',
      chainId: 'genesis',
      tokens: [{ coin: 'USDT', address: 'mint-usdt', decimals: 6 }],
      simulated: true,
      mainNetwork: false,
      explorerTransactionUrl: null,
    };
  }

  pay(owner: string, units: bigint, changes: Partial<LedgerTransaction> = {}): LedgerTransaction {
    this.slot += 1;
    const transaction = {
      txHash: `tx-${this.transactions.length + 1}`,
      slot: this.slot,
      owner,
      units,
      from: 'payer',
      ...changes,
    };
    this.transactions.push(transaction);
    return transaction;
  }

  finalize(): void {
    this.finalizedSlot = this.slot;
    this.slot += 32;
  }

  timeSec = (slot: number): number => 1_800_000_000 + slot;

  async verify(): Promise<void> {}

  async agreeOnFinality(): Promise<boolean> {
    return true;
  }

  async close(): Promise<void> {}

  tokenAccountsOf(owner: string): readonly TokenAccount[] {
    return [{ account: `ata-${owner}`, owner, token: this.settings.tokens[0]! }];
  }

  async balances(accounts: readonly TokenAccount[]) {
    this.#mustBeUp('balances');
    const units = accounts.map(({ owner }) =>
      this.transactions
        .filter((transaction) => transaction.owner === owner && !transaction.failed)
        .reduce((sum, transaction) => sum + transaction.units, this.unexplained.get(owner) ?? 0n),
    );
    return { units, slot: this.slot, timeSec: this.timeSec(this.slot), providers: ['scripted'] };
  }

  /** By owner. */
  readonly others = new Map<string, (TokenAccount & { units: bigint })[]>();
  async otherHoldings(owner: string) {
    this.#mustBeUp(`others ${owner}`);
    return this.others.get(owner) ?? [];
  }

  async history(account: string, options: { commitment: string; until?: string }) {
    this.#mustBeUp(`history ${account} ${options.commitment}`);
    if ([...this.refused].some((owner) => `ata-${owner}` === account))
      throw new ChainUnavailable('solana: every provider refuses this history');
    const limit = options.commitment === 'finalized' ? this.finalizedSlot : this.slot;
    const all = this.transactions
      .filter(
        ({ owner, txHash, slot }) => `ata-${owner}` === account && slot <= limit && !this.hiddenFromHistory.has(txHash),
      )
      .map(({ txHash, slot, failed }) => ({ txHash, slot, failed: failed ?? false }))
      .reverse();
    const end = all.findIndex(({ txHash }) => txHash === options.until);
    return end < 0 ? all : all.slice(0, end);
  }

  async effectOf(txHash: string, account: TokenAccount): Promise<AccountEffect | null> {
    this.#mustBeUp(`effect ${txHash}`);
    const transaction = this.transactions.find((candidate) => candidate.txHash === txHash);
    if (transaction === undefined || this.notShownYet.has(txHash)) return null;
    return {
      unitsDelta: transaction.units,
      transfer: transaction.units > 0n ? this.#transferOf(transaction, account) : null,
    };
  }

  async finalized(): Promise<Block> {
    this.#mustBeUp('finalized');
    return this.#block(this.finalizedSlot);
  }

  async blockAt(slot: number): Promise<Block | null> {
    this.#mustBeUp('blockAt');
    return slot > this.slot ? null : this.#block(slot);
  }

  /** By what the finalized chain holds. */
  async disprove({ txHash, blockNumber }: DepositFacts): Promise<Disproof | null> {
    this.#mustBeUp(`disprove ${txHash}`);
    const transaction = this.transactions.find((candidate) => candidate.txHash === txHash);
    if (this.finalizedSlot < blockNumber || transaction?.slot === blockNumber) return null;
    return transaction?.failed ? 'failed' : 'reorg';
  }

  async transferAt(txHash: string): Promise<Transfer | null> {
    this.#mustBeUp(`transferAt ${txHash}`);
    if (this.denied.has(txHash)) return null;
    const transaction = this.transactions.find((candidate) => candidate.txHash === txHash);
    return transaction === undefined || transaction.failed
      ? null
      : this.#transferOf(
          transaction,
          this.#accountNamed(`ata-${transaction.owner}`) ?? this.tokenAccountsOf(transaction.owner)[0]!,
        );
  }

  #accountNamed(name: string): TokenAccount | undefined {
    return [...this.others.values()].flat().find(({ account }) => account === name);
  }

  #transferOf(transaction: LedgerTransaction, { owner, token }: TokenAccount): Transfer {
    const { txHash, units, from, slot } = transaction;
    return {
      tokenAddress: token.address,
      tokenUnits: units,
      fromAddress: from,
      toAddress: owner,
      txHash,
      logIndex: 1,
      block: this.#block(slot),
    };
  }

  #block = (slot: number): Block => ({
    number: slot,
    hash: `hash-${slot}`,
    parentHash: `hash-${slot - 1}`,
    timeSec: this.timeSec(slot),
  });

  #mustBeUp(call: string): void {
    this.calls.push(call);
    if (this.down) throw new ChainUnavailable('solana: nobody answers');
  }
}
