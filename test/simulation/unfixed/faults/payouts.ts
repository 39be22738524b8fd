import { PLANTS } from '../../../crash/plants.ts';
import { unfixed, type Unfixed } from '../unfixed-fault.ts';

const SENT = 'src/features/payouts/sent.ts';
const EXECUTOR = 'src/features/payouts/executor.ts';
const RECORDS = 'src/features/payouts/moves/records.ts';

/** Money out: refunds, sweeps, and their transactions. */
export const PAYOUTS_FAULTS: readonly Unfixed[] = [
  unfixed(
    'an address is swept again for look-ups that are behind',
    '--focus sweep --focus behind --network bsc --profile embedded',
    'src/features/treasury/sweep.process.ts',
    'return held >= candidate.units ? null :',
    'return held >= 0n ? null :',
  ),
  unfixed(
    'a refund goes out for a deposit that is gone',
    '--focus deep --focus aimed --network ethereum --profile embedded',
    SENT,
    'return isCancelled(item) ? null : this.#parts.records.missing(item);',
    'return null;',
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
    '--focus deep --focus aimed --network ethereum --profile embedded',
    SENT,
    'if (again) await this.send(again.item, [again.sent]);',
    '',
    'the payout is open again once its transaction has left the chain, and the next look sends it',
  ),
  unfixed(
    'a payout that no block takes keeps its fee',
    '--focus fees --focus aimed --focus refund --network ethereum --profile embedded',
    SENT,
    'if (!draft) return retries.goesOn(item.ref);',
    'return retries.goesOn(item.ref);',
  ),
  unfixed(
    'a payout that every node dropped is never offered more',
    '--focus fees --focus aimed --network ethereum --profile embedded',
    SENT,
    'return refused === null ? this.#bumpWhenDue(item) :',
    'return refused === null ? retries.goesOn(item.ref) :',
  ),
  unfixed(
    'a sweep is signed at a fee of nothing while a node does not show its gas',
    '--replay test/simulation/cases/sweep-signed-before-its-gas-is-seen.json',
    'src/adapters/evm/outgoing.ts',
    'if (affordable < fees.least &&',
    'if (affordable < 0n &&',
    'its fee is raised as soon as the node shows the gas, as for every transaction that no node takes, so the sweep is only late',
  ),
  unfixed(
    'gas for a sweep is refused for good while a provider lags',
    '--focus lagMs --focus sweep --network tron --profile embedded',
    'src/signer/policies/top-ups.ts',
    "refusal('later', 'nothing_to_sweep'",
    "refusal('denied', 'nothing_to_sweep'",
  ),
  unfixed(
    'a payout whose deposit is gone is never cancelled',
    '--replay test/simulation/cases/refund-of-a-deposit-gone-for-good.json',
    SENT,
    'if (chain.cancel === undefined) return;',
    'if (chain) return;',
  ),
  unfixed(
    'a reservation is forgotten',
    '--focus kill --focus aimed --network bsc --profile embedded',
    EXECUTOR,
    'if (await this.#finishReserved()) items = await this.#read();',
    '',
  ),
  unfixed(
    'a refund of a deposit that is gone for good waits for ever',
    '--focus deep --network ethereum --profile embedded',
    EXECUTOR,
    "if (this.#retries.isGone(item.ref, missing)) return this.#end(item, failure('deposit_reverted'));",
    '',
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
    'a sweep of money that left the chain waits for ever',
    '--focus deep --focus sweep --network ethereum --profile embedded',
    RECORDS,
    'const isGone = isShort && ',
    'const isGone = !isShort && isShort && ',
  ),
  unfixed(
    'a sweep is written down before the gas that it burnt',
    '--focus provider --focus sweep --network tron --profile embedded',
    RECORDS,
    'const isWaiting = hasGasUnderWay(context, ref.id) &&',
    'const isWaiting = !context && hasGasUnderWay(context, ref.id) &&',
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
];
