import { unfixed, type Unfixed } from '../unfixed-fault.ts';

/* Money that the chain, the caps or two people did not allow. */

const ATTACKED = '--focus attack --focus sweep --focus operator --profile embedded';
const OUTGOING = 'src/signer/outgoing.ts';
const DEPOSITS = 'src/signer/policies/deposits.ts';

export const MOVES_FAULTS: readonly Unfixed[] = [
  unfixed(
    'a merchant who was settled refunds with the money of others',
    '--focus settle --network bsc --profile embedded',
    DEPOSITS,
    'return accountRefusal(order, parts) ??',
    'return',
  ),
  {
    name: 'a sweep is paid back as a deposit',
    where: [...ATTACKED.split(' '), '--network', 'bsc'],
    changes: [
      { file: DEPOSITS, from: 'own.hasSigned(txHash)', to: 'false' },
      { file: DEPOSITS, from: 'const isOwn = own.isAddress(toAddress) ||', to: 'const isOwn = false &&' },
      { file: DEPOSITS, from: 'return accountRefusal(order, parts) ??', to: 'return' },
    ],
  },
  unfixed(
    'money of the treasury pays an order',
    '--focus misplace --network bsc --profile embedded',
    'state-machines/checkout-session/deposits.decider.ts',
    "isOwn === true ? 'own' : kindOf(context, facts)",
    'kindOf(context, facts)',
  ),
  unfixed(
    'the money of a payment that landed is given free',
    `${ATTACKED} --network bsc`,
    OUTGOING,
    'if (!view || !(await view.hadNoEffect(entries, seenIn)))',
    'if (!view)',
  ),
  unfixed(
    'a transfer of TRX that landed counts as without effect',
    `${ATTACKED} --network tron`,
    'src/domain/networks/outcomes.ts',
    "'tron-native': tronTransfer",
    "'tron-native': (info: TronInfoResult): Outcome => (tronCall(info) === 'moved' ? 'moved' : 'nothing')",
  ),
  unfixed(
    'what is judged is signed although the signer was stopped meanwhile',
    '--focus stop --focus sweep --network bsc --profile embedded',
    OUTGOING,
    "if (stopped) return stopped; crashPoint('signer-before-journal');",
    "crashPoint('signer-before-journal');",
  ),
  unfixed(
    'an approver signs what a false service asks',
    '--focus socket --focus settle --network bsc --profile embedded',
    'src/cli/approval-terms.ts',
    'if (fits(found)) continue;',
    'if (found) continue;',
  ),
];
