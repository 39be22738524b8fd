import { setTimeout as sleep } from 'node:timers/promises';
import type { UsedNonces } from '../../domain/events/treasury-events.ts';
import type { TransactionDraft } from '../../domain/events/transaction-draft.ts';
import type { SessionId } from '../../domain/values/ids.ts';
import { formatAmount, type Coin } from '../../domain/money/money.ts';
import { addressFamilyOf, NATIVE_COIN } from '../../domain/networks/networks.ts';
import type { CanaryPayer } from '../../features/canary/round.ts';
import type { OutgoingChain } from '../../ports/outgoing/chain.ts';
import {
  NOTHING_RESERVED,
  validityOf,
  type OutgoingTransaction,
  type SentTransaction,
} from '../../ports/outgoing/transaction.ts';
import { signedBytesOf } from '../../signer/chains/outgoing-bytes.ts';
import type { SigningWallet } from '../../signer/keys/signing-wallet.ts';

const POLL_MS = 1_000;

/** The draft at the higher fee of the two; null where they do not have the same number. */
function atDearestFee(draft: TransactionDraft, before: TransactionDraft): TransactionDraft | null {
  if (!('maxFeePerGas' in draft) || !('maxFeePerGas' in before) || draft.nonce !== before.nonce) return null;
  const { maxFeePerGas, maxPriorityFeePerGas } =
    BigInt(before.maxFeePerGas) > BigInt(draft.maxFeePerGas) ? before : draft;
  return { ...draft, maxFeePerGas, maxPriorityFeePerGas };
}

/**
 * Pays from the canary's own wallet in the same way as refunds. It has no journal: a payment that it loses track of
 * goes to the address of a session, which refunds it, and the outstanding amount is limited.
 */
export function canaryPayer(
  chain: OutgoingChain,
  wallet: SigningWallet,
  { coin, amount }: { readonly coin: Coin; readonly amount: string },
): CanaryPayer {
  const own = wallet.treasury[addressFamilyOf(chain.network)];
  let usedNonces: UsedNonces = {};
  /** Sent earlier and not seen in a block. */
  let stuck: TransactionDraft | null = null;

  const orderOf = (id: string, toAddress: string): OutgoingTransaction => ({
    ...{ kind: 'withdrawal', id, mode: chain.mode, network: chain.network, coin, amount, fromAddress: own, toAddress },
    ...{ derivationIndex: null, merchantId: null, refund: null, deposits: [] },
  });

  async function send(order: OutgoingTransaction, signal: AbortSignal): Promise<void> {
    const draft = await draftOf(order);
    if (draft === null) throw new Error('no nonce is free for the transaction');
    const { txHash, signedBytes } = await signedBytesOf(draft, order, wallet);
    const sent: SentTransaction = { txHash, signedBytes, validity: validityOf(draft) };
    stuck = draft;
    if (draft.kind === 'solana') usedNonces = { ...usedNonces, [draft.nonceIndex]: draft.nonce };
    while (!signal.aborted) {
      await chain.broadcast(sent);
      const fate = await chain.fate(order, [sent]).catch(() => null);
      if (fate?.kind === 'landed' || (fate?.kind === 'pending' && fate.inBlock)) {
        stuck = null;
        return;
      }
      if (fate?.kind === 'ineffective') throw new Error(`the chain refused the payment (${txHash})`);
      if (fate?.kind === 'alarm') throw new Error(fate.detail);
      if (fate?.kind === 'never') throw new Error(`the payment can never land (${txHash})`);
      await sleep(POLL_MS, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** Uses the nonce of a pending transaction at a fee that replaces it, so only one of the two can land. */
  async function draftOf(order: OutgoingTransaction): Promise<TransactionDraft | null> {
    const draft = await chain.draft(order, await chain.nextNonce(own), usedNonces);
    const dearest = draft && stuck && atDearestFee(draft, stuck);
    return dearest ? ((await chain.bump(dearest)) ?? draft) : draft;
  }

  /** Solana needs nonce accounts to distinguish transactions; these must be created first. */
  async function makeMissingAccount(signal: AbortSignal): Promise<void> {
    const missing = await chain.missingAccount?.(own, usedNonces);
    if (!missing) return;
    const order: OutgoingTransaction = {
      ...orderOf(`canary-nonce-${missing.index}`, missing.address),
      kind: 'nonce_account',
      coin: NATIVE_COIN[chain.network],
      amount: formatAmount(missing.rent),
      derivationIndex: missing.index,
    };
    await send(order, signal);
  }

  return {
    holdUp: async () => {
      const check = await chain.check(orderOf('canary', own), NOTHING_RESERVED);
      if (check.kind === 'ready') return null;
      return check.kind === 'needs_gas' ? 'insufficient_gas' : check.reason;
    },
    pay: async (sessionId: SessionId, address, signal) => {
      await makeMissingAccount(signal);
      await send(orderOf(sessionId, address), signal);
    },
  };
}
