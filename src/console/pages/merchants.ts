import { html } from '../../runtime/http/html.ts';
import { accepted, changedBy, modeOf, type ConsoleDeps } from '../deps.ts';
import { merchantPath } from '../layout.ts';
import { badge, changeForm, field, link, REASON, table } from '../parts.ts';
import type { ConsoleRoutes } from '../server.ts';
import { NO_SUCH, reasonIn, type ChangeRoute, type ShownMerchant, type Visit } from '../visit.ts';

/** The merchants whose pages a person may open. */
export const merchantsOf = (deps: Pick<ConsoleDeps, 'merchants'>, visit: Visit): ShownMerchant[] =>
  deps.merchants().filter(({ id }) => visit.can('payments.read', id));

export function merchantRoutes(deps: ConsoleDeps): ConsoleRoutes {
  return {
    change: [merchantCreation(deps)],
    read: [
      {
        path: '/merchants',
        action: null,
        show: async (visit) => {
          const all = merchantsOf(deps, visit);
          const isOfService = visit.person.grants.some(({ merchantId }) => merchantId === null);
          if (all.length === 0 && !isOfService) throw NO_SUCH();
          const found = isOfService ? all.filter(({ mode }) => mode === visit.mode) : all;
          const body = html`${table('Merchants', COLUMNS, found, `No merchant in ${visit.mode} mode yet.`)}
          ${visit.can('merchants.create') && creationForm(visit)}`;
          return { page: { title: 'Merchants', body } };
        },
      },
    ],
  };
}

const COLUMNS = [
  { name: 'Name', cell: (merchant: ShownMerchant) => link(merchantPath(merchant), merchant.name) },
  { name: 'Mode', cell: ({ mode }: ShownMerchant) => badge(mode) },
  { name: 'ID', cell: ({ id }: ShownMerchant) => id },
];

const creationForm = (visit: Visit) =>
  html`<h2>Create a merchant</h2>
    <p>The merchant gets an API key and a webhook secret, which the next page shows once.</p>
    ${changeForm(
      visit,
      '/merchants',
      [
        html`<input type="hidden" name="mode" value="${visit.mode}" />`,
        field({ name: 'name', label: 'Name', required: true, hint: 'Payers see it.' }),
        field(REASON),
      ],
      `Create a ${visit.mode} merchant`,
    )}`;

const merchantCreation = ({ settings }: ConsoleDeps): ChangeRoute => {
  const given = ({ form }: Visit) => ({ name: form['name'] ?? '', mode: modeOf(form['mode']) });
  return {
    path: '/merchants',
    action: 'merchants.create',
    target: ({ form }) => form['name'] ?? '',
    toSign: async (visit) => ({
      kind: 'terms',
      title: 'create a merchant',
      lines: Object.entries({ ...given(visit), reason: reasonIn(visit) }),
    }),
    run: async (visit) => {
      const made = accepted(await settings.registerMerchant(given(visit), changedBy(visit)));
      const body = html`<p>Give these to the merchant's developers now: they are not shown again.</p>
        <p class="secret">Key <code>${made.api_key}</code></p>
        <p class="secret">Secret <code>${made.api_secret}</code></p>
        <p class="secret">Webhook secret <code>${made.webhook_secret}</code></p>
        <p>${link(merchantPath(made), 'Open the merchant')}</p>`;
      return { detail: made.id, shown: { page: { title: 'Merchant created', body } } };
    },
  };
};
