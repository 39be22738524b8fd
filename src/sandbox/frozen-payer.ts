import type { Coin } from '../domain/money/money.ts';
import { InTurn } from '../runtime/util/in-turn.ts';
import type { SandboxPaid, SandboxPayment } from './chain.ts';

/**
 * Lets any payer pay. The coin's issuer unfreezes the frozen one before and freezes it again afterwards, so its money
 * cannot be returned.
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
