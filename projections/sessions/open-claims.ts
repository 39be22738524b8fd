import type { MerchantId, Mode, SessionId } from '../../src/domain/values/ids.ts';
import type { SessionEvent } from '../../src/domain/events/session-events.ts';
import { putRow, type RowChange, type Table } from '../../src/ports/read-model/read-model.ts';
import type { SessionRow } from './session-row.ts';

/** Payers' claims that await their merchant's decision. */
export const OPEN_CLAIMS_TABLE: Table<{ readonly sessionId: SessionId; readonly claimId: string }> = 'open-claims@1';

/** Prefix of every key of a merchant. */
export const claimsOfMerchant = (mode: Mode, merchantId: MerchantId): string => `${mode}/${merchantId}/`;

const keyOf = ({ mode, merchantId, sessionId }: SessionRow, claimId: string): string =>
  `${claimsOfMerchant(mode, merchantId)}${sessionId}/${claimId}`;

/** A claim is open from its filing until it is rejected or a refund approves it. */
export function openClaimChanges(session: SessionRow, event: SessionEvent): RowChange[] {
  const { sessionId } = session;
  switch (event.type) {
    case 'ClaimFiled': {
      const { claimId } = event.data;
      return [putRow(OPEN_CLAIMS_TABLE, keyOf(session, claimId), { sessionId, claimId })];
    }
    case 'ClaimRejected':
      return [{ op: 'delete', table: OPEN_CLAIMS_TABLE, key: keyOf(session, event.data.claimId) }];
    case 'RefundRequested': {
      const { claim } = event.data;
      return claim ? [{ op: 'delete', table: OPEN_CLAIMS_TABLE, key: keyOf(session, claim.claimId) }] : [];
    }
    default:
      return [];
  }
}
