import type { BalanceLook, TokenAccount } from '../../../ports/chain/account-chain.ts';
import { ChainUnavailable } from '../../../ports/chain/chain.ts';
import type { Intake } from '../chain/intake.ts';
import { AccountHistories, type AccountReading } from './accounts.ts';
import type { SolanaCoverage } from './coverage.ts';
import type { WatchedOwner } from './owners.ts';
import type { Pace, WatchSolanaDeps } from './types.ts';
import { must } from '../../../domain/values/must.ts';

interface WatchedAccountsDeps extends Pick<WatchSolanaDeps, 'chain' | 'addresses' | 'observer' | 'booked'> {
  readonly deposits: Pick<Intake, 'observe'>;
  readonly found: Pick<SolanaCoverage, 'saw' | 'found'>;
  readonly pace: Pace;
  readonly unexplainedAfterMs: number;
}

/** The result of reading balances. */
export interface Looked {
  readonly slot: number;
  readonly timeSec: number;
  /** Owners with a balance that could not be explained; how far those were read is unknown. */
  readonly unexplained: ReadonlySet<string>;
}

interface Doubt {
  readonly account: TokenAccount;
  readonly pauseMs: number;
  readonly dueMs: number;
}

/** Number of histories read concurrently. */
const CONCURRENCY = 8;
/** Overdue histories of either kind read per poll. */
const MAX_OVERDUE = 4;
/** A history that is unreadable as a whole or in part is waited for so many times longer than one that is wrong. */
const UNREADABLE_FACTOR = 10;
/** After a long outage a payment is found within this time, at the cost of a history each. */
const LONGEST_DOUBT_MS = 600_000;

/** The token accounts of deposit owners: their balances, and the transactions behind them. */
export class WatchedAccounts {
  finalizedSlot = -1;
  readonly #deps: WatchedAccountsDeps;
  readonly #histories: AccountHistories;
  readonly #accounts = new Map<string, readonly TokenAccount[]>();
  /** When a balance was first seen to differ from its explanation. A history must reach this slot. */
  readonly #changed = new Map<string, { readonly slot: number; readonly atMs: number }>();
  /** Final money in the books at the start. A balance equal to it does not need its history read at once. */
  #booked = new Map<string, bigint>();
  /** Accounts assumed to hold what is booked. Their histories are read later, one after another. */
  readonly #believed = new Map<string, TokenAccount>();
  /** Other accounts of owners, by what they held when that was told. */
  readonly #reported = new Map<string, bigint>();
  /** Balances accepted without explanation. Their histories are reread until they explain them. */
  readonly #doubted = new Map<string, Doubt>();
  #headSlot: number | null = null;
  #timeSec: number | null = null;

  constructor(deps: WatchedAccountsDeps) {
    this.#deps = deps;
    this.#histories = new AccountHistories(deps.chain);
  }

  get headSlot(): number | null {
    return this.#headSlot;
  }

  /** Chain time of the newest balances. */
  get timeSec(): number | null {
    return this.#timeSec;
  }

  async begin(): Promise<void> {
    this.#booked = new Map(await this.#deps.booked?.());
  }

  /** Reads the balances of any number of owners and follows up on changes. */
  async look(watched: readonly WatchedOwner[]): Promise<Looked> {
    const accounts = watched.flatMap(({ owner }) => this.#accountsOf(owner));
    const look = await this.#deps.chain.balances(accounts);
    this.#headSlot = Math.max(this.#headSlot ?? 0, look.slot);
    this.#timeSec = Math.max(this.#timeSec ?? 0, look.timeSec);
    this.#deps.found.saw(look.providers);
    const changed = accounts.flatMap((account, index) =>
      this.#isExplained(account, must(look.units[index])) ? [] : [{ account, units: must(look.units[index]) }],
    );
    const unexplained = new Set<string>();
    const follow = async ({ account, units }: (typeof changed)[number]): Promise<void> => {
      if (!(await this.#follow(account, units, look))) unexplained.add(account.owner);
    };
    for (let at = 0; at < changed.length; at += CONCURRENCY)
      await Promise.all(changed.slice(at, at + CONCURRENCY).map(follow));
    return { slot: look.slot, timeSec: look.timeSec, unexplained };
  }

  /**
   * Reads the finalised histories of an owner's accounts, whatever the balances say. Returns the number of new
   * transfers.
   */
  async readFinal(owner: string): Promise<number> {
    let transfers = 0;
    for (const account of this.#accountsOf(owner)) transfers += await this.#readFinal(account);
    return transfers + ((await this.#readOthers(owner).catch(onlyUnavailable)) ?? 0);
  }

  /** Reads some overdue histories: of balances assumed to be as booked, and of balances that could not be explained. */
  async readOverdue(): Promise<void> {
    const nowMs = this.#deps.pace.nowMs();
    const believed = [...this.#believed.values()].slice(0, MAX_OVERDUE);
    const doubted = [...this.#doubted.values()].filter(({ dueMs }) => dueMs <= nowMs).slice(0, MAX_OVERDUE);
    const tasks = [
      ...believed.map((account) => async () => {
        this.#believed.delete(account.account);
        // One that cannot be read goes behind the others.
        await this.#readFinal(account).catch((error: unknown) => {
          this.#believed.set(account.account, account);
          throw error;
        });
      }),
      ...doubted.map((doubt) => () => this.#readDoubted(doubt, nowMs)),
    ];
    await Promise.all(tasks.map((task) => task().catch(onlyUnavailable)));
  }

  /** Discards what was read of the owner. */
  forget(owner: string): void {
    for (const account of this.#accountsOf(owner)) {
      this.#histories.forget(account.account);
      this.#booked.delete(account.account);
    }
  }

  /** Drops the derived accounts of an ended session: there are many, and they are rarely read. */
  release(owner: string): void {
    this.#accounts.delete(owner);
  }

  #isExplained(account: TokenAccount, units: bigint): boolean {
    const isKnown = this.#histories.knows(account.account);
    const isBooked = !isKnown && units > 0n && this.#booked.get(account.account) === units;
    if (!isBooked && units !== this.#histories.explainedUnits(account.account)) return false;
    if (isBooked) this.#believed.set(account.account, account);
    this.#changed.delete(account.account);
    return true;
  }

  /** Reads the transactions behind a changed balance. False while the history does not explain it yet. */
  async #follow(account: TokenAccount, units: bigint, look: BalanceLook): Promise<boolean> {
    const changed = this.#changed.get(account.account) ?? { slot: look.slot, atMs: this.#deps.pace.nowMs() };
    this.#changed.set(account.account, changed);
    // The balance may be newer than any history available right now.
    const reading = await this.#histories
      .read(account, { commitment: 'confirmed', minSlot: changed.slot }, this.finalizedSlot)
      .catch((error: unknown) => {
        onlyUnavailable(error);
        return null;
      });
    if (reading) await this.#take(reading);
    const isWhole = reading?.isComplete === true;
    const isExplained = isWhole && reading.explainedUnits === units;
    // One account that nobody can read must not hold up coverage and the expiry of all others.
    const hopelessAfterMs = this.#deps.unexplainedAfterMs * (isWhole ? 1 : UNREADABLE_FACTOR);
    if (!isExplained && this.#deps.pace.nowMs() - changed.atMs <= hopelessAfterMs) return false;
    this.#changed.delete(account.account);
    if (isExplained) return true;
    this.#reportUnexplained(account, units, this.#histories.explainedUnits(account.account));
    this.#histories.absorb(account.account, units);
    this.#doubt(account, this.#deps.unexplainedAfterMs);
    return true;
  }

  /** Remembers a reading only after every transfer was accepted by its session, or parked. */
  async #take(reading: AccountReading): Promise<void> {
    await this.#observe(reading);
    reading.accept();
  }

  async #observe({ transfers }: AccountReading): Promise<void> {
    await this.#deps.deposits.observe(transfers);
    this.#deps.found.found(transfers.length);
  }

  async #readFinal(account: TokenAccount): Promise<number> {
    const reading = await this.#histories.read(account, { commitment: 'finalized' }, this.finalizedSlot);
    if (!reading.isComplete)
      throw new ChainUnavailable(`${account.account} lists a transaction that cannot be read yet`);
    await this.#take(reading);
    return reading.transfers.length;
  }

  #doubt(account: TokenAccount, pauseMs: number): void {
    this.#doubted.set(account.account, { account, pauseMs, dueMs: this.#deps.pace.nowMs() + pauseMs });
  }

  /** Reads the whole history again, which may include what it lacked before. */
  async #readDoubted({ account, pauseMs }: Doubt, nowMs: number): Promise<void> {
    this.#doubted.set(account.account, {
      account,
      pauseMs: Math.min(LONGEST_DOUBT_MS, 2 * pauseMs),
      dueMs: nowMs + pauseMs,
    });
    const { units } = await this.#deps.chain.balances([account]);
    const reading = await this.#histories.readWhole(account, this.finalizedSlot);
    await this.#observe(reading);
    if (!reading.isComplete || reading.explainedUnits !== units[0]) return;
    reading.accept();
    this.#doubted.delete(account.account);
  }

  /** Anyone may make another account of an owner and pay into it: that is the owner's money, too. */
  async #readOthers(owner: string): Promise<number> {
    let transfers = 0;
    for (const { units, ...account } of (await this.#deps.chain.otherHoldings?.(owner)) ?? []) {
      transfers += await this.#readFinal(account);
      const explained = this.#histories.explainedUnits(account.account);
      if (explained === units || this.#reported.get(account.account) === units) continue;
      this.#reported.set(account.account, units);
      this.#reportUnexplained(account, units, explained);
    }
    return transfers;
  }

  #reportUnexplained(
    { owner, account }: Pick<TokenAccount, 'owner' | 'account'>,
    balanceUnits: bigint,
    explainedUnits: bigint,
  ): void {
    const sessionId = this.#deps.addresses.sessionOf(owner);
    if (sessionId === null) return;
    const units = { balanceUnits: balanceUnits.toString(), explainedUnits: explainedUnits.toString() };
    this.#deps.observer?.onAnomaly?.({ kind: 'unexplained', sessionId, account, ...units });
  }

  #accountsOf(owner: string): readonly TokenAccount[] {
    let accounts = this.#accounts.get(owner);
    if (!accounts) this.#accounts.set(owner, (accounts = this.#deps.chain.tokenAccountsOf(owner)));
    return accounts;
  }
}

function onlyUnavailable(error: unknown): void {
  if (!(error instanceof ChainUnavailable)) throw error;
}
