import { html, type Html } from '../../../runtime/http/html.ts';
import type { MerchantPolicy } from '../../../domain/events/merchant-events.ts';
import { amountOf } from '../../../domain/money/money.ts';
import { NETWORKS } from '../../../domain/networks/networks.ts';
import { policyOf } from '../../../operator/merchants/merchants.ts';
import { accepted, changedBy, overviewOf, type ConsoleDeps } from '../../deps.ts';
import type { MerchantOverview } from '../../../features/merchants/overview.ts';
import { merchantPath } from '../../layout.ts';
import { changeForm, code, facts, field, REASON, table } from '../../parts.ts';
import type { ConsoleRoutes } from '../../server.ts';
import { reasonIn, Refused, type ChangeRoute, type Visit, merchantNamed, merchantOf } from '../../visit.ts';
import { domainChanges, logoChange } from './shown-to-payers.ts';
import { doneOrWaits, waitingChanges, withdrawal } from './waiting-changes.ts';
import { words, type Words } from '../../words.ts';

/** A merchant's domains and payment policy. */
export function settingsRoutes(deps: ConsoleDeps): ConsoleRoutes {
  return {
    read: [
      {
        path: '/m/:merchant/settings',
        action: 'settings.read',
        show: async (visit) => ({
          page: { title: words`Settings`, scripts: ['picture.js'], body: settingsPage(visit, overviewOf(deps, visit)) },
        }),
      },
    ],
    change: [policyChange(deps), logoChange(deps), ...domainChanges(deps), withdrawal(deps)],
  };
}

function settingsPage(visit: Visit, overview: MerchantOverview): Html {
  const { domains } = overview;
  const may = visit.can('settings.change', merchantOf(visit).id);
  const here = `${merchantPath(merchantOf(visit))}/settings`;
  return html`${waitingChanges(visit, overview)} ${settingFacts(overview)}
    <h2>${words`Domains`}</h2>
    ${table(
      words`Domains`,
      [
        { name: words`Host`, cell: ({ host }) => host },
        { name: words`Shown to payers as`, cell: (domain) => domain.name },
        {
          name: words`Remove`,
          cell: ({ domain_id: domain }) =>
            may
              ? changeForm(
                  visit,
                  `${here}/domains/remove`,
                  [html`<input type="hidden" name="domain" value="${domain}" />`, field(REASON)],
                  words`Remove`,
                  'danger',
                )
              : null,
        },
      ],
      domains,
      words`None.`,
    )}
    ${
      may &&
      html`${changeForm(
          visit,
          `${here}/domains`,
          [
            field({ name: 'host', label: words`Host`, required: true, hint: words`For example shop.example` }),
            field({ name: 'name', label: words`Name for payers`, required: true }),
            field(REASON),
          ],
          words`Add a domain`,
        )}
        ${logoForm(visit, here)}
        <h2>${words`Change the settings`}</h2>
        <p>${words`Fields that you leave empty stay as they are. The next page shows the values before and after.`}</p>
        ${changeForm(visit, here, [...policyFields(), field(REASON)], words`Preview the change`)}`
    }`;
}

const policyFields = (): Html[] => [
  field({
    name: 'tolerance',
    label: words`Tolerated shortfall`,
    hint: words`In units of the coin, up to the operator's limit.`,
  }),
  field({
    name: 'tolerancePercent',
    label: words`Tolerated shortfall in percent`,
    hint: words`Of the amount due, such as 0.5, up to the limit of the operator. The amount above caps it unless that is 0. Or “none”.`,
  }),
  field({
    name: 'offerBothCoins',
    label: words`Payers choose the coin`,
    options: Object.entries({ '': words`unchanged`, true: words`yes`, false: words`no` }),
  }),
  field({ name: 'contact', label: words`Contact for payers`, hint: words`An email address, an https URL or “none”.` }),
  field({ name: 'sessionTtl', label: words`Lifetime of a payment in seconds` }),
  field({
    name: 'networks',
    label: words`Networks`,
    hint: words`In the order in which payers see them: ${NETWORKS.join(', ')}`,
  }),
  field({ name: 'ethereumConfirmations', label: words`Ethereum confirmations` }),
];

const shortBy = ({ tolerance, tolerancePercent: share, settlementCoin }: MerchantPolicy): Words | string => {
  const amount = `${tolerance} ${settlementCoin}`;
  if (share === undefined || share === null) return amount;
  return amountOf(tolerance) === 0n
    ? words`${share} % of what is due`
    : words`${share} % of what is due, at most ${amount}`;
};

const settingFacts = ({ policy, logo, name, id, change_delay_minutes: delay }: MerchantOverview): Html =>
  facts([
    [words`Name`, name],
    [words`ID`, code(id)],
    [words`Paid in`, policy.settlementCoin],
    [words`Payers choose the coin`, policy.offerBothCoins === true ? words`yes` : words`no`],
    [words`Networks`, policy.networks.join(', ')],
    [words`Tolerated shortfall`, shortBy(policy)],
    [words`Contact for payers`, policy.contact ?? words`none`],
    [words`Logo`, logo === null ? words`none` : words`${logo.width} × ${logo.height} pixels, ${logo.bytes} bytes`],
    [words`Lifetime of a payment`, policy.sessionTtlSec === null ? words`default` : words`${policy.sessionTtlSec} s`],
    [words`Ethereum confirmations`, policy.ethereumConfirmations],
    [words`Ethereum finality from`, policy.ethereumFinalizedFrom],
    [
      words`Delay of changes to URLs, policy and settlement addresses`,
      delay > 0 ? words`${delay} minutes` : words`none`,
    ],
    [words`Service fee`, `${(policy.serviceFeeBasisPoints ?? 0) / 100} %`],
  ]);

/** The console's forms contain text only, so a script reads the picture into a field. */
const logoForm = (visit: Visit, here: string): Html =>
  html`<h2>${words`Logo`}</h2>
    ${changeForm(
      visit,
      `${here}/logo`,
      [
        html`<p class="field">
          <label
            >${words`Picture`} <input type="file" accept="image/png" data-into="image" />
            <small
              >${words`A PNG file of at most 128 KiB, shown to payers at 40 pixels of height. Leave empty to remove the
              logo.`}</small
            ></label
          >
        </p>`,
        html`<input type="hidden" name="image" />`,
        field(REASON),
      ],
      words`Set the logo`,
    )}`;

const POLICY_FIELDS = [
  'tolerance',
  'tolerancePercent',
  'offerBothCoins',
  'contact',
  'sessionTtl',
  'networks',
  'ethereumConfirmations',
] as const;

const policyChange = (deps: ConsoleDeps): ChangeRoute => ({
  path: '/m/:merchant/settings',
  action: 'settings.change',
  target: (visit) => merchantOf(visit).name,
  toSign: async (visit) => {
    const { policy } = overviewOf(deps, visit);
    const before = {
      tolerance: policy.tolerance,
      tolerancePercent: policy.tolerancePercent ?? 'none',
      offerBothCoins: policy.offerBothCoins ?? false,
      contact: policy.contact ?? 'none',
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
    if (changes.length === 0) throw new Refused(words`nothing would change`);
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
    const before = overviewOf(deps, visit);
    const after = accepted(await deps.settings.setPolicy(merchantOf(visit).id, policyOf(given), changedBy(visit)));
    const done = doneOrWaits(before, after, 'policy');
    return { detail: JSON.stringify(given), shown: { to: `${merchantPath(merchantOf(visit))}/settings?done=${done}` } };
  },
});
