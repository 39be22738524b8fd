import type { MoveKind, MoveTerms } from '../../../domain/events/treasury-move-events.ts';
import type { OutgoingTransaction } from '../../../ports/outgoing/transaction.ts';

export const orderOf = ({
  kind,
  terms,
}: {
  readonly kind: MoveKind;
  readonly terms: MoveTerms;
}): OutgoingTransaction => {
  const {
    moveId: id,
    mode,
    network,
    coin,
    amount,
    fromAddress,
    toAddress,
    derivationIndex,
    merchantId,
    deposit,
    transfer,
  } = terms;
  const money = { mode, network, coin, amount, fromAddress, toAddress };
  const paidBack = { deposits: deposit ? [{ ...deposit, amount }] : [], ...(transfer && { transfer }) };
  return { kind, id, ...money, derivationIndex, merchantId, refund: null, ...paidBack };
};
