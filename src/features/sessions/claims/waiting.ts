import { claimsOfMerchant, OPEN_CLAIMS_TABLE } from '../../../../projections/sessions/open-claims.ts';
import type { SessionId } from '../../../domain/values/ids.ts';
import { rowPages } from '../../../ports/read-model/row-pages.ts';
import type { ReadModel } from '../../../ports/read-model/read-model.ts';
import type { ClaimView, MerchantClaims } from '../../shared/claim-views.ts';
import type { Caller } from '../../shared/merchant-api.ts';

interface Deps {
  readonly readModel: Pick<ReadModel, 'scan'>;
  readonly sessions: Pick<MerchantClaims, 'listClaims'>;
}

/** Open claims, oldest first. The read model finds the payments that have some; the event log has the claims. */
export async function waitingClaims(
  { readModel, sessions }: Deps,
  merchant: Pick<Caller, 'merchantId' | 'mode'>,
  limit: number,
): Promise<readonly ClaimView[]> {
  const ids = new Set<SessionId>();
  const prefix = claimsOfMerchant(merchant.mode, merchant.merchantId);
  for await (const rows of rowPages(readModel, OPEN_CLAIMS_TABLE, { prefix })) {
    for (const { row } of rows) ids.add(row.sessionId);
    if (ids.size >= limit) break;
  }
  const found = await Promise.all([...ids].slice(0, limit).map((id) => sessions.listClaims(merchant, id)));
  const waiting = found.flatMap((claims) => claims ?? []).filter(({ status }) => status === 'open');
  return waiting.sort((one, other) => one.filedAtSec - other.filedAtSec).slice(0, limit);
}
