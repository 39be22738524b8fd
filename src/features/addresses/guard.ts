import type { AddressHistory, AddressMark, AddressMarks } from '../../ports/address-safety.ts';
import type { AddressDeriver } from '../../ports/addresses.ts';
import type { Log } from '../../ports/log.ts';
import type { AddressLeases, LeasedRange } from './leases.ts';

export interface AddressGuardOptions {
  /** Null: a restored ledger is noticed only by `restored`. */
  readonly marks: AddressMarks | null;
  /** The chains on which the family's addresses live. */
  readonly history: AddressHistory;
  /** The ledger is known to be a copy: how much was leased since is not known. */
  readonly restored: boolean;
  readonly log: Log;
}

/** Indexes left out after a restore, beyond all that is known to be leased. */
const RESTORE_GAP = 100_000;
/** So many unknown addresses in a row, and the chains need not be asked about the next. */
const CHECKED_IN_A_ROW = 256;
/** An exported pool has an end: at most this part of what is left is given up for a gap. */
const GAP_DIVISOR = 4;

/**
 * Sees to it that no address is given out twice although the ledger forgot the lease: what was leased is also
 * remembered apart from the ledger, a ledger that lags behind it skips far ahead, and the addresses after the gap are
 * given out only after their chains were asked about them.
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

  /** Before the first lease; later calls do nothing. Rejects when ledger, mark or deriver cannot be read. */
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
        'the ledger was restored from a backup: addresses that may already be assigned are skipped',
      );
      await this.skipBeyond(this.#mark.next);
    }
    this.#begun = true;
  }

  /** Leaves a gap above `index`, and doubts what follows. */
  async skipBeyond(index: number): Promise<void> {
    const left = Math.max(0, this.#deriver.capacity - index);
    await this.skipTo(index + Math.min(RESTORE_GAP, Math.floor(left / GAP_DIVISOR)));
  }

  /** Gives out nothing below `index` any more, and doubts what follows. */
  async skipTo(index: number): Promise<void> {
    await this.#leases.skipTo(index);
    await this.#remember({
      next: Math.max(this.#mark.next, index),
      checkBelow: Math.max(this.#mark.checkBelow, index + CHECKED_IN_A_ROW),
    });
  }

  /** To be awaited before an index of the range is used. */
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
   * Whether the addresses from `from` on may be given out. When a chain knows one of them, another gap is left, and the
   * rest of the lease must not be used. Rejects when a chain cannot be asked.
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
