import { html } from '../../runtime/http/html.ts';
import { accepted, changedBy, modeOf, type ConsoleDeps } from '../deps.ts';
import { merchantPath } from '../layout.ts';
import { badge, changeForm, modeField, field, link, REASON, table } from '../parts.ts';
import type { ConsoleRoutes } from '../server.ts';
import { NO_SUCH, reasonIn, type ChangeRoute, type ShownMerchant, type Visit } from '../visit.ts';
import { words } from '../words.ts';

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
          const body = html`${table(words`Merchants`, COLUMNS, found, words`No merchant in ${visit.mode} mode yet.`)}
          ${visit.can('merchants.create') && creationForm(visit)}`;
          return { page: { title: words`Merchants`, body } };
        },
      },
    ],
  };
}

const COLUMNS = [
  { name: words`Name`, cell: (merchant: ShownMerchant) => link(merchantPath(merchant), merchant.name) },
  { name: words`Mode`, cell: ({ mode }: ShownMerchant) => badge(mode) },
  { name: words`ID`, cell: ({ id }: ShownMerchant) => id },
];

const creationForm = (visit: Visit) =>
  html`<h2>${words`Create a merchant`}</h2>
    <p>${words`The merchant gets an API key and a webhook secret, which the next page shows once.`}</p>
    ${changeForm(
      visit,
      '/merchants',
      [
        modeField(visit),
        field({ name: 'name', label: words`Name`, required: true, hint: words`Payers see it.` }),
        field(REASON),
      ],
      words`Create a ${visit.mode} merchant`,
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
      const body = html`<p>${words`Give these to the merchant's developers now: they are not shown again.`}</p>
        <p class="secret">${words`Key ${html`<code>${made.api_key}</code>`}`}</p>
        <p class="secret">${words`Secret ${html`<code>${made.api_secret}</code>`}`}</p>
        <p class="secret">${words`Webhook secret ${html`<code>${made.webhook_secret}</code>`}`}</p>
        <p>${link(merchantPath(made), words`Open the merchant`)}</p>`;
      return { detail: made.id, shown: { page: { title: words`Merchant created`, body } } };
    },
  };
};
