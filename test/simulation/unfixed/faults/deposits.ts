import { unfixed, type Unfixed } from '../unfixed-fault.ts';

const DEPOSITS = 'src/features/deposits/chain/deposits.ts';
const WATCH = 'src/features/deposits/chain/watch.process.ts';

/** Watching the chains. */
export const DEPOSITS_FAULTS: readonly Unfixed[] = [
  unfixed(
    'recorded money goes for what a provider leaves out',
    '--focus provider --network ethereum --profile embedded',
    DEPOSITS,
    'const reason = await disproofOf(this.#deps, deposit);\n    if (reason !== null) return',
    "const reason = (await disproofOf(this.#deps, deposit)) ?? 'reorg';\n    if (reason !== null) return",
  ),
  unfixed(
    'a reverted transfer that is back stays reverted',
    '--focus provider --focus reorg --network bsc --profile embedded',
    DEPOSITS,
    'await inParallel(await this.#reverted.foundAgain(), (transfer) => this.intake.takeBack(transfer));',
    '',
    'for that, every provider must deny the same transfer twice and the chain show it later in a block that was read',
  ),
  unfixed(
    'a transfer counts one block too early',
    '--focus sweep --network ethereum --profile embedded',
    'src/domain/networks/finality.ts',
    '>= rule.confirmations;',
    '>= rule.confirmations - 1;',
  ),
  unfixed(
    'a fork is not noticed',
    '--focus deep --network ethereum --profile embedded',
    WATCH,
    'this.#deposits.suspectAbove(common.number, rewound);',
    '',
  ),
  unfixed(
    'a transfer is final two blocks before its chain says so',
    '--focus sweep --network bsc --profile embedded',
    'src/domain/networks/finality.ts',
    'blockNumber <= finalizedNumber :',
    'blockNumber <= finalizedNumber + 2 :',
  ),
  unfixed(
    'what the first reading of a block left out is never found',
    '--focus omits --network tron --profile embedded',
    WATCH,
    'of await this.#deposits.intake.observe(result.transfers)) this',
    'of [] as string[]) this',
  ),
  unfixed(
    'blocks that do not follow those before are taken',
    '--focus reorg --focus aimed --network ethereum --profile embedded',
    WATCH,
    'if (!(await this.#checks.follows(must(this.#scanned), result))) return this.#mendFork(head);',
    '',
  ),
  unfixed(
    'a transfer counts in a block that is not in the chain',
    '--focus otherMachine --focus deep --focus confirming --network ethereum --profile embedded',
    DEPOSITS,
    'if (canonical?.hash !== facts.blockHash) return null;',
    'if (canonical === undefined) return null;',
    'each receipt is compared with its header before; beyond that, machines must answer from two branches in the very poll in which a deposit has its twelve confirmations',
  ),
  unfixed(
    'a late transfer that moved before the deadline once it was confirmed stays late',
    '--focus deep --focus deadline --network ethereum --profile embedded',
    DEPOSITS,
    'if (isMoved(deposit, facts) && (',
    "if (isMoved(deposit, facts) && deposit.status !== 'final' && (",
  ),
  unfixed(
    'one look shows that a payment is gone',
    '--focus lagMs --focus reorg --network ethereum --profile embedded',
    DEPOSITS,
    'const DISPROOFS_NEEDED = 2;',
    'const DISPROOFS_NEEDED = 1;',
    'a deposit that is reverted too early is found again within seconds, and the oracle lets what was seen a moment before pass for a minute',
  ),
  {
    name: 'deposits that are not final are lost with their process',
    where: ['--focus', 'kill', '--focus', 'reorg', '--network', 'ethereum', '--profile', 'embedded'],
    changes: [
      {
        file: DEPOSITS,
        from: "if (status === 'detected') oldest",
        to: "if (status !== 'detected' && status !== 'final') oldest",
      },
      {
        file: DEPOSITS,
        from: 'if (this.#tracked.has(facts.depositKey)) continue;',
        to: 'if (facts.depositKey) continue;',
      },
    ],
  },
];
