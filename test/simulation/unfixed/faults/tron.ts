import { unfixed, type Unfixed } from '../unfixed-fault.ts';

const CHAIN = 'src/adapters/tron/chain.ts';
const SENT = 'src/features/payouts/sent.ts';
const TRON_FATE = 'src/adapters/tron/outgoing-fate.ts';

/** What only TRON has. */
export const TRON_FAULTS: readonly Unfixed[] = [
  {
    name: 'what is not solidified is final on TRON',
    where: ['--focus', 'sweep', '--network', 'tron', '--profile', 'embedded'],
    changes: [
      {
        file: CHAIN,
        from: "const value = await this.#providers.on((provider) => newestBlock(provider, 'walletsolidity'));",
        to: "const value = await this.#providers.on((provider) => newestBlock(provider, 'wallet'));",
      },
      {
        file: CHAIN,
        from: 'if (info.blockNumber <= this.#solidSeen) {',
        to: 'if (info.blockNumber < 0) {',
      },
    ],
  },
  unfixed(
    'the fee limit on TRON does not follow the price of energy',
    '--focus fees --focus sweep --network tron --profile embedded',
    'src/adapters/tron/token-calls.ts',
    'Math.max(MIN_FEE_LIMIT_SUN, Math.ceil(mostEnergy * price * FEE_MARGIN))',
    'MIN_FEE_LIMIT_SUN',
  ),
  unfixed(
    'an account without the token costs no more energy on TRON',
    '--focus fees --focus sweep --network tron --profile embedded',
    'src/adapters/tron/token-calls.ts',
    'const { energy } = estimate;',
    'const energy = Math.min(64_285, estimate.energy / 2);',
  ),
  unfixed(
    'a sweep on TRON is given less gas than it burns',
    '--focus sweep --network tron --profile embedded',
    'src/adapters/tron/outgoing.ts',
    'const needed = Math.ceil((burnt * SWEEP_MARGIN_PERCENT) / 100) + BANDWIDTH_SUN;',
    'const needed = Math.ceil((burnt * SWEEP_MARGIN_PERCENT) / 200);',
  ),
  {
    name: 'a payout on TRON is given up the moment it expires',
    where: ['--focus', 'provider', '--focus', 'pool', '--network', 'tron', '--profile', 'embedded'],
    changes: [
      { file: TRON_FATE, from: 'const BALANCER_LAG_MS = 60_000;', to: 'const BALANCER_LAG_MS = 0;' },
      {
        file: 'src/signer/chains/tron-view.ts',
        from: 'const BALANCER_LAG_MS = 60_000;',
        to: 'const BALANCER_LAG_MS = 0;',
      },
    ],
    notFound:
      'the lists of the blocks tell whether it landed; only a fork in its last seconds, seen by a machine that lags, hides it',
  },
  unfixed(
    'a missing receipt shows that a payout on TRON never landed',
    '--focus nulls --focus aimed --focus refund --network tron --profile embedded',
    TRON_FATE,
    "return isListed ? { kind: 'pending', inBlock: true } : { kind: 'never' };",
    "return isListed ? { kind: 'never' } : { kind: 'never' };",
  ),
  unfixed(
    'receipts that a provider leaves out are not missed on TRON',
    '--focus omits --focus aimed --network tron --profile embedded',
    CHAIN,
    'compareWithBlocks: readBefore.includes(source.name)',
    'compareWithBlocks: readBefore.length < 0',
  ),
  unfixed(
    'an empty list of receipts is an empty block on TRON',
    '--focus nulls --focus aimed --network tron --profile embedded',
    'src/adapters/tron/rpc.ts',
    '(await wholeBlock(provider, number)).transactions.length > 0',
    '(await wholeBlock(provider, number)).transactions.length < 0',
  ),
  unfixed(
    'receipts of another block are taken on TRON',
    '--focus torn --network tron --profile embedded',
    'src/adapters/tron/rpc.ts',
    'Math.floor(receipt.blockTimeStamp / 1000) !== block.timeSec',
    'Math.floor(receipt.blockTimeStamp / 1000) < 0',
  ),
  unfixed(
    'a payout on TRON that expired is not signed anew',
    '--focus unsent --focus refund --network tron --profile embedded',
    SENT,
    "case 'never':\n        if (isCancelled(item))",
    "case 'never':\n        if (item.signed.length > 0) return;\n        if (isCancelled(item))",
  ),
];
