import { html, type Html } from '../../../runtime/http/html.ts';
import type { NotificationId } from '../../../domain/values/ids.ts';
import { parseDeliveryId } from '../../../domain/notifications/delivery-ids.ts';
import { isDay } from '../../../domain/values/calendar.ts';
import { isSettingsType, WEBHOOK_TYPES } from '../../../domain/notifications/types.ts';
import type { MerchantOverview, WebhookOverview } from '../../../features/merchants/overview.ts';
import type { DeliveryAttemptView } from '../../../features/webhooks/views.ts';
import { csvLink, csvRoute, everyPage } from '../../csv.ts';
import { accepted, callerOf, changedBy, readerOf, type ConsoleDeps } from '../../deps.ts';
import { merchantPath } from '../../layout.ts';
import {
  badge,
  changeForm,
  code,
  facts,
  field,
  filterForm,
  link,
  more,
  REASON,
  table,
  time,
  type Column,
  spelled,
} from '../../parts.ts';
import type { ConsoleRoutes } from '../../server.ts';
import {
  NO_SUCH,
  reasonIn,
  Refused,
  type ChangeRoute,
  type Visit,
  merchantNamed,
  merchantOf,
  paramOf,
} from '../../visit.ts';
import { deliveryColumns } from './payment.ts';
import { doneOrWaits, waitingChanges } from './waiting-changes.ts';
import { must } from '../../../domain/values/must.ts';
import { words } from '../../words.ts';

const PAGE = 50;
const DAY_SEC = 86_400;
const STATUSES = ['pending', 'delivered', 'exhausted', 'rejected', 'blocked'] as const;

const pathOf = (visit: Visit): string => `${merchantPath(merchantOf(visit))}/webhooks`;

/** The webhook endpoints of a merchant, its deliveries, and redelivery. */
export function webhookPages(deps: ConsoleDeps): ConsoleRoutes {
  return {
    read: [
      {
        path: '/m/:merchant/webhooks',
        action: 'webhooks.read',
        show: async (visit) => ({ page: { title: words`Webhooks`, isLive: true, body: await listPage(deps, visit) } }),
      },
      csvRoute('/m/:merchant/webhooks', 'webhooks.read', (visit) => ({
        columns: deliveryColumns(visit),
        pages: everyPage(async (cursor) => {
          const { rows, pagination } = await listed(deps, visit, cursor ?? '');
          return { rows, next: pagination.next_cursor };
        }),
      })),
      {
        path: '/m/:merchant/webhooks/:event',
        action: 'webhooks.read',
        show: async (visit) => ({
          page: { title: words`Webhook`, isLive: true, body: await deliveryPage(deps, visit) },
        }),
      },
    ],
    change: [...telling(deps), ...endpointChanges(deps)],
  };
}

function eventOf({ params }: Visit): NotificationId {
  const id = parseDeliveryId(params['event'] ?? '');
  if (id === null) throw NO_SUCH();
  return id;
}

/** The filters of the URL. Throws `Refused` with the name of the filter at fault. */
async function listed({ webhooks }: Pick<ConsoleDeps, 'webhooks'>, visit: Visit, cursor: string) {
  const given = visit.query.get('status') ?? '';
  const status = STATUSES.find((one) => one === given);
  if (given !== '' && status === undefined) throw new Refused(words`status must be one of ${STATUSES.join(', ')}`);
  const asked = { page: 1, pageSize: PAGE, cursor, ...(status !== undefined && { status }) };
  return accepted(await webhooks.list(readerOf(visit), asked));
}

async function listPage({ webhooks, settings }: ConsoleDeps, visit: Visit): Promise<Html> {
  const { query, merchant } = visit;
  const here = pathOf(visit);
  const status = query.get('status') ?? '';
  const cursor = query.get('cursor') ?? '';
  const { rows, pagination } = await listed({ webhooks }, visit, cursor);
  const overview: Partial<MerchantOverview> = settings.getMerchant(must(merchant).id) ?? {};
  const { webhook: endpoint = null, further_webhooks: further = [] } = overview;
  return html`${waitingChanges(visit, overview)}
    ${facts([
      [words`Endpoint`, endpoint?.url ?? words`none: events wait in the feed`],
      [words`Events`, endpoint?.events.join(', ') ?? ''],
      [
        words`After the quick retries`,
        endpoint?.durable_redelivery ? words`more retries for up to 72 h` : words`no more retries`,
      ],
      [words`State`, endpoint ? stateOf(endpoint) : ''],
    ])}
    ${further.length > 0 && table(words`Further endpoints`, FURTHER_COLUMNS, further, words``)}
    ${filterForm(here, [{ name: 'status', label: words`Status`, value: status, options: [['', words`Any`], ...STATUSES.map((one) => [one, spelled(one)] as const)] }])}
    <p>${csvLink(visit)}</p>
    ${table(words`Deliveries`, deliveryColumns(visit), rows, words`No webhooks match the filter.`)}
    ${more(visit, pagination.next_cursor)} ${visit.can('webhooks.redeliver', must(merchant).id) && replayForms(visit)}
    ${visit.can('webhooks.change', must(merchant).id) && endpointForm(visit, endpoint?.url ?? '')}`;
}

const stateOf = ({ suspended, disabled }: WebhookOverview): Html => {
  if (disabled) return badge('disabled');
  return suspended ? html`${badge('suspended')} ${spelled(suspended)}` : badge('active');
};

const FURTHER_COLUMNS: readonly Column<WebhookOverview>[] = [
  { name: words`Endpoint`, cell: ({ url }) => url ?? '' },
  { name: words`Events`, cell: ({ events }) => events.join(', ') },
  { name: words`State`, cell: stateOf },
];

const replayForms = (visit: Visit): Html =>
  html`<h2>${words`Send again`}</h2>
    ${changeForm(
      visit,
      `${pathOf(visit)}/replay`,
      [
        field({ name: 'from', label: words`From the day (UTC)`, type: 'date', required: true }),
        field({ name: 'to', label: words`To the end of`, type: 'date', required: true }),
        field({
          name: 'which',
          label: words`Which`,
          options: [
            ['undelivered', words`Only undelivered ones`],
            ['all', words`Everything`],
          ],
        }),
        field(REASON),
      ],
      words`Send them again`,
    )}
    <h2>${words`Send a test`}</h2>
    ${changeForm(visit, `${pathOf(visit)}/sample`, field({ name: 'type', label: words`Event`, options: WEBHOOK_TYPES.map((one) => [one, one]) }), words`Send a sample`)}`;

const endpointForm = (visit: Visit, url: string): Html =>
  html`<h2>${words`Endpoint`}</h2>
    ${changeForm(
      visit,
      `${pathOf(visit)}/endpoint`,
      [
        field({
          name: 'url',
          label: words`URL`,
          type: 'url',
          value: url,
          max: 2048,
          required: true,
          hint: words`Must be https. The secret stays the same, and a suspended endpoint resumes.`,
        }),
        field(REASON),
      ],
      words`Set the endpoint`,
    )}
    ${changeForm(visit, `${pathOf(visit)}/secret`, field(REASON), words`Issue a new signing secret`)}`;

async function deliveryPage({ webhooks }: ConsoleDeps, visit: Visit): Promise<Html> {
  const id = eventOf(visit);
  const view = await webhooks.get(readerOf(visit), id);
  if (!view) throw NO_SUCH();
  return html`${facts([
      [words`Event`, view.eventType],
      [words`Status`, badge(view.status)],
      [words`ID`, code(id)],
      [words`Created`, time(view.createdSec, visit)],
      [
        words`Next attempt`,
        time(view.nextAttemptAtMs === null ? null : Math.floor(view.nextAttemptAtMs / 1000), visit),
      ],
      [
        words`Payment`,
        isSettingsType(view.eventType)
          ? words`none: it is about the settings`
          : view.sample
            ? words`a sample`
            : link(`${merchantPath(merchantOf(visit))}/payments/${view.sessionId}`, view.sessionId),
      ],
    ])}
    ${visit.can('webhooks.redeliver', merchantOf(visit).id) && changeForm(visit, `${visit.path}/redeliver`, field(REASON), words`Send it again`)}
    <h2>${words`Attempts`}</h2>
    ${table(words`Attempts`, attemptColumns(visit), view.log, words`None yet.`)}
    <h2>${words`What was sent`}</h2>
    <pre class="terms" tabindex="0">${JSON.stringify(JSON.parse(view.body), null, 2)}</pre>`;
}

const attemptColumns = (visit: Visit): Column<DeliveryAttemptView>[] => [
  { name: words`When`, cell: ({ startedAtMs }) => time(Math.floor(startedAtMs / 1000), visit) },
  { name: words`Why`, cell: ({ trigger }) => spelled(trigger) },
  {
    name: words`Answer`,
    cell: ({ status, failure, detail }) =>
      html`${status ?? failure}${detail !== null && html`<small>${detail}</small>`}`,
  },
  { name: words`Took`, isNumber: true, cell: ({ durationMs }) => words`${durationMs} ms` },
  {
    name: words`Response body`,
    cell: ({ answer }) =>
      answer === null ? null : html`<code>${new TextDecoder().decode(answer).slice(0, 2_000)}</code>`,
  },
];

function telling({ webhooks }: ConsoleDeps): ChangeRoute[] {
  return [
    {
      path: '/m/:merchant/webhooks/:event/redeliver',
      action: 'webhooks.redeliver',
      target: (visit) => paramOf(visit, 'event'),
      run: async (visit) => {
        reasonIn(visit);
        const id = eventOf(visit);
        accepted(await webhooks.redeliver(callerOf(visit), id));
        return { detail: 'sent again', shown: { to: `${pathOf(visit)}/${id}?done=redelivered` } };
      },
    },
    {
      path: '/m/:merchant/webhooks/replay',
      action: 'webhooks.redeliver',
      target: ({ form }) => `${form['from']} to ${form['to']}`,
      run: async (visit) => {
        reasonIn(visit);
        const [fromSec, toSec] = [dayIn(visit, 'from'), dayIn(visit, 'to') + DAY_SEC - 1];
        if (toSec < fromSec) throw new Refused(words`to must not be before from`);
        const { requested } = accepted(
          await webhooks.replay(callerOf(visit), { fromSec, toSec, onlyUndelivered: visit.form['which'] !== 'all' }),
        );
        return { detail: `${requested} webhooks`, shown: { to: `${pathOf(visit)}?done=replayed` } };
      },
    },
    {
      path: '/m/:merchant/webhooks/sample',
      action: 'webhooks.redeliver',
      target: ({ form }) => form['type'] ?? '',
      run: async (visit) => {
        const type = WEBHOOK_TYPES.find((one) => one === visit.form['type']);
        if (type === undefined) throw new Refused(words`type must be one of ${WEBHOOK_TYPES.join(', ')}`);
        accepted(await webhooks.sendSample(callerOf(visit), type));
        return { detail: type, shown: { to: `${pathOf(visit)}?done=sample` } };
      },
    },
  ];
}

/** Changing an endpoint takes a signature: its new owner would learn of every payment. */
function endpointChanges({ settings }: ConsoleDeps): ChangeRoute[] {
  return [
    {
      path: '/m/:merchant/webhooks/endpoint',
      action: 'webhooks.change',
      target: ({ form }) => form['url'] ?? '',
      toSign: async (visit) => ({
        kind: 'terms',
        title: 'set the endpoint of a merchant',
        lines: Object.entries({
          ...merchantNamed(visit),
          before: settings.getMerchant(merchantOf(visit).id)?.webhook?.url ?? 'none',
          after: visit.form['url'] ?? '',
          reason: reasonIn(visit),
        }),
      }),
      run: async (visit) => {
        const before = settings.getMerchant(merchantOf(visit).id);
        const after = accepted(
          await settings.setWebhook(merchantOf(visit).id, { url: visit.form['url'] ?? '' }, changedBy(visit)),
        );
        return { detail: 'set', shown: { to: `${pathOf(visit)}?done=${doneOrWaits(before, after, 'endpoint')}` } };
      },
    },
    {
      path: '/m/:merchant/webhooks/secret',
      action: 'webhooks.change',
      target: (visit) => merchantOf(visit).name,
      toSign: async (visit) => ({
        kind: 'terms',
        title: 'issue a new signing secret',
        lines: Object.entries({
          ...merchantNamed(visit),
          'takes over': 'in 24 hours, or when it is activated',
          reason: reasonIn(visit),
        }),
      }),
      run: async (visit) => {
        const { webhook_secret: secret } = accepted(
          await settings.issueWebhookSecret(merchantOf(visit).id, changedBy(visit)),
        );
        const body = html`<p>${words`Add it to the shop beside the old one. It takes over in 24 hours.`}</p>
          <p class="secret"><code>${secret}</code></p>
          <p>${link(pathOf(visit), words`Back`)}</p>`;
        return { detail: 'issued', shown: { page: { title: words`New secret: shown once`, body } } };
      },
    },
  ];
}

function dayIn({ form }: Visit, name: string): number {
  const day = form[name] ?? '';
  if (!isDay(day)) throw new Refused(words`${name} must be a day such as 2026-10-31`);
  return Date.parse(`${day}T00:00:00Z`) / 1000;
}
