import { unfixed, type Unfixed } from '../unfixed-fault.ts';

const STATE = 'state-machines/checkout-session/session.state.ts';
const DECIDER = 'state-machines/checkout-session/session.decider.ts';
const KIND = 'state-machines/checkout-session/deposit-kind.ts';

/** What money makes of a session, and when a session ends. */
export const SESSIONS_FAULTS: readonly Unfixed[] = [
  unfixed(
    'a clock set forward expires what can be read',
    '--focus clock --focus provider --profile embedded',
    'src/features/sessions/expire.process.ts',
    '(waitedEnough && isStuck)',
    'waitedEnough',
  ),
  unfixed(
    'a session expires without waiting for its networks',
    '--focus halt --focus provider --profile embedded',
    'src/features/sessions/expire.process.ts',
    '!mayEnd) return;',
    '(!mayEnd && nowSec < 0)) return;',
  ),
  unfixed(
    'a session stays open after a clock that was ahead',
    '--focus clock --profile embedded',
    'src/features/sessions/due.ts',
    ' || nowMs < entry.postponedAtMs) due',
    ') due',
  ),
  unfixed(
    'money that went back pays the session',
    '--network bsc --focus sweep --profile embedded',
    STATE,
    'bigint => deposits.sums.held;',
    'bigint => deposits.sums.arrived;',
  ),
  unfixed(
    'late money pays the session',
    '--focus sweep --network bsc --profile embedded',
    STATE,
    '=> blockTimeSec > context.expiresAtSec;',
    '=> blockTimeSec > context.expiresAtSec + 86_400;',
  ),
  unfixed(
    'a session expires while money is on its way',
    '--focus sweep --network ethereum --profile embedded',
    DECIDER,
    "value !== 'open' || hasPending(context) ||",
    "(value !== 'open' && value !== 'processing') ||",
  ),
  unfixed(
    'a cancelled session is paid after all',
    '--focus sweep --network ethereum --profile embedded',
    'state-machines/checkout-session/payment.ts',
    'cancelled !== null || total === 0n',
    'total === 0n',
  ),
  unfixed(
    'half of what is due pays the session',
    '--focus sweep --network bsc --profile embedded',
    STATE,
    'return units >= context.due - context.tolerance;',
    'return units * 2n >= context.due - context.tolerance;',
  ),
  {
    name: 'another coin pays the session',
    where: ['--network', 'bsc', '--focus', 'sweep', '--profile', 'embedded'],
    changes: [
      {
        file: KIND,
        from: "if (deposit.coin !== created.dueCoin) return 'wrong_coin';",
        to: '',
      },
      { file: KIND, from: 'network === deposit.network && coin === deposit.coin', to: 'network === deposit.network' },
    ],
  },
  unfixed(
    'money that a fork moved over the deadline stays what it was',
    '--focus deep --focus deadline --network ethereum --profile embedded',
    'state-machines/checkout-session/deposits.decider.ts',
    'const kind = kindInBlock(context, deposit, data);',
    'const kind = deposit.kind;',
  ),
  unfixed(
    'a refund takes what another one took',
    '--focus sweep --network bsc --profile embedded',
    'state-machines/checkout-session/deposits.ts',
    'units > taken ? units - taken : 0n;',
    'units + taken > taken ? units : 0n;',
  ),
  unfixed(
    'money that was lost is not told from money that never came',
    '--focus deep --network ethereum --profile embedded',
    DECIDER,
    'const isLost = context.sufficientSeen &&',
    'const isLost = context.created === null &&',
  ),
  unfixed(
    'a transfer that a fork moved before the deadline stays late',
    '--focus reorg --focus deep --network ethereum --profile embedded',
    KIND,
    "return isPastDeadline(context, block) ? 'late' : 'on_time';",
    "return isPastDeadline(context, block) ? 'late' : kind;",
  ),
];
