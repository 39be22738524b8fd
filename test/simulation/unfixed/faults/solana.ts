import type { Unfixed } from '../unfixed-fault.ts';

const ADAPTER = 'src/adapters/solana';
const ACCOUNTS = 'src/features/deposits/solana/accounts.ts';

const unfixed = (name: string, focus: readonly string[], file: string, from: string, to: string): Unfixed => ({
  name,
  where: ['--network', 'solana', '--profile', 'embedded', ...focus.flatMap((kind) => ['--focus', kind])],
  changes: [{ file, from, to }],
});

/** Of what only Solana has. */
export const SOLANA_FAULTS: readonly Unfixed[] = [
  unfixed(
    'a refund on Solana may not offer more for its nonce',
    ['fees', 'halt'],
    'state-machines/checkout-session/refunds.ts',
    "data.why !== 'cancel'",
    "data.why === 'can_never_land'",
  ),
  unfixed(
    'two payouts on Solana name the same value of a nonce account',
    ['sweep', 'fees'],
    `${ADAPTER}/nonces.ts`,
    'nonce !== null && nonce !== used[index]);',
    'nonce !== null);',
  ),
  unfixed(
    'a payout on Solana is done once it is confirmed',
    ['deep'],
    `${ADAPTER}/outgoing-fate.ts`,
    "if (included.status.confirmationStatus !== 'finalized') return { kind: 'pending', inBlock: true };",
    "if (included.status.confirmationStatus === 'processed') return { kind: 'pending', inBlock: true };",
  ),
  unfixed(
    'what the history of an account lists above finality is never read again',
    ['deep'],
    ACCOUNTS,
    'if (mayMove && slot <= finalizedSlot) {',
    'if (mayMove) {',
  ),
  unfixed(
    'a failed transaction counts for what it would have moved',
    ['frozen', 'paused'],
    `${ADAPTER}/token-balances.ts`,
    'if (meta === null || meta.err !== null) return [];',
    'if (meta === null) return [];',
  ),
  unfixed(
    'a deposit on Solana is paid back to whoever paid its fee',
    [],
    `${ADAPTER}/token-balances.ts`,
    'return fallen.length === 1 ? (fallen[0] ?? null) : null;',
    'return fallen.length === 1 ? (deltas.find(({ units }) => units > 0n)?.owner ?? null) : null;',
  ),
  unfixed(
    'a balance that no history explains is taken as it is at once',
    ['provider'],
    'src/features/deposits/solana/looks.ts',
    'if (!isExplained && !isHopeless) return false;',
    'if (!isExplained && !isHopeless && !reading.isComplete) return false;',
  ),
];
