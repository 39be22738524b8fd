import { createHmac, timingSafeEqual, type KeyObject } from 'node:crypto';
import type { MerchantId, Mode } from '../../domain/values/ids.ts';

/** The scope in which a cursor is valid. */
export interface CursorScope {
  readonly list:
    | 'sessions'
    | 'transactions'
    | 'refunds'
    | 'deliveries'
    | 'events'
    | 'ledger-entries'
    | 'ledger-settlement';
  readonly merchantId: MerchantId;
  readonly mode: Mode;
  readonly filters: Readonly<Record<string, string | number | undefined>>;
}

const FORM = /^[A-Za-z0-9_-]{30,31}$/;
const ORDER_BYTES = 6;
const MAC_BYTES = 16;

/**
 * Encodes the position of a walk through a list as text that only this service can make. The last record shown is the
 * one at `order`.
 */
export function encodeCursor(key: KeyObject, scope: CursorScope, order: number): string {
  const bytes = Buffer.alloc(ORDER_BYTES);
  bytes.writeUIntBE(order, 0, ORDER_BYTES);
  return Buffer.concat([bytes, macOf(key, scope, order)]).toString('base64url');
}

/** The order in a cursor; null if the cursor was not made for this scope. */
export function decodeCursor(key: KeyObject, scope: CursorScope, cursor: string): number | null {
  if (!FORM.test(cursor)) return null;
  const bytes = Buffer.from(cursor, 'base64url');
  if (bytes.length !== ORDER_BYTES + MAC_BYTES || bytes.toString('base64url') !== cursor) return null;
  const order = bytes.readUIntBE(0, ORDER_BYTES);
  return timingSafeEqual(bytes.subarray(ORDER_BYTES), macOf(key, scope, order)) ? order : null;
}

function macOf(key: KeyObject, { list, merchantId, mode, filters }: CursorScope, order: number): Buffer {
  const set = Object.entries(filters).filter(([, value]) => value !== undefined);
  const text = JSON.stringify([
    'list-cursor',
    list,
    mode,
    merchantId,
    set.sort(([one], [other]) => (one < other ? -1 : 1)),
    order,
  ]);
  return createHmac('sha256', key).update(text).digest().subarray(0, MAC_BYTES);
}
