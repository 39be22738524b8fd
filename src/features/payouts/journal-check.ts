import type { JournalPlace } from '../../domain/events/transaction-draft.ts';
import type { Mode } from '../../domain/values/ids.ts';
import type { Network } from '../../domain/networks/networks.ts';
import { treasuryStream } from '../../domain/values/streams.ts';
import type { OutgoingSigner, SignerStatus } from '../../ports/outgoing/signer.ts';
import type { TreasuryContext } from '../../../state-machines/treasury/treasury.state.ts';
import { must } from '../../domain/values/must.ts';

const EVERY_MS = 30_000;
/** Named in the signer's journal as the one who stopped it. */
const NO_JOURNAL = 'the service, because the journal of the signer lacks what the event log has paid';

const lostOn = (network: Network, { seq }: JournalPlace): string =>
  `the signer has no journal of what this event log has paid on ${network}, up to entry ${seq}, so it was stopped: restore its journal, or compare with the chains before two approvers resume it (runbook, "A signer without its journal")`;
const aheadOn = (network: Network, signed: JournalPlace | undefined, logPlace: JournalPlace | null): string =>
  `the signer's journal is at entry ${signed?.seq ?? 0} of ${network} and the event log at ${logPlace?.seq ?? 0}: it signed transactions that this event log does not know, as after a restored backup`;

/** The signer's functions that the comparison needs. */
export type JournalKeeper = Pick<OutgoingSigner, 'status' | 'signedAfter' | 'stop'>;

interface Comparison {
  readonly lookedMs: number;
  readonly fault: string | null;
}

/**
 * Checks whether the signer signed something that the event log lacks, as after the restore of a backup, or lacks
 * something that the event log has paid: it would then refuse the next payout, perhaps days later. All executors of a
 * treasury share one check.
 */
export class JournalCheck {
  readonly #signer: JournalKeeper;
  readonly #everyMs: number;
  readonly #last = new Map<string, Comparison>();

  constructor(signer: JournalKeeper, everyMs = EVERY_MS) {
    this.#signer = signer;
    this.#everyMs = everyMs;
  }

  /** Until then, an order of a restored event log may have been paid already. */
  isCompared(mode: Mode, network: Network): boolean {
    return this.#last.has(treasuryStream(mode, network));
  }

  /**
   * What is wrong, for people; the last result while there is nothing to compare. Does not reject when the signer is
   * unavailable.
   */
  async look(mode: Mode, network: Network, context: () => Promise<TreasuryContext>): Promise<string | null> {
    const treasury = treasuryStream(mode, network);
    const last = this.#last.get(treasury) ?? { lookedMs: -Infinity, fault: null };
    // Checks more often while there is a fault, so that a repair shows soon.
    const everyMs = last.fault === null ? this.#everyMs : this.#everyMs / 10;
    if (performance.now() - last.lookedMs < everyMs) return last.fault;
    const before = await context();
    const status = await this.#signer.status(mode).catch(() => null);
    const after = await context();
    // A transaction that is being signed appears in one of them first.
    if (
      !status?.lastPlaces ||
      before.open !== null ||
      after.open !== null ||
      before.journal?.hash !== after.journal?.hash
    )
      return last.fault;
    const fault = await this.#compare(mode, network, after.journal, status).catch(() => undefined);
    if (fault === undefined) return last.fault;
    this.#last.set(treasury, { lookedMs: performance.now(), fault });
    return fault;
  }

  async #compare(
    mode: Mode,
    network: Network,
    logPlace: JournalPlace | null,
    { lastPlaces, stopped }: SignerStatus,
  ): Promise<string | null> {
    if (lastPlaces[network]?.hash === logPlace?.hash) return null;
    const since = await this.#signer.signedAfter(mode, network, logPlace);
    if ('payments' in since) return aheadOn(network, lastPlaces[network], logPlace);
    // Such a signer remembers no cap and no nonce, and would start over on networks of which this event log has
    // nothing.
    if (!stopped) await this.#signer.stop(mode, NO_JOURNAL);
    return lostOn(network, must(logPlace));
  }
}
