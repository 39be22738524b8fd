import type {
  AccountChain,
  AccountEffect,
  HistoryEntry,
  HistoryOptions,
  TokenAccount,
} from '../../../ports/chain/account-chain.ts';
import type { Transfer } from '../../../ports/chain/chain.ts';

/** What is known about the history of one account. */
interface AccountState {
  /** Everything up to this transaction is final and counted in `baseUnits`. */
  cursor: { readonly txHash: string; readonly slot: number } | null;
  baseUnits: bigint;
  /** Transactions above the cursor. */
  recent: Map<string, { readonly slot: number; readonly unitsDelta: bigint }>;
}

/** One reading of an account's history. Takes effect only with `accept`. */
export interface AccountReading {
  /** Incoming transfers of transactions not read before. */
  readonly transfers: readonly Transfer[];
  /** The balance that the whole history adds up to. */
  readonly explainedUnits: bigint;
  /** False if a transaction is listed but not available yet. */
  readonly isComplete: boolean;
  accept(): void;
}

const CONCURRENCY = 8;
const UNREAD: AccountState = { cursor: null, baseUnits: 0n, recent: new Map() };

/**
 * Compares account balances with their known histories. A difference means that a transaction was not read yet, so no
 * transfer can be missed between two polls, however far the providers lag.
 */
export class AccountHistories {
  readonly #chain: AccountChain;
  readonly #states = new Map<string, AccountState>();

  constructor(chain: AccountChain) {
    this.#chain = chain;
  }

  /** Zero for an unknown account. */
  explainedUnits(account: string): bigint {
    const state = this.#states.get(account);
    return state === undefined ? 0n : sumOf(state);
  }

  /** Whether any of its history was read, or its balance was accepted without explanation. */
  knows(account: string): boolean {
    return this.#states.has(account);
  }

  /** Accepts a balance that the transactions do not explain; the base absorbs the difference. */
  absorb(account: string, balanceUnits: bigint): void {
    const state = this.#stateOf(account);
    this.#states.set(account, { ...state, baseUnits: state.baseUnits + balanceUnits - sumOf(state) });
  }

  /** Discards what was read: a transaction left the chain, or the caller wants certainty. */
  forget(account: string): void {
    this.#states.delete(account);
  }

  /** Reads what is above the cursor. The cursor may advance up to `finalizedSlot`. */
  read(
    account: TokenAccount,
    options: Pick<HistoryOptions, 'commitment' | 'minSlot'>,
    finalizedSlot: number,
  ): Promise<AccountReading> {
    return this.#readFrom(this.#stateOf(account.account), account, options, finalizedSlot);
  }

  /** Reads the whole history of the account, ignoring what is known. */
  readWhole(account: TokenAccount, finalizedSlot: number): Promise<AccountReading> {
    return this.#readFrom(UNREAD, account, { commitment: 'confirmed' }, finalizedSlot);
  }

  async #readFrom(
    state: AccountState,
    account: TokenAccount,
    options: Pick<HistoryOptions, 'commitment' | 'minSlot'>,
    finalizedSlot: number,
  ): Promise<AccountReading> {
    const entries = [...(await this.#chain.history(account.account, aboveCursor(state, options)))].reverse();
    const unread = entries.filter((entry) => !entry.failed && state.recent.get(entry.txHash)?.slot !== entry.slot);
    const effects = new Map<string, AccountEffect | null>();
    for (let at = 0; at < unread.length; at += CONCURRENCY) {
      const read = async ({ txHash }: HistoryEntry): Promise<unknown> =>
        effects.set(txHash, await this.#chain.effectOf(txHash, account));
      await Promise.all(unread.slice(at, at + CONCURRENCY).map(read));
    }
    const next = advance(state, entries, effects, options.commitment, finalizedSlot);
    return {
      transfers: unread.flatMap(({ txHash }) => effects.get(txHash)?.transfer ?? []),
      explainedUnits: sumOf(next),
      isComplete: unread.every(({ txHash }) => effects.get(txHash) !== null),
      accept: () => {
        this.#states.set(account.account, next);
      },
    };
  }

  #stateOf(account: string): AccountState {
    return this.#states.get(account) ?? UNREAD;
  }
}

/** A provider that has not reached the cursor does not know it and would list older transactions again. */
function aboveCursor(
  { cursor }: AccountState,
  options: Pick<HistoryOptions, 'commitment' | 'minSlot'>,
): HistoryOptions {
  return cursor === null
    ? options
    : {
        ...{ ...options, until: cursor.txHash, untilSlot: cursor.slot },
        minSlot: Math.max(options.minSlot ?? 0, cursor.slot),
      };
}

/** The state after a reading. A transaction that is no longer listed has left the chain and is dropped. */
function advance(
  state: AccountState,
  entries: readonly HistoryEntry[],
  effects: ReadonlyMap<string, AccountEffect | null>,
  commitment: HistoryOptions['commitment'],
  finalizedSlot: number,
): AccountState {
  // A list at `finalized` is shorter than what is known, so it can only add.
  const recent: AccountState['recent'] = new Map(commitment === 'finalized' ? state.recent : []);
  const next: AccountState = { ...state, recent };
  let mayMove = true;
  for (const { txHash, slot, failed } of entries) {
    const known = state.recent.get(txHash);
    const effect = effects.get(txHash);
    const unitsDelta = failed ? 0n : known?.slot === slot ? known.unitsDelta : effect?.unitsDelta;
    if (unitsDelta === undefined) {
      mayMove = false;
      continue;
    }
    if (mayMove && slot <= finalizedSlot) {
      next.cursor = { txHash, slot };
      next.baseUnits += unitsDelta;
      next.recent.delete(txHash);
    } else {
      next.recent.set(txHash, { slot, unitsDelta });
    }
  }
  return next;
}

function sumOf({ baseUnits, recent }: AccountState): bigint {
  let sum = baseUnits;
  for (const { unitsDelta } of recent.values()) sum += unitsDelta;
  return sum;
}
