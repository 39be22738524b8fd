import { hash } from 'node:crypto';
import {
  base32,
  parseTransactionId,
  type RefundId,
  type SessionId,
  type TransactionId,
} from '../../src/domain/values/ids.ts';
import { memoized } from '../../src/domain/values/memoized.ts';
import { must } from '../../src/domain/values/must.ts';

/* A transaction's id is derived from the fact that it names, so every node and every rebuild gives the same. */

/** A transfer to an address of the session. */
export const depositTransactionId = (session: SessionId, depositKey: string): TransactionId =>
  idOf('deposit', session, depositKey);

/** The payout of one leg of a refund, whichever of its signed transactions lands. */
export const payoutTransactionId = (session: SessionId, refund: RefundId, legId: string): TransactionId =>
  idOf('refund', session, refund, legId);

/** The network fee of the payout. */
export const feeTransactionId = (session: SessionId, refund: RefundId, legId: string): TransactionId =>
  idOf('fee', session, refund, legId);

const ID_LENGTH = 26;

function idOf(...parts: readonly string[]): TransactionId {
  let text = '';
  for (const part of parts) text += `${part.length}:${part}`;
  return idOfText(text);
}

const idOfText = memoized(4_096, (text: string) =>
  must(parseTransactionId(`txn_${base32(hash('sha256', text, 'buffer')).slice(0, ID_LENGTH)}`)),
);
