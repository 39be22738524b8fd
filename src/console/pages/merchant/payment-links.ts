import { html, type Html } from '../../../runtime/http/html.ts';
import { byPerson, run, type ConsoleDeps } from '../../deps.ts';
import { csvLink, csvRoute, everyPage } from '../../csv.ts';
import { merchantPath } from '../../layout.ts';
import {
  badge,
  changeForm,
  code,
  facts,
  field,
  link,
  more,
  REASON,
  table,
  time,
  timeColumn,
  type Column,
} from '../../parts.ts';
import type { ConsoleRoutes } from '../../server.ts';
import { type Visit, paramOf, merchantOf } from '../../visit.ts';
import { linkAndCode, onePaymentLink } from './one-payment-link.ts';
import { paymentPath } from './payment-path.ts';
import { must } from '../../../domain/values/must.ts';
import { words } from '../../words.ts';

interface PaymentLink {
  readonly id: string;
  readonly url: string;
  readonly status: string;
  readonly amount: string;
  readonly currency: string;
  readonly description: string | null;
  readonly max_uses: number;
  readonly max_open: number;
  readonly max_unpaid_per_day: number;
  readonly ends_at: number | null;
  readonly created_at: number;
  readonly made: number;
  readonly paid: number;
  readonly open: number;
  readonly unpaid_in_day: number;
  readonly switched_off: { readonly at: number; readonly reason: string } | null;
}

interface LinkPayment {
  readonly number: number;
  readonly order_id: string;
  readonly session_id: string | null;
}

interface Listed {
  readonly payment_links: readonly PaymentLink[];
  readonly next_cursor: string | null;
}

type Shown = PaymentLink & { readonly payments: readonly LinkPayment[]; readonly next_before: number | null };

const WORDS: Readonly<Record<string, string>> = {
  on: 'active',
  busy: 'busy',
  paused: 'paused',
  off: 'switched_off',
  over: 'over',
  used_up: 'used_up',
};

/** Links for one payment, and links on which each visitor creates a payment of their own. */
export function paymentLinkRoutes(deps: ConsoleDeps): ConsoleRoutes {
  return {
    read: [
      {
        path: '/m/:merchant/links/new',
        action: 'payments.create',
        show: async (visit) => ({ page: { title: words`New payment link`, body: newPage(visit) } }),
      },
      {
        path: '/m/:merchant/links',
        action: 'payments.read',
        show: async (visit) => ({
          page: { title: words`Payment links`, isLive: true, body: await listPage(deps, visit) },
        }),
      },
      csvRoute('/m/:merchant/links', 'payments.read', (visit) => ({
        columns: columnsOf(visit),
        pages: everyLink(deps, visit),
      })),
      {
        path: '/m/:merchant/links/:link',
        action: 'payments.read',
        show: async (visit) => ({
          page: { title: words`Payment link`, isLive: true, body: await linkPage(deps, visit) },
        }),
      },
    ],
    change: [
      onePaymentLink(deps),
      {
        path: '/m/:merchant/links',
        action: 'payments.create',
        target: ({ form }) => `${form['amount']} ${form['currency']}`,
        run: async (visit) => {
          const given = Object.fromEntries(
            ['amount', 'currency', 'description', 'uses', 'open', 'unpaid', 'ends'].map((name) => [
              name,
              visit.form[name] ?? '',
            ]),
          );
          const made = await run<PaymentLink>(deps, 'payment-link.create', {
            ...ofMerchant(visit),
            ...given,
            actor: byPerson(visit).by,
          });
          return { detail: made.id, shown: { to: `${linksPath(visit)}/${made.id}?done=link` } };
        },
      },
      {
        path: '/m/:merchant/links/:link/off',
        action: 'payments.create',
        target: (visit) => paramOf(visit, 'link'),
        run: async (visit) => {
          const { by, reason } = byPerson(visit);
          const { id } = await run<PaymentLink>(deps, 'payment-link.off', {
            ...ofMerchant(visit),
            link_id: paramOf(visit, 'link'),
            reason,
            actor: by,
          });
          return { detail: 'switched off', shown: { to: `${linksPath(visit)}/${id}?done=link-off` } };
        },
      },
    ],
  };
}

const ofMerchant = ({ merchant }: Visit): { readonly merchant_id: string } => ({ merchant_id: must(merchant).id });
const linksPath = (visit: Visit): string => `${merchantPath(merchantOf(visit))}/links`;

const ASKED = [
  field({ name: 'amount', label: words`Amount`, required: true, max: 40 }),
  field({
    name: 'currency',
    label: words`Currency`,
    required: true,
    value: 'USD',
    max: 5,
    hint: words`Such as USD, EUR, USDT`,
  }),
  field({
    name: 'description',
    label: words`Description`,
    max: 1000,
    hint: words`Everybody who has the link can read it.`,
  }),
];
const FOR_ONE = [
  ...ASKED,
  field({
    name: 'order',
    label: words`Order`,
    required: true,
    max: 128,
    hint: words`Your order number. Each payment needs its own.`,
  }),
  field({
    name: 'supersedes',
    label: words`Replaces`,
    max: 60,
    hint: words`The ended payment of this order, if there is one: cs_…`,
  }),
];
const FOR_MANY = [
  ...ASKED,
  field({
    name: 'uses',
    label: words`Maximum payments`,
    type: 'number',
    value: '100',
    required: true,
    hint: words`Paid or in progress, up to 10,000.`,
  }),
  field({
    name: 'open',
    label: words`Maximum waiting at once`,
    type: 'number',
    value: '20',
    required: true,
    hint: words`Payments waiting for money, up to 100. One visitor can hold half of them.`,
  }),
  field({
    name: 'unpaid',
    label: words`Maximum unpaid in 24 hours`,
    type: 'number',
    value: '100',
    required: true,
    hint: words`The link pauses at this many, up to 1,000. One visitor can cause a tenth of them.`,
  }),
  field({
    name: 'ends',
    label: words`Last day (UTC)`,
    type: 'date',
    hint: words`Leave empty to keep it on until you switch it off.`,
  }),
];

function newPage(visit: Visit): Html {
  return html`<h2>${words`For one payment`}</h2>
    <p>${words`Creates one payment right away. Send its link to the payer, or print its QR code.`}</p>
    ${changeForm(visit, `${linksPath(visit)}/new`, FOR_ONE, words`Create the link`)}
    <h2>${words`For many payments`}</h2>
    <p>
      ${words`Each visitor who presses the button of the link gets a payment of their own. Its order number is the ID of the
      link with a number after it.`}
    </p>
    ${changeForm(visit, linksPath(visit), FOR_MANY, words`Create the link for many payments`)}`;
}

const listed = (deps: ConsoleDeps, visit: Visit, cursor: string | null): Promise<Listed> =>
  run<Listed>(deps, 'payment-link.list', { ...ofMerchant(visit), ...(cursor !== null && { cursor }) });

async function listPage(deps: ConsoleDeps, visit: Visit): Promise<Html> {
  const here = linksPath(visit);
  const cursor = visit.query.get('cursor');
  const { payment_links: links, next_cursor: next } = await listed(deps, visit, cursor);
  return html`<p>
      ${words`Links where each visitor makes a payment of their own`} · ${csvLink(visit)}
      ${visit.can('payments.create', merchantOf(visit).id) && html`· ${link(`${here}/new`, words`New payment link`)}`}
    </p>
    ${table(words`Payment links`, columnsOf(visit), links, words`No links for many payments yet.`)} ${more(visit, next)}`;
}

const everyLink = (deps: ConsoleDeps, visit: Visit): AsyncGenerator<readonly PaymentLink[]> =>
  everyPage(async (cursor) => {
    const { payment_links: rows, next_cursor: next } = await listed(deps, visit, cursor);
    return { rows, next };
  });

const columnsOf = (visit: Visit): Column<PaymentLink>[] => [
  timeColumn(words`Created`, ({ created_at: sec }) => sec, visit),
  { name: words`Link`, cell: ({ id }) => link(`${linksPath(visit)}/${id}`, id), text: ({ id }) => id },
  { name: words`Status`, cell: ({ status }) => badge(WORDS[status] ?? status), text: ({ status }) => status },
  { name: words`Amount`, isNumber: true, cell: ({ amount, currency }) => `${amount} ${currency}` },
  { name: words`Description`, cell: ({ description }) => description },
  { name: words`Paid`, isNumber: true, cell: ({ paid, max_uses: most }) => words`${paid} of ${most}` },
  { name: words`Waiting`, isNumber: true, cell: ({ open }) => open },
];

async function linkPage(deps: ConsoleDeps, visit: Visit): Promise<Html> {
  const { query, params } = visit;
  const before = query.get('before');
  const shown = await run<Shown>(deps, 'payment-link.show', {
    ...ofMerchant(visit),
    link_id: must(params['link']),
    ...(before !== null && { before }),
  });
  const mayChange = visit.can('payments.create', merchantOf(visit).id) && shown.switched_off === null;
  return html`${linkAndCode(shown.url)}
    ${facts([
      [words`Status`, badge(WORDS[shown.status] ?? shown.status)],
      [words`Amount`, `${shown.amount} ${shown.currency}`],
      [words`Description`, shown.description],
      [words`Paid`, words`${shown.paid} of ${shown.max_uses}`],
      [words`Waiting for money`, words`${shown.open}, at most ${shown.max_open} at once`],
      [words`Unpaid in 24 hours`, words`${shown.unpaid_in_day}, at most ${shown.max_unpaid_per_day}`],
      [words`Created by visitors`, shown.made],
      [words`Ends`, shown.ends_at === null ? words`when it is switched off` : time(shown.ends_at, visit)],
      [words`Created`, time(shown.created_at, visit)],
      [words`Link`, code(shown.id)],
      ...(shown.switched_off
        ? ([
            [
              words`Switched off`,
              html`${time(shown.switched_off.at, visit)}<small>${shown.switched_off.reason}</small>`,
            ],
          ] as const)
        : []),
    ])}
    <h2>${words`Payments`}</h2>
    ${table(words`Payments of the link`, paymentColumns(visit), shown.payments, words`Nobody has pressed the button yet.`)}
    ${more(visit, shown.next_before, 'before')}
    ${
      mayChange &&
      html`<h2>${words`Switch off`}</h2>
        <p>${words`This is permanent. Payments that exist can still be paid until they expire.`}</p>
        ${changeForm(visit, `${visit.path}/off`, field(REASON), words`Switch the link off`, 'danger')}`
    }`;
}

const paymentColumns = (visit: Visit): Column<LinkPayment>[] => [
  { name: words`Number`, isNumber: true, cell: ({ number }) => number },
  {
    name: words`Order`,
    cell: ({ order_id: order, session_id: id }) => (id === null ? order : link(paymentPath(visit, id), order)),
  },
  { name: words`Payment`, cell: ({ session_id: id }) => (id === null ? 'not created' : code(id)) },
];
