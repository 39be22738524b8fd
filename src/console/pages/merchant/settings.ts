import { html, type Html } from '../../../runtime/http/html.ts';
import { parseApiKeyId } from '../../../domain/values/ids.ts';
import { SCOPES } from '../../../domain/api-keys.ts';
import { EVIDENCE_KINDS } from '../../../domain/claims.ts';
import type { MerchantPolicy } from '../../../domain/events/merchant-events.ts';
import { amountOf } from '../../../domain/money/money.ts';
import { NETWORKS } from '../../../domain/networks/networks.ts';
import { policyOf, restrictionsOf } from '../../../operator/merchants/merchants.ts';
import { accepted, changedBy, readerOf, type ConsoleDeps } from '../../deps.ts';
import type { MerchantOverview } from '../../../features/merchants/overview.ts';
import { merchantPath } from '../../layout.ts';
import { badge, changeForm, code, facts, field, link, REASON, table, time } from '../../parts.ts';
import type { ConsoleRoutes } from '../../server.ts';
import { NO_SUCH, reasonIn, Refused, type ChangeRoute, type Visit, merchantNamed, merchantOf } from '../../visit.ts';
import { domainChanges, logoChange } from './shown-to-payers.ts';
import { doneOrWaits, waitingChanges, withdrawal } from './waiting-changes.ts';

/** A merchant's keys, domains and payment policy. */
export function settingsRoutes(deps: ConsoleDeps): ConsoleRoutes {
  return {
    read: [
      {
        path: '/m/:merchant/keys',
        action: 'keys.read',
        show: async (visit) => ({ page: { title: 'API keys', body: keysPage(visit, overview(deps, visit)) } }),
      },
      {
        path: '/m/:merchant/settings',
        action: 'settings.read',
        show: async (visit) => ({
          page: { title: 'Settings', scripts: ['picture.js'], body: settingsPage(visit, overview(deps, visit)) },
        }),
      },
    ],
    change: [...keyChanges(deps), policyChange(deps), logoChange(deps), ...domainChanges(deps), withdrawal(deps)],
  };
}

function overview({ settings }: ConsoleDeps, visit: Visit): MerchantOverview {
  const found = settings.getMerchant(readerOf(visit).merchantId);
  if (!found) throw NO_SUCH();
  return found;
}

function keysPage(visit: Visit, { keys }: MerchantOverview): Html {
  const may = visit.can('keys.change', merchantOf(visit).id);
  const here = `${merchantPath(merchantOf(visit))}/keys`;
  return html`${table(
    'API keys',
    [
      { name: 'Key', cell: ({ hint }) => code(hint) },
      { name: 'ID', cell: ({ key_id: id }) => code(id) },
      { name: 'Scopes', cell: ({ scopes }) => scopes?.join(', ') ?? 'all' },
      { name: 'From', cell: ({ addresses }) => addresses.join(', ') || 'anywhere' },
      { name: 'Last used', cell: ({ last_used_at: sec }) => time(sec, visit) },
      { name: 'State', cell: ({ revoked }) => badge(revoked ? 'revoked' : 'active') },
      {
        name: 'Revoke',
        cell: ({ key_id: id, revoked }) =>
          may && !revoked
            ? changeForm(
                visit,
                `${here}/revoke`,
                [html`<input type="hidden" name="key" value="${id}" />`, field(REASON)],
                'Revoke',
                'danger',
              )
            : null,
      },
    ],
    keys,
    'None.',
  )}
  ${
    may &&
    html`<h2>Create a key</h2>
      <p>To rotate a key, create a new one, put it into the shop and revoke the old one.</p>
      ${changeForm(
        visit,
        here,
        [
          field({ name: 'scopes', label: 'Scopes', hint: `Leave empty for all, or list some of ${SCOPES.join(', ')}` }),
          field({
            name: 'addresses',
            label: 'Allowed IP addresses',
            hint: 'Leave empty to allow any, or list addresses and ranges separated by commas.',
          }),
          field(REASON),
        ],
        'Create a key',
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
        const body = html`<p>Put both into the shop now. They are not shown again.</p>
          <p class="secret">Key <code>${made.api_key}</code></p>
          <p class="secret">Secret <code>${made.api_secret}</code></p>
          <p>${link(`${merchantPath(merchantOf(visit))}/keys`, 'Back to the keys')}</p>`;
        return { detail: made.key_id, shown: { page: { title: 'New key: shown once', body } } };
      },
    },
    {
      path: '/m/:merchant/keys/revoke',
      action: 'keys.change',
      target: ({ form }) => form['key'] ?? '',
      toSign: async (visit) => terms(visit, 'revoke an API key', { key: visit.form['key'] ?? '' }),
      run: async (visit) => {
        const key = parseApiKeyId(visit.form['key'] ?? '');
        if (key === null) throw new Refused('key must be the id of an API key');
        accepted(await settings.revokeKey(merchantOf(visit).id, key, changedBy(visit)));
        return { detail: 'revoked', shown: { to: `${merchantPath(merchantOf(visit))}/keys?done=revoked` } };
      },
    },
  ];
}

function settingsPage(visit: Visit, overview: MerchantOverview): Html {
  const { domains } = overview;
  const may = visit.can('settings.change', merchantOf(visit).id);
  const here = `${merchantPath(merchantOf(visit))}/settings`;
  return html`${waitingChanges(visit, overview)} ${settingFacts(overview)}
    <h2>Domains</h2>
    ${table(
      'Domains',
      [
        { name: 'Host', cell: ({ host }) => host },
        { name: 'Shown to payers as', cell: (domain) => domain.name },
        {
          name: 'Remove',
          cell: ({ domain_id: domain }) =>
            may
              ? changeForm(
                  visit,
                  `${here}/domains/remove`,
                  [html`<input type="hidden" name="domain" value="${domain}" />`, field(REASON)],
                  'Remove',
                  'danger',
                )
              : null,
        },
      ],
      domains,
      'None.',
    )}
    ${
      may &&
      html`${changeForm(
          visit,
          `${here}/domains`,
          [
            field({ name: 'host', label: 'Host', required: true, hint: 'For example shop.example' }),
            field({ name: 'name', label: 'Name for payers', required: true }),
            field(REASON),
          ],
          'Add a domain',
        )}
        ${logoForm(visit, here)}
        <h2>Change the settings</h2>
        <p>Fields that you leave empty stay as they are. The next page shows the values before and after.</p>
        ${changeForm(visit, here, [...policyFields(), field(REASON)], 'Preview the change')}`
    }`;
}

const policyFields = (): Html[] => [
  field({ name: 'tolerance', label: 'Tolerated shortfall', hint: "In units of the coin, up to the operator's limit." }),
  field({
    name: 'tolerancePercent',
    label: 'Tolerated shortfall in percent',
    hint: 'Of the amount due, such as 0.5, up to the limit of the operator. The amount above caps it unless that is 0. Or “none”.',
  }),
  field({
    name: 'offerBothCoins',
    label: 'Payers choose the coin',
    options: Object.entries({ '': 'unchanged', true: 'yes', false: 'no' }),
  }),
  field({ name: 'contact', label: 'Contact for payers', hint: 'An email address, an https URL or “none”.' }),
  field({
    name: 'refundClaims',
    label: 'Evidence for refunds to another address',
    hint: `Some of ${EVIDENCE_KINDS.join(', ')}, or “off”.`,
  }),
  field({ name: 'sessionTtl', label: 'Lifetime of a payment in seconds' }),
  field({ name: 'networks', label: 'Networks', hint: `In the order in which payers see them: ${NETWORKS.join(', ')}` }),
  field({ name: 'ethereumConfirmations', label: 'Ethereum confirmations' }),
];

const shortBy = ({ tolerance, tolerancePercent: share, settlementCoin }: MerchantPolicy): string => {
  const amount = `${tolerance} ${settlementCoin}`;
  if (share === undefined || share === null) return amount;
  return `${share} % of what is due` + (amountOf(tolerance) === 0n ? '' : `, at most ${amount}`);
};

const settingFacts = ({ policy, logo, name, id, change_delay_minutes: delay }: MerchantOverview): Html =>
  facts([
    ['Name', name],
    ['ID', code(id)],
    ['Paid in', policy.settlementCoin],
    ['Payers choose the coin', policy.offerBothCoins === true ? 'yes' : 'no'],
    ['Networks', policy.networks.join(', ')],
    ['Tolerated shortfall', shortBy(policy)],
    ['Contact for payers', policy.contact ?? 'none'],
    ['Logo', logo === null ? 'none' : `${logo.width} × ${logo.height} pixels, ${logo.bytes} bytes`],
    ['Evidence for refunds to another address', policy.refundClaims?.join(', ') || 'off'],
    ['Lifetime of a payment', policy.sessionTtlSec === null ? 'default' : `${policy.sessionTtlSec} s`],
    ['Ethereum confirmations', policy.ethereumConfirmations],
    ['Ethereum finality from', policy.ethereumFinalizedFrom],
    ['Delay of changes to URLs, policy and settlement addresses', delay > 0 ? `${delay} minutes` : 'none'],
    ['Service fee', `${(policy.serviceFeeBasisPoints ?? 0) / 100} %`],
  ]);

/** The console's forms contain text only, so a script reads the picture into a field. */
const logoForm = (visit: Visit, here: string): Html =>
  html`<h2>Logo</h2>
    ${changeForm(
      visit,
      `${here}/logo`,
      [
        html`<p class="field">
          <label
            >Picture <input type="file" accept="image/png" data-into="image" />
            <small
              >A PNG file of at most 128 KiB, shown to payers at 40 pixels of height. Leave empty to remove the
              logo.</small
            ></label
          >
        </p>`,
        html`<input type="hidden" name="image" />`,
        field(REASON),
      ],
      'Set the logo',
    )}`;

const POLICY_FIELDS = [
  'tolerance',
  'tolerancePercent',
  'offerBothCoins',
  'contact',
  'refundClaims',
  'sessionTtl',
  'networks',
  'ethereumConfirmations',
] as const;

const policyChange = (deps: ConsoleDeps): ChangeRoute => ({
  path: '/m/:merchant/settings',
  action: 'settings.change',
  target: (visit) => merchantOf(visit).name,
  toSign: async (visit) => {
    const { policy } = overview(deps, visit);
    const before = {
      tolerance: policy.tolerance,
      tolerancePercent: policy.tolerancePercent ?? 'none',
      offerBothCoins: policy.offerBothCoins ?? false,
      contact: policy.contact ?? 'none',
      refundClaims: policy.refundClaims?.join(', ') || 'off',
      sessionTtl: policy.sessionTtlSec ?? 'default',
      networks: policy.networks.join(', '),
      ethereumConfirmations: policy.ethereumConfirmations,
    };
    const changes = POLICY_FIELDS.flatMap((name) => {
      const after = visit.form[name] ?? '';
      return after === '' || after === String(before[name])
        ? []
        : [[name, `${before[name]} becomes ${after}`] as const];
    });
    if (changes.length === 0) throw new Refused('nothing would change');
    return {
      kind: 'terms',
      title: 'change the settings of a merchant',
      lines: [...Object.entries(merchantNamed(visit)), ...changes, ['reason', reasonIn(visit)]],
    };
  },
  run: async (visit) => {
    const given = Object.fromEntries(
      POLICY_FIELDS.flatMap((name) => (visit.form[name] ? [[name, visit.form[name]]] : [])),
    );
    const before = overview(deps, visit);
    const after = accepted(await deps.settings.setPolicy(merchantOf(visit).id, policyOf(given), changedBy(visit)));
    const done = doneOrWaits(before, after, 'policy');
    return { detail: JSON.stringify(given), shown: { to: `${merchantPath(merchantOf(visit))}/settings?done=${done}` } };
  },
});
