import { PLANTS } from '../../crash/plants.ts';
import type { PlantedChange } from '../../support/planted-change.ts';
import { UNFIXED_ON_SOLANA } from './unfixed-solana.ts';

/** A fault that this repository once had, put back, or a protection taken out. */
export interface Unfixed {
  readonly name: string;
  readonly changes: readonly PlantedChange[];
  /** Where in the world of plans it is looked for. */
  readonly where: readonly string[];
  /** Why it is not found; absent: it must be. */
  readonly notFound?: string;
}

const DEPOSITS = 'src/features/deposits/chain/deposits.ts';
const SENT = 'src/features/payouts/sent.ts';
const EXECUTOR = 'src/features/payouts/executor.ts';
const STATE = 'state-machines/checkout-session/session.state.ts';
const DECIDER = 'state-machines/checkout-session/session.decider.ts';
const SCHEDULING = 'src/features/webhooks/scheduling.ts';
const KIND = 'state-machines/checkout-session/deposit-kind.ts';
const WATCH = 'src/features/deposits/chain/watch.process.ts';
const HANDLER = 'src/runtime/commands/handler.ts';
const POSTINGS = 'projections/ledger/postings.ts';

const unfixed = (name: string, where: string, file: string, from: string, to: string, notFound?: string): Unfixed => ({
  name,
  where: where.split(' ').filter(Boolean),
  changes: [{ file, from, to }],
  ...(notFound !== undefined && { notFound }),
});

/** Each is taken from a fix of the history, or is a protection that such a fix added to. */
export const UNFIXED: readonly Unfixed[] = [
  unfixed(
    'a sweep on its way counts as money from outside',
    '--focus sweep --network ethereum --profile embedded',
    'src/features/treasury/reconcile-look.ts',
    'return most(booked, onChain - arriving);',
    'return most(onChain, arriving - arriving);',
  ),
  unfixed(
    'an address is swept again for look-ups that are behind',
    '--focus sweep --network bsc --profile embedded',
    'src/features/treasury/sweep.process.ts',
    'return held >= candidate.units ? null :',
    'return held >= 0n ? null :',
    'look-ups of the model are behind for seconds, and a sweep of the same address follows too rarely',
  ),
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
    'the clock catches up within the time that everything has to settle',
  ),
  unfixed(
    'a refund goes out for a deposit that is gone',
    '--focus deep --network ethereum --profile embedded',
    SENT,
    'return isCancelled(item) ? null : this.#parts.records.missing(item);',
    'return null;',
  ),
  unfixed(
    'recorded money goes for what a provider leaves out',
    '--focus provider --network ethereum --profile embedded',
    DEPOSITS,
    'const reason = await this.#disproofOf(deposit);\n    if (reason === null) {\n      deposit.disproofs',
    "const reason = (await this.#disproofOf(deposit)) ?? 'reorg';\n    if (reason === null) {\n      deposit.disproofs",
  ),
  unfixed(
    'a reverted transfer that is back stays reverted',
    '--focus deep --focus reorg --network ethereum --profile embedded',
    DEPOSITS,
    'await inParallel(await this.#reverted.foundAgain(), (transfer) => this.#takeBack(transfer));',
    '',
  ),
  unfixed(
    'the durable cursor passes deposits that are not final',
    '--focus kill --network ethereum --profile embedded',
    DEPOSITS,
    "if (status === 'detected') oldest",
    "if (status !== 'detected' && status !== 'final') oldest",
  ),
  unfixed(
    'deposits of an earlier run are not taken up',
    '--focus kill --network ethereum --profile embedded',
    DEPOSITS,
    'if (this.#tracked.has(facts.depositKey)) continue;',
    'if (facts.depositKey) continue;',
  ),
  unfixed(
    'money that went back pays the session',
    '--network bsc --focus sweep --profile embedded',
    STATE,
    'return sum(onTimeOf(context).map((deposit) => leftOf(deposit, taken)));',
    'return sum(onTimeOf(context).map((deposit) => leftOf(deposit, taken.size < 0 ? taken : new Map())));',
  ),
  unfixed(
    'late money pays the session',
    '--focus sweep --network bsc --profile embedded',
    STATE,
    '=> blockTimeSec > context.expiresAtSec;',
    '=> blockTimeSec > context.expiresAtSec + 86_400;',
  ),
  unfixed(
    'a transfer counts one block too early',
    '--focus sweep --network ethereum --profile embedded',
    'src/domain/finality.ts',
    '>= rule.confirmations;',
    '>= rule.confirmations - 1;',
  ),
  unfixed(
    'a fork is not noticed',
    '--focus reorg --network ethereum --profile embedded',
    WATCH,
    'this.#deposits.suspectAbove(common.number, rewound);',
    '',
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
    'first attempts of a session overtake each other',
    '--focus kill --network bsc --profile embedded',
    SCHEDULING,
    'for (const one of ofSession) await this.retell(one);',
    'await Promise.all(ofSession.toReversed().map((one) => this.retell(one)));',
  ),
  unfixed(
    'the checkpoint of deliveries passes what is not in the log',
    '--focus kill --focus receiver --network bsc --profile embedded',
    SCHEDULING,
    'const batch = this.#settlements.begin(position, notifications.length);',
    'const batch = this.#settlements.begin(position, 0);',
  ),
  unfixed(
    'a retried refund is a second one',
    '--focus sweep --network bsc --profile embedded',
    'src/features/shared/idempotency.ts',
    'givenId: known.givenId, stream, repeated: true };',
    "givenId: known.operation === 'refund' ? `${known.givenId.slice(0, -6)}${Math.random().toString(36).slice(2, 8).padEnd(6, 'a')}` : known.givenId, stream, repeated: true };",
  ),
  unfixed(
    'a payout that no block takes is not repeated',
    '--focus pool --network ethereum --profile embedded',
    SENT,
    "case 'absent':\n",
    "case 'absent':\n        if (item.signed.length > 0) return;\n",
  ),
  unfixed(
    'a payout that left the chain is not sent again',
    '--focus deep --network ethereum --profile embedded',
    SENT,
    'if (again) await this.send(again.item, [again.sent]);',
    '',
  ),
  unfixed(
    'a payout that no block takes keeps its fee',
    '--focus fees --network ethereum --profile embedded',
    SENT,
    'if (!draft) return retries.goesOn(item.ref);',
    'return retries.goesOn(item.ref);',
  ),
  unfixed(
    'a payout whose deposit is gone is never cancelled',
    '--focus deep --network ethereum --profile embedded',
    SENT,
    'if (chain.cancel === undefined) return;',
    'if (chain) return;',
  ),
  unfixed(
    'a reservation is forgotten',
    '--focus kill --network bsc --profile embedded',
    EXECUTOR,
    'if (await this.#finishReserved()) items = await this.#read();',
    '',
  ),
  unfixed(
    'half of what is due pays the session',
    '--focus sweep --network bsc --profile embedded',
    STATE,
    'return units >= context.due - context.tolerance;',
    'return units * 2n >= context.due - context.tolerance;',
  ),
  unfixed(
    'another coin pays the session',
    '--focus sweep --network bsc --profile embedded',
    KIND,
    'if (!created || deposit.coin !== created.dueCoin) return',
    'if (!created) return',
  ),
  unfixed(
    'money that a fork moved over the deadline stays what it was',
    '--focus reorg --focus deep --network ethereum --profile embedded',
    STATE,
    'facts, kind: kindInBlock(context, deposit, data), status',
    'facts, status',
  ),
  unfixed(
    'a transfer is final two blocks before its chain says so',
    '--focus sweep --network bsc --profile embedded',
    'src/domain/finality.ts',
    'blockNumber <= finalizedNumber :',
    'blockNumber <= finalizedNumber + 2 :',
  ),
  unfixed(
    'what the first reading of a block left out is never found',
    '--focus provider --network ethereum --profile embedded',
    WATCH,
    'of await this.#deposits.observe(result.transfers)) this',
    'of [] as string[]) this',
  ),
  unfixed(
    'blocks that do not follow those before are taken',
    '--focus reorg --network ethereum --profile embedded',
    WATCH,
    'if (!(await this.#follows(result))) return;',
    '',
  ),
  unfixed(
    'a transfer counts in a block that is not in the chain',
    '--focus provider --focus reorg --network ethereum --profile embedded',
    DEPOSITS,
    'if (canonical?.hash !== facts.blockHash) return;',
    'if (canonical === undefined) return;',
  ),
  unfixed(
    'one look shows that a payment is gone',
    '--focus provider --focus reorg --network ethereum --profile embedded',
    DEPOSITS,
    'const DISPROOFS_NEEDED = 2;',
    'const DISPROOFS_NEEDED = 1;',
  ),
  unfixed(
    'a refund of a deposit that is gone for good waits for ever',
    '--focus deep --network ethereum --profile embedded',
    EXECUTOR,
    "if (this.#retries.isGone(item.ref, missing)) return this.#fail(item, failure('deposit_reverted'));",
    '',
  ),
  unfixed(
    'a refund takes what another one took',
    '--focus sweep --network bsc --profile embedded',
    STATE,
    'const left = units - (taken.get(facts.depositKey) ?? 0n);',
    'const left = taken.size < 0 ? 0n : units;',
  ),
  unfixed(
    'a payout that moved nothing is looked at for ever',
    '--focus frozen --focus paused --network bsc --profile embedded',
    SENT,
    "case 'ineffective': {\n",
    "case 'ineffective': {\n        if (item.signed.length > 0) return;\n",
  ),
  unfixed(
    'a sweep is done before the chain calls it final',
    '--focus deep --focus sweep --network ethereum --profile embedded',
    SENT,
    "return records.doneOnce === 'landed' || fate.final ?",
    'return fate.landed ?',
  ),
  unfixed(
    'money that was lost is not told from money that never came',
    '--focus deep --network ethereum --profile embedded',
    DECIDER,
    'const isLost = context.sufficientSeen &&',
    'const isLost = context.created === null &&',
  ),
  unfixed(
    'what a receiver refused counts as taken',
    '--focus receiver --network bsc --profile embedded',
    'state-machines/webhook-delivery/delivery.decider.ts',
    "if (verdict.course === 'delivered') return accept<DeliveryEvent>(attempted, {",
    "if (verdict.course !== 'block') return accept<DeliveryEvent>(attempted, {",
  ),
  unfixed(
    'deliveries of an earlier run are not taken up',
    '--focus kill --focus receiver --network bsc --profile embedded',
    'src/features/webhooks/dispatcher.ts',
    'loading: false });\n      await this.#load(queue);',
    'loading: false });',
  ),
  unfixed(
    'notices of a session overtake each other',
    '--focus receiver --network bsc --profile embedded',
    'src/features/webhooks/merchant-queues.ts',
    'if (behind) {\n        behind.push(job);\n        return;\n      }',
    '',
  ),
  unfixed(
    'the fee of a refund is not booked',
    '--focus sweep --network bsc --profile embedded',
    POSTINGS,
    '...payout(books, leg, 1n), ...fee(leg, networkFee, 1n)]',
    '...payout(books, leg, 1n)]',
  ),
  unfixed(
    'the fee of a refund that moved nothing is not booked',
    '--focus frozen --focus paused --network bsc --profile embedded',
    POSTINGS,
    "...reservation(books, leg, -1n), ...fee(leg, networkFee ?? '0', 1n)]",
    '...reservation(books, leg, -1n)]',
  ),
  unfixed(
    'the fee of a sweep is not booked',
    '--focus sweep --network bsc --profile embedded',
    'projections/ledger/treasury-postings.ts',
    "...transfer(kind, data), ...fee(kind, data, data.networkFee, kind === 'native_coin_returned' ? SUSPENSE : NETWORK_FEES)]",
    '...transfer(kind, data)]',
  ),
  unfixed(
    'what was decided on an old state is answered as done',
    '--profile shared --network bsc --focus sweep',
    HANDLER,
    'if (!result.ok) continue;',
    'if (!result.ok) return { ok: true, state: next, events: decision.events };',
  ),
  unfixed(
    'the state before an append of unknown outcome is kept',
    '--profile shared --network bsc --focus store',
    HANDLER,
    'box.value = null;\n      const result',
    'const result',
  ),
  unfixed(
    'an old state says that there is nothing to do',
    '--profile shared --network bsc --focus leases',
    HANDLER,
    'if (this.#soleWriter || cached === null ||',
    'if (this.#soleWriter || cached !== null ||',
  ),
  unfixed(
    'the holder of a lease goes on when its time is over',
    '--profile shared --network bsc --focus leases',
    'src/runtime/leases/with-lease.ts',
    'return !this.#ending.signal.aborted && performance.now() < this.#heldUntilMs;',
    'return this.#heldUntilMs > 0;',
  ),
  unfixed(
    'money that a reorganisation took stays in the books',
    '--focus deep --network ethereum --profile embedded',
    POSTINGS,
    'DepositReverted: reverted,',
    'DepositReverted: nothing,',
  ),
  {
    name: 'a payout is written down after it was sent',
    where: ['--focus', 'kill', '--network', 'bsc', '--profile', 'embedded'],
    changes: PLANTS['record-after-send']!,
  },
  {
    name: 'the signer keeps no journal',
    where: ['--focus', 'kill', '--network', 'bsc', '--profile', 'embedded'],
    changes: PLANTS['no-journal']!,
  },
  ...UNFIXED_ON_SOLANA,
];
