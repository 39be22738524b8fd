import type { Mode } from '../../../domain/values/ids.ts';
import type { DeliverySummary } from '../../../features/webhooks/views.ts';
import type { ConsoleDeps } from '../../deps.ts';
import type { ShownMerchant } from '../../visit.ts';

export type FailedDelivery = DeliverySummary & { readonly merchant: ShownMerchant };

const FAILED = ['exhausted', 'rejected', 'blocked'] as const;
const OF_EACH = 20;
const SHOWN = 100;

/** The newest failed deliveries of all merchants of a mode; a merchant's own page lists all of them. */
export async function failedDeliveries(
  { webhooks, merchants }: Pick<ConsoleDeps, 'webhooks' | 'merchants'>,
  mode: Mode,
): Promise<FailedDelivery[]> {
  const ofMode = merchants().filter((merchant) => merchant.mode === mode);
  const lists = await Promise.all(
    ofMode.flatMap((merchant) =>
      FAILED.map(async (status) => {
        const listed = await webhooks.list(
          { merchantId: merchant.id, mode: merchant.mode },
          { page: 1, pageSize: OF_EACH, status, cursor: '' },
        );
        return listed.ok ? listed.value.rows.map((row) => ({ ...row, merchant })) : [];
      }),
    ),
  );
  return lists
    .flat()
    .sort((one, other) => other.createdSec - one.createdSec)
    .slice(0, SHOWN);
}
