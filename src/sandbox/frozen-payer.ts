import type { Coin } from '../domain/money.ts';
import { InTurn } from '../runtime/util/in-turn.ts';
import type { SandboxPaid, SandboxPayment } from './chain.ts';

/**
 * Lets any payer pay; the frozen one is freed before and frozen again by the coin's issuer after it, so what it paid
 * cannot go back.
 */
export function withFrozenPayer(
  freeze: (coin: Coin, frozen: boolean) => Promise<void>,
  pay: (payment: SandboxPayment) => Promise<SandboxPaid>,
): (payment: SandboxPayment) => Promise<SandboxPaid> {
  const turns = new InTurn();
  return (payment) => {
    if (payment.payer !== 'frozen') return pay(payment);
    return turns.run(async () => {
      await freeze(payment.coin, false);
      const paid = await pay(payment);
      await freeze(payment.coin, true);
      return paid;
    });
  };
}
