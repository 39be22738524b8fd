import { amountOf, COINS } from '../../src/domain/money/money.ts';
import { refundableOf } from '../../src/domain/money/refundable.ts';
import type { DepositState, DepositSums } from '../../state-machines/checkout-session/deposits.ts';
import type { SessionContext } from '../../state-machines/checkout-session/session.state.ts';

/* The sums of a session as their definitions say, by walking over everything: what the running sums must agree with. */

/** By deposit key: what refunds have paid out of it or hold reserved. A failed leg is released. */
export function takenByDeposit({ refunds }: SessionContext): ReadonlyMap<string, bigint> {
  const taken = new Map<string, bigint>();
  for (const { legs } of Object.values(refunds))
    for (const { leg, status } of Object.values(legs)) {
      if (status === 'FAILED') continue;
      for (const { depositKey, amount } of leg.takenFrom)
        taken.set(depositKey, (taken.get(depositKey) ?? 0n) + amountOf(amount));
    }
  return taken;
}

function plainLeft({ facts, kind, status, units, aside }: DepositState, taken: ReadonlyMap<string, bigint>): bigint {
  const left = units - (taken.get(facts.depositKey) ?? 0n);
  return status === 'final' && kind !== 'own' && aside === undefined && left > 0n ? left : 0n;
}

export function plainSums(context: SessionContext): DepositSums {
  const taken = takenByDeposit(context);
  const all = [...context.deposits];
  const ours = all.filter(({ aside }) => aside === undefined);
  const sum = (deposits: readonly DepositState[], of: (deposit: DepositState) => bigint): bigint =>
    deposits.reduce((total, deposit) => total + of(deposit), 0n);
  const onTime = (status: DepositState['status']): DepositState[] =>
    ours.filter((deposit) => deposit.kind === 'on_time' && deposit.status === status);
  const [USDT, USDC] = COINS.map((coin) => {
    const ofCoin = all.filter(({ facts }) => facts.coin === coin);
    return {
      final: sum(
        ofCoin.filter(({ aside, status, kind }) => aside === undefined && status === 'final' && kind !== 'own'),
        ({ units }) => units,
      ),
      refundable: sum(ofCoin, (deposit) =>
        refundableOf({
          kind: deposit.kind,
          fromAddress: deposit.facts.fromAddress,
          left: plainLeft(deposit, taken),
        }),
      ),
    };
  });
  return {
    arrived: sum(onTime('final'), ({ units }) => units),
    held: sum(onTime('final'), (deposit) => plainLeft(deposit, taken)),
    pending: sum(onTime('detected'), ({ units }) => units),
    pendingCount: onTime('detected').length,
    countedCount: all.filter(({ kind, status }) => kind === 'on_time' && (status === 'detected' || status === 'final'))
      .length,
    dustCount: all.filter(({ kind }) => kind === 'dust').length,
    final: { USDT: USDT!.final, USDC: USDC!.final },
    refundable: { USDT: USDT!.refundable, USDC: USDC!.refundable },
  };
}
