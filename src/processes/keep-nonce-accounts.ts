import type { MoveRequested } from '../domain/events/treasury-move-events.ts';
import { formatAmount } from '../domain/money.ts';
import { NATIVE_COIN } from '../domain/networks.ts';
import { toSec, type Clock } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';
import { newMoveId } from '../features/payouts/moves/ids.ts';
import type { MoveExecutor } from '../features/payouts/moves/executor.ts';

export interface NonceAccountDeps {
  readonly clock: Clock;
  readonly random: Random;
  /** Refunds of this treasury that are not done. */
  readonly owed: () => Promise<{ readonly payouts: number }>;
}

/**
 * Orders the next nonce account of a treasury on Solana when something waits to be sent and no account is free, so a treasury has as many as
 * it ever needed at once. One at a time; the move is made as every other.
 */
export async function keepNonceAccounts(desk: MoveExecutor, { clock, random, owed }: NonceAccountDeps): Promise<void> {
  const { chain, treasury } = desk;
  if (!chain.missingAccount) return;
  const { moves, usedNonces } = await desk.context();
  const open = Object.values(moves);
  if (open.some(({ kind }) => kind === 'nonce_account')) return;
  if (!open.some(({ signed }) => signed.length === 0) && (await owed()).payouts === 0) return;
  const missing = await chain.missingAccount(treasury, usedNonces);
  if (missing === null) return;
  const { mode, network } = chain;
  const data: MoveRequested = {
    ...{ moveId: newMoveId('nonce_account', random), mode, network, coin: NATIVE_COIN[network], amount: formatAmount(missing.rent) },
    ...{ fromAddress: treasury, toAddress: missing.address, derivationIndex: missing.index, merchantId: null, forMoveId: null },
    ...{ requestedBy: 'nonce-accounts', reason: null, requestedAtSec: toSec(clock.nowMs()) },
  };
  await desk.tell({ type: 'RequestMove', kind: 'nonce_account', data });
}
