import { unfixed, type Unfixed } from '../unfixed-fault.ts';

/**
 * Faults that this repository never had, as somebody might write them who does not know the code well. No plan, aim or
 * promise was made for them before they were first searched for, and fresh plans of every kind look for them.
 */
export const OUTSIDERS_FAULTS: readonly Unfixed[] = [
  unfixed(
    'a fork does not put confirmed deposits in doubt',
    '',
    'src/features/deposits/chain/deposits.ts',
    'if (deposit.facts.blockNumber <= blockNumber) continue;',
    "if (deposit.status === 'final' || deposit.facts.blockNumber <= blockNumber) continue;",
    'fresh plans seldom have a fork beyond twelve blocks of Ethereum with nothing else wrong; the first plan of `--focus deep --network ethereum` finds it',
  ),
  unfixed(
    'the chain alone says which place of the sequence is free',
    '',
    'src/features/payouts/executor.ts',
    'const nonce = known ?? (await this.chain.nextNonce(order.fromAddress));',
    'const nonce = await this.chain.nextNonce(order.fromAddress);',
    "the treasury's state machine refuses a place that is taken, so payouts only wait for each other",
  ),
  unfixed(
    'a balance is short when all that is under way has left',
    '',
    'src/features/treasury/reconcile-look.ts',
    'return onChain >= booked - inFlight ?',
    'return onChain > booked - inFlight ?',
  ),
  unfixed(
    'the signer forgets what it took from a deposit before',
    '',
    'src/signer/policies/deposits.ts',
    'least(units - (taken.get(place) ?? 0n), amountOf(proof.amount))',
    'least(units, amountOf(proof.amount))',
    'no attacker of a plan asks for a refund a second time under another id, and the service itself never asks for too much',
  ),
  unfixed(
    'a failed refund stays reserved in the books',
    '',
    'projections/ledger/postings.ts',
    "postings: [...reservation(books, leg, -1n), ...fee(leg, networkFee ?? '0', 1n)],",
    "postings: fee(leg, networkFee ?? '0', 1n),",
  ),
];
