import { isDeepStrictEqual } from 'node:util';
import type { ReplacementReason, TransactionDraft } from '../../domain/events/transaction-draft.ts';
import { amountOf } from '../../domain/money/money.ts';
import { validityOf, type OutgoingTransaction } from '../../ports/outgoing/transaction.ts';
import type { SignedPayment } from '../../ports/outgoing/signer.ts';
import type { TreasuryAccount } from './account.ts';
import type { Outgoing, OutgoingRecords } from './records.ts';

export interface TakeOver<Item extends Outgoing> {
  readonly ref: Item['ref'];
  /** The oldest lost transaction of its network. */
  readonly payment: SignedPayment;
  readonly records: OutgoingRecords<Item>;
  readonly account: Pick<TreasuryAccount, 'context' | 'tell'>;
  readonly nowSec: number;
}

/**
 * Records a signature that a restored event log lost as if it had just been made; the chain then tells what became of
 * it, as for any other. Safe to repeat. Throws when it does not fit the event log.
 */
export async function takeOver<Item extends Outgoing>({
  ref,
  payment,
  records,
  account,
  nowSec,
}: TakeOver<Item>): Promise<void> {
  const { attempt, draft, txHash, signedBytes, signedAtSec, journal } = payment;
  const item = await records.find(ref);
  if (!item) throw new Error(`${ref.id} is not known, or it is done`);
  if (!isOfOrder(payment, item.order))
    throw new Error(`${ref.id} has other terms in the event log than in the journal`);
  const last = item.signed.at(-1);
  const isWritten = last?.txHash === txHash;
  await releaseUnsigned(payment, account, nowSec);
  // For a refund, the session records it first and the treasury second.
  if (isWritten && (await account.context()).open === null) return;
  const before = isWritten ? item.signed.at(-2) : last;
  const replaces = before ? { txHash: before.txHash, why: whyReplaced(draft) } : null;
  const sequence = { attempt, fromAddress: payment.fromAddress, draft, replaces, reservedAtSec: signedAtSec };
  if (!(await records.reserve(item, sequence)))
    throw new Error(`the sequence of ${txHash} does not follow from what the event log has`);
  await records.recordSigned(
    item,
    { attempt, txHash, signedBytes, validity: validityOf(draft), signedAtSec, journal },
    sequence,
  );
}

/** A reservation beside the oldest lost payment was never signed: the signer's journal was ahead, so it refused. */
export async function releaseUnsigned(
  { id, attempt, draft }: SignedPayment,
  account: TakeOver<Outgoing>['account'],
  nowSec: number,
): Promise<void> {
  const { open } = await account.context();
  if (open === null) return;
  const openId = 'legId' in open ? open.legId : open.moveId;
  if (openId === id && open.attempt === attempt && isDeepStrictEqual(open.draft, draft)) return;
  const released = { attempt: open.attempt, reason: 'journal_disagrees', releasedAtSec: nowSec };
  await ('legId' in open
    ? account.tell({ type: 'ReleasePayoutSequence', data: { legId: openId, ...released } }, ACTOR)
    : account.tell({ type: 'ReleaseMove', data: { moveId: openId, ...released } }, ACTOR));
}

const ACTOR = 'take-over';

export const isOfOrder = (payment: SignedPayment, order: OutgoingTransaction): boolean =>
  amountOf(payment.amount) === amountOf(order.amount) &&
  (['kind', 'network', 'id', 'coin', 'fromAddress', 'toAddress'] as const).every(
    (field) => payment[field] === order[field],
  );

/**
 * The journal does not record the reason. Where replacements exist, this one took the nonce; elsewhere the previous
 * transaction must be dead.
 */
function whyReplaced({ kind }: TransactionDraft): ReplacementReason {
  if (kind === 'evm-cancel') return 'cancel';
  return kind === 'evm' || kind === 'evm-native' || kind === 'solana' ? 'fee_bump' : 'can_never_land';
}
