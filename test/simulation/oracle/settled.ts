import { accountOf, shopOn } from '../networks.ts';
import type { ModelledNetwork } from '../plan/plan.ts';
import type { World } from '../world.ts';
import { legsOf, type SeenSession } from './sessions.ts';
import { unitsOf, type Fact, type Landed } from './truth.ts';

/* Merchants who are settled, and refund what they were settled for. */

const merchantOf = ({ created }: SeenSession): string => String(created['merchantId']);

/** Whether a merchant was paid what its refunds would have to come from, so that they may wait without an end. */
export const isSettled = (facts: readonly Fact[], session: SeenSession): boolean =>
  facts.some(({ type, data }) => type === 'SettlementRequested' && data['merchantId'] === merchantOf(session));

/** Units of a coin that a merchant was settled. */
export const settledIn = (facts: readonly Fact[], merchant: string, coin: string): bigint =>
  facts
    .filter(
      ({ type, data }) => type === 'SettlementCompleted' && data['merchantId'] === merchant && data['coin'] === coin,
    )
    .reduce((sum, { data }) => sum + unitsOf(data['amount']), 0n);

/** What an approver was asked to sign by somebody else must not have come to be. */
export function whyNotTyped({ merchants }: World, { type, stream, data }: Fact): string | null {
  if (type !== 'SettlementAddressSet') return null;
  const number = merchants.findIndex(({ account }) => stream === `merchant-${account?.id}`);
  const own = shopOn(data['network'] as ModelledNetwork, number);
  return accountOf(String(data['address'])) === own ? null : `${String(data['address'])} is what nobody typed`;
}

/** Nobody who was settled got more, by settlements and refunds together, than was paid for them. */
export function judgeSettled(
  sessions: readonly SeenSession[],
  facts: readonly Fact[],
  movements: readonly Landed[],
): string[] {
  const settlements = facts.filter(({ type }) => type === 'SettlementCompleted');
  const faults: string[] = [];
  for (const [merchant, own] of Map.groupBy(sessions, merchantOf)) {
    const ofMerchant = settlements.filter(({ data }) => data['merchantId'] === merchant);
    // What a fork takes back after it was settled is nobody's fault.
    if (ofMerchant.length === 0 || own.some(({ wasReversed }) => wasReversed)) continue;
    const paidOut = new Set([
      ...ofMerchant.map(({ data }) => String(data['txHash'])),
      ...legsOf(own).flatMap(({ leg }) => [...leg.txHashes]),
    ]);
    const addresses = new Set(own.flatMap((session) => [...session.addresses]));
    const sums = new Map<string, bigint>();
    for (const { to, txHash, network, coin, units } of movements) {
      const by = addresses.has(to) ? units : paidOut.has(txHash) ? -units : 0n;
      sums.set(`${coin} on ${network}`, (sums.get(`${coin} on ${network}`) ?? 0n) + by);
    }
    for (const [what, left] of sums)
      if (left < 0n) faults.push(`${merchant} was settled and got ${-left} units of ${what} more than came for it`);
  }
  return faults;
}
