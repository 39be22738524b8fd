import { legsOf, sessionOf, take, type SeenSession } from './sessions.ts';
import type { Data, Fact } from './truth.ts';

const SIGNED = /(Signed|Replaced)$/;
const paymentIn = (data: Data): unknown => data['legId'] ?? data['moveId'];

/** What a restored copy of the event log lacks, and the oracle remembers. */
export class LostHistory {
  readonly facts: Fact[] = [];
  /** As they were, those that the copy knows in part among them. */
  readonly sessions: SeenSession[] = [];

  /** Takes the newest events out; answers the sessions as the others tell them. */
  lose(count: number, facts: Fact[], before: ReadonlyMap<string, SeenSession>): Map<string, SeenSession> {
    const lost = facts.splice(facts.length - count);
    this.facts.push(...lost);
    for (const stream of new Set(lost.map((fact) => fact.stream)))
      if (before.has(stream)) this.sessions.push(before.get(stream)!);
    const after = new Map<string, SeenSession>();
    for (const fact of facts) {
      const session = after.get(fact.stream);
      if (session) take(session, fact);
      else if (fact.type === 'SessionCreated') after.set(fact.stream, sessionOf(fact));
    }
    // What was sent for a refund counts, whether or not the copy knows of it.
    const sent = new Map(legsOf(this.sessions).map(({ leg }) => [leg.legId, leg.txHashes]));
    for (const { leg } of legsOf(after.values()))
      for (const txHash of sent.get(leg.legId) ?? []) leg.txHashes.add(txHash);
    return after;
  }

  /**
   * Whether the log lacks payments, which stand against new ones until people have taken them over. What was missing in
   * the books before that stops payouts until people acknowledge it.
   */
  hasPayments(facts: readonly Fact[]): boolean {
    const signed = this.facts.filter(({ type }) => SIGNED.test(type));
    const isSigned = ({ data }: Fact): boolean =>
      signed.some((one) => paymentIn(one.data) === paymentIn(data) && one.data['attempt'] === data['attempt']);
    return (
      signed.some(({ data }) => facts.every((fact) => fact.data['txHash'] !== data['txHash'])) ||
      (this.facts.length > 0 && facts.some(({ type }) => type === 'UnknownOutflowFound')) ||
      this.facts.some((fact) => fact.type.endsWith('SequenceReserved') && !isSigned(fact))
    );
  }

  /** Whether it told of this session or refund. */
  has(id: string): boolean {
    return this.facts.some(({ data }) => data['sessionId'] === id || data['refundId'] === id);
  }
}
