import type { OutgoingTransaction } from '../../src/ports/outgoing/transaction.ts';

type Given = Pick<OutgoingTransaction, 'kind' | 'id' | 'network' | 'coin' | 'amount' | 'fromAddress' | 'toAddress'> &
  Partial<OutgoingTransaction>;

/** A transaction of the test mode; what is not given takes no part in it. */
export const outgoing = (given: Given): OutgoingTransaction => ({
  ...{ mode: 'test', derivationIndex: null, merchantId: null, deposits: [] },
  refund: given.kind === 'refund' ? { sessionId: 'cs_x', refundId: 're_1' } : null,
  ...given,
});
