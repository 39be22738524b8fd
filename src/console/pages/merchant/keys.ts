import { html, type Html } from '../../../runtime/http/html.ts';
import { parseApiKeyId } from '../../../domain/values/ids.ts';
import { SCOPES } from '../../../domain/api-keys.ts';
import { restrictionsOf } from '../../../operator/merchants/merchants.ts';
import { accepted, changedBy, overviewOf, type ConsoleDeps } from '../../deps.ts';
import type { MerchantOverview } from '../../../features/merchants/overview.ts';
import { merchantPath } from '../../layout.ts';
import { badge, changeForm, code, field, link, REASON, table, time } from '../../parts.ts';
import type { ConsoleRoutes } from '../../server.ts';
import { reasonIn, Refused, type ChangeRoute, type Visit, merchantNamed, merchantOf } from '../../visit.ts';
import { words } from '../../words.ts';

/** A merchant's API keys. */
export const keyRoutes = (deps: ConsoleDeps): ConsoleRoutes => ({
  read: [
    {
      path: '/m/:merchant/keys',
      action: 'keys.read',
      show: async (visit) => ({ page: { title: words`API keys`, body: keysPage(visit, overviewOf(deps, visit)) } }),
    },
  ],
  change: keyChanges(deps),
});

function keysPage(visit: Visit, { keys }: MerchantOverview): Html {
  const may = visit.can('keys.change', merchantOf(visit).id);
  const here = `${merchantPath(merchantOf(visit))}/keys`;
  return html`${table(
    words`API keys`,
    [
      { name: words`Key`, cell: ({ hint }) => code(hint) },
      { name: words`ID`, cell: ({ key_id: id }) => code(id) },
      { name: words`Scopes`, cell: ({ scopes }) => scopes?.join(', ') ?? words`all` },
      { name: words`From`, cell: ({ addresses }) => addresses.join(', ') || words`anywhere` },
      { name: words`Last used`, cell: ({ last_used_at: sec }) => time(sec, visit) },
      { name: words`State`, cell: ({ revoked }) => badge(revoked ? 'revoked' : 'active') },
      {
        name: words`Revoke`,
        cell: ({ key_id: id, revoked }) =>
          may && !revoked
            ? changeForm(
                visit,
                `${here}/revoke`,
                [html`<input type="hidden" name="key" value="${id}" />`, field(REASON)],
                words`Revoke`,
                'danger',
              )
            : null,
      },
    ],
    keys,
    words`None.`,
  )}
  ${
    may &&
    html`<h2>${words`Create a key`}</h2>
      <p>${words`To rotate a key, create a new one, put it into the shop and revoke the old one.`}</p>
      ${changeForm(
        visit,
        here,
        [
          field({
            name: 'scopes',
            label: words`Scopes`,
            hint: words`Leave empty for all, or list some of ${SCOPES.join(', ')}`,
          }),
          field({
            name: 'addresses',
            label: words`Allowed IP addresses`,
            hint: words`Leave empty to allow any, or list addresses and ranges separated by commas.`,
          }),
          field(REASON),
        ],
        words`Create a key`,
      )}`
  }`;
}

/** The restrictions in the form, written as on the command line. Throws `CommandRefused`. */
const restrictionsIn = ({ form }: Visit) =>
  restrictionsOf({
    ...(form['scopes'] && { scopes: form['scopes'] }),
    ...(form['addresses'] && { addresses: form['addresses'] }),
  });

function keyChanges(deps: ConsoleDeps): ChangeRoute[] {
  const { settings } = deps;
  const terms = (visit: Visit, title: string, more: Record<string, string> = {}) => ({
    kind: 'terms' as const,
    title,
    lines: Object.entries({
      ...merchantNamed(visit),
      ...more,
      reason: reasonIn(visit),
    }),
  });
  return [
    {
      path: '/m/:merchant/keys',
      action: 'keys.change',
      target: (visit) => merchantOf(visit).name,
      toSign: async (visit) =>
        terms(visit, 'issue an API key', {
          scopes: visit.form['scopes'] || 'all',
          addresses: visit.form['addresses'] || 'any',
        }),
      run: async (visit) => {
        const made = accepted(await settings.issueKey(merchantOf(visit).id, restrictionsIn(visit), changedBy(visit)));
        const body = html`<p>${words`Put both into the shop now. They are not shown again.`}</p>
          <p class="secret">${words`Key ${html`<code>${made.api_key}</code>`}`}</p>
          <p class="secret">${words`Secret ${html`<code>${made.api_secret}</code>`}`}</p>
          <p>${link(`${merchantPath(merchantOf(visit))}/keys`, words`Back to the keys`)}</p>`;
        return { detail: made.key_id, shown: { page: { title: words`New key: shown once`, body } } };
      },
    },
    {
      path: '/m/:merchant/keys/revoke',
      action: 'keys.change',
      target: ({ form }) => form['key'] ?? '',
      toSign: async (visit) => terms(visit, 'revoke an API key', { key: visit.form['key'] ?? '' }),
      run: async (visit) => {
        const key = parseApiKeyId(visit.form['key'] ?? '');
        if (key === null) throw new Refused(words`key must be the id of an API key`);
        accepted(await settings.revokeKey(merchantOf(visit).id, key, changedBy(visit)));
        return { detail: 'revoked', shown: { to: `${merchantPath(merchantOf(visit))}/keys?done=revoked` } };
      },
    },
  ];
}
