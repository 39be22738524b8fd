import type { BlockRange, TreasuryFunded } from '../../domain/events/treasury-move-events.ts';
import { formatAmount, MAX_WHOLE_UNITS, SCALE } from '../../domain/money/money.ts';
import type { SeenInflow } from '../../ports/outgoing/chain.ts';

type Facts = Omit<TreasuryFunded['data'], 'amount' | 'fromAddress' | 'txHash' | 'logIndex' | 'window'>;

/**
 * Money that the treasury holds beyond the books, as fundings: one for each transfer that the chain names, and the rest
 * as one sum that arrived within these blocks. In either case the difference to the balance is what gets booked.
 */
export function fundingsOf(
  facts: Facts,
  units: bigint,
  inflows: readonly SeenInflow[],
  window: BlockRange,
): TreasuryFunded['data'][] {
  const explaining = explainedBy(facts, units, inflows);
  const explained = explaining.flatMap(({ fromAddress, txHash, logIndex, blockNumber, units: brought }) =>
    partsOf(brought).map((part) => ({
      ...facts,
      amount: formatAmount(part),
      fromAddress,
      txHash,
      logIndex,
      blockNumber,
    })),
  );
  const rest = partsOf(units - sumOf(explaining));
  return [
    ...explained,
    ...rest.map((part) => ({
      ...facts,
      amount: formatAmount(part),
      fromAddress: null,
      txHash: null,
      logIndex: null,
      window,
    })),
  ];
}

/**
 * The transfers certain to be in the balance, or all if they add up to it exactly. If they exceed the balance they
 * explain nothing: something else left in the meantime, and it is unknown which of them are already booked.
 */
function explainedBy(
  { coin, blockNumber }: Facts,
  units: bigint,
  inflows: readonly SeenInflow[],
): readonly SeenInflow[] {
  const ofCoin = inflows.filter((inflow) => inflow.coin === coin);
  if (sumOf(ofCoin) === units) return ofCoin;
  const settled = ofCoin.filter((inflow) => inflow.blockNumber <= blockNumber);
  return sumOf(settled) <= units ? settled : [];
}

const sumOf = (inflows: readonly SeenInflow[]): bigint => inflows.reduce((sum, inflow) => sum + inflow.units, 0n);

/** An event holds less than `MAX_WHOLE_UNITS`; larger amounts are recorded in several. */
function partsOf(units: bigint): bigint[] {
  const most = (MAX_WHOLE_UNITS - 1n) * 10n ** BigInt(SCALE);
  if (units === 0n) return [];
  return units <= most ? [units] : [most, ...partsOf(units - most)];
}
