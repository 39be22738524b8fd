import type { DepositProof } from '../../../domain/networks/deposit-proof.ts';
import type { OutgoingTransaction } from '../../../ports/outgoing/transaction.ts';
import {
  optionAt,
  type LegState,
  type RefundState,
  type SessionContext,
} from '../../../../state-machines/checkout-session/session.state.ts';

/** A leg from the session's stream, with the order that chain and signer understand. */
export interface OrderedLeg {
  readonly refund: RefundState;
  readonly leg: LegState;
  readonly order: OutgoingTransaction;
}

/** Null if the session has no such leg. */
export function orderedLeg(
  context: SessionContext,
  refundId: string,
  legId: string,
  treasury: string,
): OrderedLeg | null {
  const refund = context.refunds[refundId];
  const leg = refund?.legs[legId];
  const created = context.created;
  if (!refund || !leg || !created) return null;
  const { network, coin, amount, toAddress, takenFrom } = leg.leg;
  const deposits = takenFrom.flatMap((part) => {
    const proof = proofOf(context, part.depositKey);
    return proof ? [{ ...proof, amount: part.amount }] : [];
  });
  const { mode, sessionId } = created;
  const money = { mode, network, coin, amount, fromAddress: treasury, toAddress };
  const of = { sessionId, refundId };
  const order = {
    kind: 'refund',
    id: legId,
    ...money,
    derivationIndex: null,
    merchantId: null,
    refund: of,
    deposits,
  } as const;
  return { refund, leg, order };
}

function proofOf({ created, deposits }: SessionContext, depositKey: string): DepositProof | null {
  const { facts, credit } = deposits.get(depositKey) ?? {};
  if (credit) {
    const { txHash, logIndex, blockNumber, toAddress, derivationIndex } = credit;
    return { depositKey, txHash, logIndex, blockNumber, toAddress, derivationIndex };
  }
  const option = facts && created && optionAt(created, facts.toAddress);
  if (!option) return null;
  return {
    depositKey,
    txHash: facts.txHash,
    logIndex: facts.logIndex,
    blockNumber: facts.blockNumber,
    toAddress: option.address,
    derivationIndex: option.derivationIndex,
  };
}
