import { hash } from 'node:crypto';
import { base32, type RefundId, type SessionId, type TransactionId } from '../../src/domain/ids.ts';

/* A transaction's id is derived from the fact it names, so that every node and every rebuild gives the same. */

interface KnownDeposit {
  readonly session: SessionId;
  readonly key: string;
  readonly id: TransactionId;
}

const MOST_KNOWN = 4_096;
/** A deposit is asked for several times while its event is projected, and again with the next one. */
const deposits = new Map<string, KnownDeposit>();
let last: KnownDeposit | null = null;

/** A transfer to an address of the session. */
export function depositTransactionId(session: SessionId, depositKey: string): TransactionId {
  if (last?.key !== depositKey || last.session !== session) last = knownDeposit(session, depositKey);
  return last.id;
}

function knownDeposit(session: SessionId, key: string): KnownDeposit {
  const known = deposits.get(key);
  if (known?.session === session) return known;
  const deposit: KnownDeposit = { session, key, id: idOf('deposit', session, key) };
  if (deposits.size >= MOST_KNOWN) deposits.clear();
  deposits.set(key, deposit);
  return deposit;
}

/** The payout of one leg of a refund, whichever of its signed transactions lands. */
export const payoutTransactionId = (session: SessionId, refund: RefundId, legId: string): TransactionId => idOf('refund', session, refund, legId);

/** What the network took for the payout. */
export const feeTransactionId = (session: SessionId, refund: RefundId, legId: string): TransactionId => idOf('fee', session, refund, legId);

const ID_LENGTH = 26;
/** As many bytes as the characters of an id need. */
const bytes = new Uint8Array(Math.ceil((ID_LENGTH * 5) / 8));

/** The digest as a text of bytes costs a third of what it does as a buffer. */
function idOf(...parts: readonly string[]): TransactionId {
  let text = '';
  for (const part of parts) text += `${part.length}:${part}`;
  const digest = hash('sha256', text, 'binary');
  for (let index = 0; index < bytes.length; index += 1) bytes[index] = digest.charCodeAt(index);
  return `txn_${base32(bytes).slice(0, ID_LENGTH)}` as TransactionId;
}
