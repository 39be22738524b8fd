import type { Coin } from '../domain/money.ts';
import { InTurn } from '../runtime/util/in-turn.ts';
import type { SandboxPaid, SandboxPayment } from './chain.ts';

/** Frees the payer, lets it pay, and has the coin's issuer freeze it again: what it paid cannot go back. */
export function frozenPayer(
  freeze: (coin: Coin, frozen: boolean) => Promise<void>,
  pay: (payment: SandboxPayment) => Promise<SandboxPaid>,
): (payment: SandboxPayment) => Promise<SandboxPaid> {
  const turns = new InTurn();
  return (payment) =>
    turns.run(async () => {
      await freeze(payment.coin, false);
      const paid = await pay(payment);
      await freeze(payment.coin, true);
      return paid;
    });
}
