import { BOOKS_FAULTS } from './faults/books.ts';
import { DEPOSITS_FAULTS } from './faults/deposits.ts';
import { MOVES_FAULTS } from './faults/moves.ts';
import { NOTIFICATIONS_FAULTS } from './faults/notifications.ts';
import { OUTSIDERS_FAULTS } from './faults/outsiders.ts';
import { PAYOUTS_FAULTS } from './faults/payouts.ts';
import { PROCESSES_FAULTS } from './faults/processes.ts';
import { SESSIONS_FAULTS } from './faults/sessions.ts';
import { SIGNER_FAULTS } from './faults/signer.ts';
import { SOLANA_FAULTS } from './faults/solana.ts';
import { TRON_FAULTS } from './faults/tron.ts';
import type { Unfixed } from './unfixed-fault.ts';

/** Known faults, put back one at a time by `main.ts` beside this file. */
export const UNFIXED: readonly Unfixed[] = [
  ...DEPOSITS_FAULTS,
  ...SESSIONS_FAULTS,
  ...PAYOUTS_FAULTS,
  ...NOTIFICATIONS_FAULTS,
  ...BOOKS_FAULTS,
  ...PROCESSES_FAULTS,
  ...SIGNER_FAULTS,
  ...MOVES_FAULTS,
  ...TRON_FAULTS,
  ...SOLANA_FAULTS,
];

/** All that `main.ts` can plant. */
export const ALL_FAULTS: readonly Unfixed[] = [...UNFIXED, ...OUTSIDERS_FAULTS];
