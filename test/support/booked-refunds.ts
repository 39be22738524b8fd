import type { DomainEvent } from '../../src/domain/events/domain-event.ts';
import { amountOf, formatAmount, isCoin } from '../../src/domain/money/money.ts';
import type { Network } from '../../src/domain/networks/networks.ts';
import type { RefundId, SessionId } from '../../src/domain/values/ids.ts';
import { sessionStream } from '../../src/domain/values/streams.ts';
import type { OutgoingSigner, SigningRequest, TakenEvents } from '../../src/ports/outgoing/signer.ts';
import type { OutgoingTransaction } from '../../src/ports/outgoing/transaction.ts';
import type { Outgoing } from '../../src/signer/outgoing.ts';
import { createdFacts, depositConfirmed, depositDetected, depositFacts, sessionPaid } from './session-facts.ts';
import { recorded, refundEvent, settlementEvent, settlementTerms, type StreamEvent } from './settlement-log.ts';

/*
 * An event log in which every refund that a test asks a signer for was requested: of money that pays no order, so that
 * no account limits it, or by a merchant who was settled.
 */

const isAmount = (text: string): boolean => /^\d+(\.\d+)?$/.test(text);

/** What payers paid to each session, more than any test refunds. */
const PAID = '1000000';

type Take = (...given: Parameters<OutgoingSigner['takeEvents']>) => TakenEvents | Promise<TakenEvents>;

/** The signer, given the events of each refund before it is asked about it, as the service gives them. */
export function withBookedRefunds<Signer extends Pick<OutgoingSigner, 'check' | 'sign'>>(
  signer: Signer,
  take: Take,
): Signer {
  const booked = new BookedRefunds();
  const { check, sign } = { check: signer.check.bind(signer), sign: signer.sign.bind(signer) };
  return Object.assign(signer, {
    check: async (order: OutgoingTransaction) => (await booked.give(order, take), check(order)),
    sign: async (request: SigningRequest) => (await booked.give(request.order, take), sign(request)),
  });
}

export const bookedIn = (payouts: Outgoing): Outgoing =>
  withBookedRefunds(payouts, (from, events) => payouts.ledger.take(from, events));

export class BookedRefunds {
  readonly #log: StreamEvent[] = [];
  readonly #known = new Set<string>();
  readonly #account: string | null;

  /** `account`: what the merchant's account holds after a settlement of the rest; null if refunds do not need it. */
  constructor(account: string | null = null) {
    this.#account = account;
  }

  async give(order: OutgoingTransaction, take: Take): Promise<void> {
    this.#request(order);
    const { size } = await take(0, []);
    const events = recorded(this.#log.slice(size));
    await take(
      size,
      events.map(({ position: _position, hash: _hash, ...parts }) => parts),
    );
  }

  #request({ kind, id, mode, network, coin, amount, toAddress, refund }: OutgoingTransaction): void {
    if (kind !== 'refund' || refund === null || !isCoin(coin) || !isAmount(amount)) return;
    const sessionId = refund.sessionId as SessionId;
    const facts = depositFacts({ txHash: `0x${sessionId}-${network}-${coin}`, network, coin, amount: PAID });
    const created = createdFacts({ sessionId, mode, ...(this.#account !== null && { dueAmount: PAID }) });
    this.#tell(sessionId, 'created', [{ type: 'SessionCreated', data: created }]);
    if (this.#account === null)
      this.#tell(sessionId, facts.depositKey, [depositDetected(facts, 'late'), depositConfirmed(facts)]);
    else {
      const paid = sessionPaid({ due: PAID, received: PAID });
      this.#tell(sessionId, facts.depositKey, [depositDetected(facts), depositConfirmed(facts), paid]);
      this.#settle(formatAmount(amountOf(PAID) - amountOf(this.#account)), network);
    }
    const leg = { legId: id, network, coin, amount, toAddress };
    const takenFrom = [{ depositKey: facts.depositKey, amount }];
    const refundId = refund.refundId as RefundId;
    this.#tell(sessionId, `${refundId} ${JSON.stringify(leg)}`, [refundEvent(refundId, [{ ...leg, takenFrom }])]);
  }

  /** What a worker may say of a payout that was signed. */
  fail({ id, refund }: OutgoingTransaction): void {
    const data = { refundId: refund?.refundId, legId: id, reason: 'execution_reverted', networkFee: null };
    const failed = { type: 'RefundPayoutFailed', data } as unknown as DomainEvent;
    this.#tell(refund?.sessionId as SessionId, `${id} failed`, [failed]);
  }

  #settle(amount: string, network: Network): void {
    if (this.#log.some(([, { type }]) => type === 'SettlementCompleted')) return;
    const terms = settlementTerms('stl_before', amount, { network });
    this.#log.push(
      ...(['SettlementRequested', 'SettlementCompleted'] as const).map((type) => settlementEvent(type, terms)),
    );
  }

  #tell(sessionId: SessionId, what: string, events: readonly DomainEvent[]): void {
    const stream = sessionStream(sessionId);
    if (this.#known.has(`${stream} ${what}`)) return;
    this.#known.add(`${stream} ${what}`);
    this.#log.push(...events.map((event): StreamEvent => [stream, event]));
  }
}
