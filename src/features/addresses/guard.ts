import type { AddressHistory, AddressMark, AddressMarks } from '../../ports/chain/address-safety.ts';
import type { AddressDeriver } from '../../ports/chain/addresses.ts';
import type { Log } from '../../ports/log.ts';
import type { AddressLeases, LeasedRange } from './leases.ts';

export interface AddressGuardOptions {
  /** Null: only `restored` reveals a restored event log. */
  readonly marks: AddressMarks | null;
  /** The chains on which the family's addresses exist. */
  readonly history: AddressHistory;
  /** The event log is known to be a restored copy, so leases after the backup are unknown. */
  readonly restored: boolean;
  readonly log: Log;
}

/** Number of indexes to skip after a restore, beyond every index known to be leased. */
const RESTORE_GAP = 100_000;
/** After this many unused addresses in a row the chains are no longer asked. */
const CHECKED_IN_A_ROW = 256;
/** An exported pool is finite: a gap uses at most this fraction of what is left. */
const GAP_DIVISOR = 4;

/**
 * Prevents that an address is assigned twice when the event log has lost a lease. Leases are also recorded outside the
 * event log. If the event log lags behind that record, the guard skips far ahead and checks the addresses after the gap
 * on their chains before they are assigned.
 */
export class AddressGuard {
  readonly #deriver: AddressDeriver;
  readonly #leases: AddressLeases;
  readonly #options: AddressGuardOptions;
  #begun = false;
  #mark: AddressMark = { next: 0, checkBelow: 0 };
  #firstAddress = '';

  constructor(deriver: AddressDeriver, leases: AddressLeases, options: AddressGuardOptions) {
    this.#deriver = deriver;
    this.#leases = leases;
    this.#options = options;
  }

  /**
   * Must run before the first lease; later calls do nothing. Rejects when event log, mark or deriver cannot be read.
   */
  async begin(): Promise<void> {
    if (this.#begun) return;
    const { marks, restored, log } = this.#options;
    const { mode, family } = this.#deriver;
    [this.#firstAddress = ''] = await this.#deriver.derive(0, 1);
    const known = (await marks?.read(mode, family, this.#firstAddress)) ?? { next: 0, checkBelow: 0 };
    const leased = await this.#leases.next();
    this.#mark = { ...known, next: Math.max(known.next, leased) };
    if (known.next > leased || (restored && leased > 0)) {
      log.error(
        { mode, family, leased, known: known.next },
        'the event log was restored from a backup: addresses that may already be assigned are skipped',
      );
      await this.skipBeyond(this.#mark.next);
    }
    this.#begun = true;
  }

  /** Leaves a gap above `index` and checks the addresses that follow. */
  async skipBeyond(index: number): Promise<void> {
    const left = Math.max(0, this.#deriver.capacity - index);
    await this.skipTo(index + Math.min(RESTORE_GAP, Math.floor(left / GAP_DIVISOR)));
  }

  /** Never assigns an index below `index` again and checks the addresses that follow. */
  async skipTo(index: number): Promise<void> {
    await this.#leases.skipTo(index);
    await this.#remember({
      next: Math.max(this.#mark.next, index),
      checkBelow: Math.max(this.#mark.checkBelow, index + CHECKED_IN_A_ROW),
    });
  }

  /** Await this before using an index of the range. */
  async leased({ to }: LeasedRange): Promise<void> {
    if (to >= this.#mark.next) await this.#remember({ ...this.#mark, next: to + 1 });
  }

  get hasBegun(): boolean {
    return this.#begun;
  }

  isDoubtful(index: number): boolean {
    return index < this.#mark.checkBelow;
  }

  /**
   * Whether the addresses starting at index `from` may be assigned. If a chain knows one of them, the guard leaves
   * another gap and the rest of the lease must not be used. Rejects when a chain cannot be asked.
   */
  async mayGiveOut(from: number, addresses: readonly string[]): Promise<boolean> {
    if (!this.isDoubtful(from)) return true;
    const used = await this.#options.history.usedAmong(addresses);
    const last = addresses.findLastIndex((address) => used.has(address));
    if (last < 0) return true;
    const { mode, family } = this.#deriver;
    this.#options.log.error(
      { mode, family, index: from + last },
      'a chain knows an address that this event log never assigned: more are skipped',
    );
    await this.skipBeyond(from + last + 1);
    return false;
  }

  async #remember(mark: AddressMark): Promise<void> {
    const { mode, family } = this.#deriver;
    await this.#options.marks?.write(mode, family, this.#firstAddress, mark);
    this.#mark = mark;
  }
}
