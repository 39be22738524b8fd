import type { TransactionDraft } from '../../../src/domain/events/transaction-draft.ts';
import type { OutgoingTransaction } from '../../../src/ports/outgoing/transaction.ts';
import type { SigningRequest } from '../../../src/ports/outgoing/signer.ts';
import { addressOf, payerOn } from '../networks.ts';

/**
 * What a worker in the hands of an attacker asks the signer for, made out of a request that the service makes: each
 * must be refused. `coldAccount` is allow-listed for withdrawals, which take approvals.
 */
export function forgeriesOf(request: SigningRequest, coldAccount: string): readonly SigningRequest[] {
  const { order } = request;
  const { network } = order;
  const loot = addressOf(network, payerOn(network, 'mallory'));
  const forged = (changes: Partial<OutgoingTransaction>, draft = request.draft): SigningRequest => ({
    ...request,
    draft,
    order: { ...order, ...changes },
  });
  const withdrawal = { kind: 'withdrawal', derivationIndex: null, refund: null, deposits: [] } as const;
  const isPaidBack = order.kind === 'refund' || order.kind === 'return';
  return [
    forged({ toAddress: loot }),
    forged({ ...withdrawal, toAddress: loot }),
    // The withdrawal that people approved is no forgery.
    ...(order.kind === 'withdrawal' ? [] : [forged({ ...withdrawal, toAddress: addressOf(network, coldAccount) })]),
    ...(isPaidBack ? [forged({ amount: `9${order.amount}` }, larger(request.draft))] : []),
  ];
}

/** With a nine before the amount, as the order has it. */
function larger(draft: TransactionDraft): TransactionDraft {
  return 'tokenUnits' in draft ? { ...draft, tokenUnits: `9${draft.tokenUnits}` } : draft;
}
