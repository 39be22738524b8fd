import type { JournalPlaceMoved } from '../../domain/events/treasury-events.ts';
import type { OutgoingSigner, SignedPayment } from '../../ports/outgoing/signer.ts';
import type { InTurn } from '../../runtime/util/in-turn.ts';
import type { TreasuryAccount } from './account.ts';
import { isSigned, type Outgoing, type OutgoingRecords } from './records.ts';
import { releaseUnsigned, takeOver } from './take-over.ts';

interface Parts<Item extends Outgoing> {
  readonly account: TreasuryAccount;
  readonly records: OutgoingRecords<Item>;
  readonly signer: Pick<OutgoingSigner, 'signedAfter'>;
  /** Between the rounds of the executor. */
  readonly turns: InTurn;
  readonly nowSec: () => number;
  readonly forget: (ref: Item['ref']) => void;
  readonly giveUp: (item: Item) => Promise<void>;
}

/**
 * What operators do to the payments of one treasury, between two rounds of its executor, so that nothing is signed at the
 * same moment.
 */
export class Interventions<Item extends Outgoing> {
  readonly #parts: Parts<Item>;

  constructor(parts: Parts<Item>) {
    this.#parts = parts;
  }

  /** Gives one up. Throws while it is being signed, and when it was. */
  async reject(ref: Item['ref']): Promise<void> {
    const { turns, records, account, giveUp } = this.#parts;
    await turns.run(async () => {
      if (records.reservation(await account.context())?.ref.id === ref.id) throw new Error(`${ref.id} is being signed`);
      const item = await records.find(ref);
      const lost = await this.lostSignature(ref.id);
      if (lost !== null) throw new Error(lost);
      if (item) await giveUp(item);
    });
  }

  /**
   * Why an order must not be given up: a restored event log has lost its signature, which the signer still has, or the
   * signer cannot tell. Otherwise null.
   */
  async lostSignature(id: string): Promise<string | null> {
    const { signer, account } = this.#parts;
    const { mode, network } = account.chain;
    const since = await signer.signedAfter(mode, network, (await account.context()).journal);
    if (!('payments' in since)) return `whether ${id} was signed cannot be told: ${since.message}`;
    return since.payments.some((payment) => payment.id === id)
      ? `${id} was signed, but this event log has lost it: take it over (quittance treasury lost)`
      : null;
  }

  /**
   * Between two rounds, records a signature that the signer's journal has and this event log lost. Throws when it does
   * not fit.
   */
  async takeOver(ref: Item['ref'], payment: SignedPayment): Promise<void> {
    const { turns, records, account, nowSec, forget } = this.#parts;
    await turns.run(async () => {
      await takeOver({ ref, payment, records, account, nowSec: nowSec() });
      forget(ref);
    });
  }

  /**
   * Between two rounds, gives up an order that was requested again in place of a payment taken over from the journal.
   * Throws when it was signed.
   */
  async giveWay(ref: Item['ref'], payment: SignedPayment): Promise<void> {
    const { turns, records, account, nowSec, giveUp } = this.#parts;
    await turns.run(async () => {
      await releaseUnsigned(payment, account, nowSec());
      const item = await records.find(ref);
      if (item && isSigned(item)) throw new Error(`${ref.id} was signed`);
      if (item) await giveUp(item);
    });
  }

  /** Between two rounds, skips a transaction of the journal that can never land. Throws when this is refused. */
  async passOver(payment: SignedPayment, data: JournalPlaceMoved['data']): Promise<void> {
    const { turns, account, nowSec } = this.#parts;
    await turns.run(async () => {
      await releaseUnsigned(payment, account, nowSec());
      const refused = await account.tell({ type: 'MoveJournalPlace', data }, data.proposedBy);
      if (refused !== null) throw new Error(refused);
    });
  }
}
