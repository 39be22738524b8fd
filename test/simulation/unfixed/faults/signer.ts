import { unfixed, type Unfixed } from '../unfixed-fault.ts';

const WHERE = '--focus attack --focus sweep --network bsc --profile embedded';

/** What the signer must refuse to a worker that cannot be trusted. */
export const SIGNER_FAULTS: readonly Unfixed[] = [
  unfixed(
    'the signer refunds to somebody who did not pay',
    WHERE,
    'src/signer/policies/deposits.ts',
    'found.payer !== toAddress)',
    'found.payer === null)',
  ),
  unfixed(
    'the signer refunds more than came',
    WHERE,
    'src/signer/policies/deposits.ts',
    'if (rest > 0n) return refusal(',
    'if (rest < 0n) return refusal(',
  ),
  unfixed(
    'the signer sweeps to an address that is not its treasury',
    WHERE,
    'src/signer/policies/policies.ts',
    'if (order.toAddress !== wallet.treasury[family])',
    'if (order.toAddress === order.fromAddress)',
  ),
  unfixed(
    'the signer withdraws without approvals',
    WHERE,
    'src/signer/policies/policies.ts',
    'return missingApprovals(others, terms, `approvers approved ${order.amount} ${order.coin}`, rules);',
    'return null;',
  ),
];
