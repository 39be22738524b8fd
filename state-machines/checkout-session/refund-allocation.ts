import type { RefundLeg } from '../../src/domain/events/session-events.ts';
import { formatAmount, type Coin } from '../../src/domain/money.ts';
import { depositsOf, type DepositState, type SessionContext } from './session.state.ts';

interface Payer {
  readonly network: RefundLeg['network'];
  readonly address: string;
  readonly deposits: DepositState[];
  left: bigint;
}

/**
 * Splits a refund over those who paid, newest payment first, each capped by what it paid and was not yet given back.
 * Null when the payers that are known cannot take it all (a payment without a single payer is refunded by hand).
 */
export function allocateRefund(context: SessionContext, refundId: string, coin: Coin, units: bigint): RefundLeg[] | null {
  const legs: RefundLeg[] = [];
  let rest = units;
  for (const payer of payersOf(context, coin)) {
    if (rest === 0n) break;
    const share = payer.left < rest ? payer.left : rest;
    if (share <= 0n) continue;
    rest -= share;
    legs.push({
      legId: `${refundId}-${legs.length + 1}`,
      network: payer.network,
      coin,
      toAddress: payer.address,
      amount: formatAmount(share),
      depositKeys: payer.deposits.map((deposit) => deposit.facts.depositKey),
    });
  }
  return rest === 0n ? legs : null;
}

function payersOf(context: SessionContext, coin: Coin): Payer[] {
  const payers = new Map<string, Payer>();
  const deposits = depositsOf(context).filter(
    (deposit) => deposit.facts.coin === coin && deposit.status === 'final' && deposit.facts.fromAddress !== null,
  );
  deposits.sort((one, other) => other.facts.blockTimeSec - one.facts.blockTimeSec || (one.facts.depositKey < other.facts.depositKey ? 1 : -1));
  for (const deposit of deposits) {
    const { network, fromAddress } = deposit.facts;
    const key = payerKey(network, fromAddress!);
    const payer = payers.get(key) ?? { network, address: fromAddress!, deposits: [], left: 0n };
    payer.deposits.push(deposit);
    payer.left += deposit.units;
    payers.set(key, payer);
  }
  for (const refund of Object.values(context.refunds)) {
    for (const { leg, units, status } of Object.values(refund.legs)) {
      const payer = payers.get(payerKey(leg.network, leg.toAddress));
      if (payer && leg.coin === coin && status !== 'FAILED') payer.left -= units;
    }
  }
  return [...payers.values()];
}

const payerKey = (network: string, address: string): string =>
  `${network}:${network === 'ethereum' || network === 'bsc' ? address.toLowerCase() : address}`;
