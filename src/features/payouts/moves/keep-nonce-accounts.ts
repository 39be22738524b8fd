import type { MoveRequested } from '../../../domain/events/treasury-move-events.ts';
import { formatAmount } from '../../../domain/money/money.ts';
import { NATIVE_COIN } from '../../../domain/networks/networks.ts';
import { toSec, type Clock } from '../../../ports/clock.ts';
import type { Random } from '../../../ports/random.ts';
import { newMoveId } from './ids.ts';
import type { MoveExecutor } from './records.ts';

export interface NonceAccountDeps {
  readonly clock: Clock;
  readonly random: Random;
  /** Unfinished refunds of this treasury. */
  readonly owed: () => Promise<{ readonly payouts: number }>;
}

/**
 * Orders another nonce account for a treasury on Solana when something waits to be sent and no account is free, so a
 * treasury has as many as it ever needed at once. One at a time; the move is an ordinary one.
 */
export async function keepNonceAccounts(
  executor: MoveExecutor,
  { clock, random, owed }: NonceAccountDeps,
): Promise<void> {
  const { chain, treasury } = executor;
  if (!chain.missingAccount) return;
  const { moves, usedNonces } = await executor.context();
  const open = Object.values(moves);
  if (open.some(({ kind }) => kind === 'nonce_account')) return;
  if (!open.some(({ signed }) => signed.length === 0) && (await owed()).payouts === 0) return;
  const missing = await chain.missingAccount(treasury, usedNonces);
  if (missing === null) return;
  const { mode, network } = chain;
  const data: MoveRequested = {
    moveId: newMoveId('nonce_account', random),
    mode,
    network,
    coin: NATIVE_COIN[network],
    amount: formatAmount(missing.rent),
    fromAddress: treasury,
    toAddress: missing.address,
    derivationIndex: missing.index,
    merchantId: null,
    forMoveId: null,
    ...{ requestedBy: 'nonce-accounts', reason: null, requestedAtSec: toSec(clock.nowMs()) },
  };
  await executor.tell({ type: 'RequestMove', kind: 'nonce_account', data }, 'move-money');
}
