import type { Mode } from '../../domain/values/ids.ts';
import type { SignerAccount } from '../keys/signer-account.ts';

/**
 * What the signer knows by itself to be our own money: the transactions of its journals, the treasuries of its keys and
 * the collection addresses that it signed for, of all modes. It pays for no order and is paid back to nobody. A
 * collection address can pay only by a transaction that the signer signed, so its journal has each that ever did.
 */
export class OwnMoney {
  readonly #accounts: ReadonlyMap<Mode, SignerAccount>;
  /** Entries read of each journal. */
  readonly #read = new Map<Mode, number>();
  readonly #transactions = new Set<string>();
  readonly #addresses = new Set<string>();

  constructor(accounts: ReadonlyMap<Mode, SignerAccount>) {
    this.#accounts = accounts;
    for (const { wallet } of accounts.values()) {
      const { evm, tron, solana } = wallet.treasury;
      for (const address of [evm, tron, solana]) this.#addresses.add(address);
    }
  }

  hasSigned(txHash: string): boolean {
    this.#readJournals();
    return this.#transactions.has(txHash);
  }

  isAddress(address: string): boolean {
    this.#readJournals();
    return this.#addresses.has(address);
  }

  #readJournals(): void {
    for (const [mode, { journal }] of this.#accounts) {
      const { entries } = journal;
      for (const entry of entries.slice(this.#read.get(mode) ?? 0)) {
        if (entry.kind !== 'signed') continue;
        this.#transactions.add(entry.txHash);
        this.#addresses.add(entry.fromAddress);
        if (entry.purpose === 'gas_top_up' || entry.purpose === 'nonce_account') this.#addresses.add(entry.toAddress);
      }
      this.#read.set(mode, entries.length);
    }
  }
}
