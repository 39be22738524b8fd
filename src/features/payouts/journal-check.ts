import type { Mode } from '../../domain/ids.ts';
import type { Network } from '../../domain/networks.ts';
import type { OutgoingSigner } from '../../ports/outgoing-signer.ts';
import type { TreasuryContext } from '../../../state-machines/treasury/treasury.state.ts';

const EVERY_MS = 30_000;
/** Who stopped it, in its journal. */
const NO_JOURNAL = 'the service, since the signer has no journal beside a ledger that has paid';
const LOST =
  'the signer has no journal of what this ledger has paid, so it was stopped: bring its journal back, or compare with the chains before two approvers resume it (runbook, "A signer without its journal")';

const faultOf = (network: Network, signedTo: number, knownTo: number): string =>
  `the signer's journal is at entry ${signedTo} of ${network} and the ledger at ${knownTo}: ` +
  (signedTo > knownTo
    ? 'it signed what this ledger does not know, as after a restored backup'
    : 'it is not the journal of this ledger, or an older copy');

/**
 * Looks whether the signer signed what this ledger does not know, as after the restore of a backup: the signer would
 * refuse the next payout, and that may be asked for days later.
 */
export class JournalCheck {
  readonly #signer: Pick<OutgoingSigner, 'status' | 'stop'>;
  readonly #everyMs: number;
  #lookedMs = -Infinity;
  #fault: string | null = null;

  constructor(signer: Pick<OutgoingSigner, 'status' | 'stop'>, everyMs = EVERY_MS) {
    this.#signer = signer;
    this.#everyMs = everyMs;
  }

  /**
   * What is wrong, for people; as last seen while there is nothing to compare. Never rejects for a signer that is away.
   */
  async look(mode: Mode, network: Network, context: () => Promise<TreasuryContext>): Promise<string | null> {
    if (performance.now() - this.#lookedMs < this.#everyMs) return this.#fault;
    const before = await context();
    const status = await this.#signer.status(mode).catch(() => null);
    const after = await context();
    // What is being signed is in the one before it is in the other.
    if (
      !status?.lastSigned ||
      before.open !== null ||
      after.open !== null ||
      before.journal?.hash !== after.journal?.hash
    )
      return this.#fault;
    this.#lookedMs = performance.now();
    const [journal, ledger] = [status.lastSigned[network] ?? null, after.journal];
    // It remembers no cap and no nonce, and would begin anew on networks that this ledger has nothing of.
    if (status.isNew && ledger !== null) await this.#signer.stop(mode, NO_JOURNAL).catch(() => undefined);
    this.#fault =
      journal?.hash === ledger?.hash
        ? null
        : status.entries === 0
          ? LOST
          : faultOf(network, journal?.seq ?? 0, ledger?.seq ?? 0);
    return this.#fault;
  }
}
