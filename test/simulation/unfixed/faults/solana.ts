import { unfixed, type Unfixed } from '../unfixed-fault.ts';

const ADAPTER = 'src/adapters/solana';
const FATE = `${ADAPTER}/outgoing-fate.ts`;
const ACCOUNTS = 'src/features/deposits/solana/accounts.ts';
const SOLANA = '--network solana --profile embedded';

/** Of what only Solana has. */
export const SOLANA_FAULTS: readonly Unfixed[] = [
  unfixed(
    'a refund on Solana may not offer more for its nonce',
    `${SOLANA} --focus fees --focus halt`,
    'state-machines/checkout-session/refunds.ts',
    "data.why !== 'cancel'",
    "data.why === 'can_never_land'",
  ),
  unfixed(
    'two payouts on Solana name the same value of a nonce account',
    `${SOLANA} --focus sweep --focus fees`,
    `${ADAPTER}/nonces.ts`,
    'nonce !== null && nonce !== used[index]);',
    'nonce !== null);',
    "the treasury's state machine and the signer refuse the second payment, too, so it only waits",
  ),
  {
    name: 'a payout on Solana is done once it is confirmed',
    where: `${SOLANA} --focus deep`.split(' '),
    changes: [
      { file: FATE, from: "confirmationStatus !== 'finalized'", to: "confirmationStatus === 'processed'" },
      { file: FATE, from: "txHash, 'finalized')", to: "txHash, 'confirmed')" },
      { file: FATE, from: "transaction.slot, 'finalized')", to: "transaction.slot, 'confirmed')" },
    ],
  },
  unfixed(
    'what the history of an account lists above finality is never read again',
    `${SOLANA} --focus deep`,
    ACCOUNTS,
    'if (mayMove && slot <= finalizedSlot) {',
    'if (mayMove) {',
    'balances are compared with histories, and a whole history that does not explain its balance is read again',
  ),
  unfixed(
    'the fees of sweeps on Solana look like an outflow',
    `${SOLANA} --focus sweep --focus nulls --focus aimed`,
    'src/features/treasury/reconcile-look.ts',
    "chain.network === 'solana' ? sweeping.length : 0",
    "chain.network === 'solana' ? 0 : 0",
  ),
  unfixed(
    'a deposit on Solana is paid back to whoever paid its fee',
    SOLANA,
    `${ADAPTER}/token-balances.ts`,
    "return others.length > 0 ? unknown('several_payers') : { fromAddress: payer };",
    'return { fromAddress: deltas.find(({ units }) => units > 0n)?.owner ?? payer };',
  ),
  unfixed(
    'an account that is handed over while it pays names a payer on Solana',
    SOLANA,
    `${ADAPTER}/token-balances.ts`,
    'if (left !== null) return unknown(left);',
    '',
  ),
  unfixed(
    'a balance that no history explains is taken as it is at once',
    `${SOLANA} --focus provider`,
    'src/features/deposits/solana/looks.ts',
    'if (!isExplained && this.#deps.pace.nowMs() - changed.atMs <= hopelessAfterMs) return false;',
    'if (!isExplained && !isWhole && this.#deps.pace.nowMs() - changed.atMs <= hopelessAfterMs) return false;',
    'the whole history is read again a minute later, before anything depends on it',
  ),
];
