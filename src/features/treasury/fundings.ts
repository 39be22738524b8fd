import type { TreasuryFunded } from '../../domain/events/treasury-move-events.ts';
import { formatAmount, MAX_WHOLE_UNITS, SCALE } from '../../domain/money.ts';
import type { SeenInflow } from '../../ports/outgoing-chain.ts';

type Facts = Omit<TreasuryFunded['data'], 'amount' | 'fromAddress' | 'txHash' | 'logIndex'>;

/**
 * Money that the treasury has beyond the books, as what was brought: each transfer by itself where those that the chain shows come to exactly as much, and
 * one sum without a transaction otherwise. What is booked is the difference of the balance either way.
 */
export function fundingsOf(facts: Facts, units: bigint, inflows: readonly SeenInflow[]): TreasuryFunded['data'][] {
  const ofCoin = inflows.filter(({ coin }) => coin === facts.coin);
  const settled = ofCoin.filter(({ blockNumber }) => blockNumber <= facts.blockNumber);
  const explaining = [settled, ofCoin].find((some) => some.length > 0 && some.reduce((sum, inflow) => sum + inflow.units, 0n) === units);
  if (!explaining) return partsOf(units).map((part) => ({ ...facts, amount: formatAmount(part), fromAddress: null, txHash: null, logIndex: null }));
  return explaining.flatMap(({ fromAddress, txHash, logIndex, blockNumber, units: brought }) =>
    partsOf(brought).map((part) => ({ ...facts, amount: formatAmount(part), fromAddress, txHash, logIndex, blockNumber })),
  );
}

/** An event holds less than `MAX_WHOLE_UNITS`; what is more is written down in several. */
function partsOf(units: bigint): bigint[] {
  const most = (MAX_WHOLE_UNITS - 1n) * 10n ** BigInt(SCALE);
  return units <= most ? [units] : [most, ...partsOf(units - most)];
}
