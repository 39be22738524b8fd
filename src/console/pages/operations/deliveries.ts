import { html } from '../../../runtime/http/html.ts';
import type { Mode } from '../../../domain/values/ids.ts';
import type { DeliverySummary } from '../../../features/webhooks/views.ts';
import { csvLink, csvRoute } from '../../csv.ts';
import type { ConsoleDeps } from '../../deps.ts';
import { merchantPath } from '../../layout.ts';
import { badge, link, table, timeColumn, type Column } from '../../parts.ts';
import type { ConsoleRoutes } from '../../server.ts';
import type { ShownMerchant, Visit } from '../../visit.ts';
import { words } from '../../words.ts';
import { deliveriesWaiting } from './service.ts';

type FailedDelivery = DeliverySummary & { readonly merchant: ShownMerchant };

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

/** What waits to be delivered, and which webhooks were not. */
export const deliveryRoutes = (deps: ConsoleDeps): ConsoleRoutes => ({
  change: [],
  read: [
    csvRoute('/deliveries', 'deliveries.read', async (visit) => ({
      columns: deliveryColumns(visit),
      pages: [await failedDeliveries(deps, visit.mode)],
    })),
    {
      path: '/deliveries',
      action: 'deliveries.read',
      show: async (visit) => ({
        page: {
          title: words`Deliveries`,
          isLive: true,
          body: html`${await deliveriesWaiting(deps)}
            <p>${words`Webhooks that did not arrive, of every merchant, newest first.`} ${csvLink(visit)}</p>
            ${table(words`Failed deliveries`, deliveryColumns(visit), await failedDeliveries(deps, visit.mode), words`Every webhook arrived, or is on its way.`)}`,
        },
      }),
    },
  ],
});

const deliveryColumns = (visit: Visit): Column<FailedDelivery>[] => [
  timeColumn(words`Created`, ({ createdSec }) => createdSec, visit),
  { name: words`Merchant`, cell: ({ merchant }) => merchant.name },
  {
    name: words`Event`,
    cell: ({ merchant, notificationId, eventType }) =>
      link(`${merchantPath(merchant)}/webhooks/${notificationId}`, eventType),
  },
  { name: words`Status`, cell: ({ status }) => badge(status) },
  { name: words`Attempts`, isNumber: true, cell: ({ attempts }) => attempts },
  { name: words`Last answer`, cell: ({ lastStatus, lastFailure }) => lastStatus ?? lastFailure },
];
