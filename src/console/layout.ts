import { html, type Html } from '../runtime/http/html.ts';
import type { Mode } from '../domain/values/ids.ts';
import type { Recovery } from '../../state-machines/person/person.state.ts';
import { allowsSomewhere, type Action } from './access.ts';
import type { Language } from './languages.ts';
import { inMode, switched } from './modes.ts';
import { changeForm, time } from './parts.ts';
import { backOf } from './step-up.ts';
import type { Page, ShownMerchant, Visit } from './visit.ts';
import { words, type Words } from './words.ts';

interface Entry {
  readonly to: string;
  readonly text: Words;
  readonly action: Action;
}

const SERVICE: readonly Entry[] = [
  { to: '/attention', text: words`Needs attention`, action: 'attention.read' },
  { to: '/treasury', text: words`Treasury`, action: 'treasury.read' },
  { to: '/unmatched', text: words`Unmatched transfers`, action: 'unmatched.read' },
  { to: '/chains', text: words`Chains`, action: 'chains.read' },
  { to: '/canaries', text: words`Canary payments`, action: 'chains.read' },
  { to: '/deliveries', text: words`Deliveries`, action: 'deliveries.read' },
  { to: '/service', text: words`Service`, action: 'service.read' },
  { to: '/books', text: words`Books`, action: 'books.read' },
  { to: '/audit', text: words`Audit`, action: 'audit.read' },
  { to: '/people', text: words`People`, action: 'people.read' },
  { to: '/actions', text: words`Actions`, action: 'actions.read' },
];

const OF_MERCHANT: readonly Entry[] = [
  { to: '', text: words`Home`, action: 'payments.read' },
  { to: '/payments', text: words`Payments`, action: 'payments.read' },
  { to: '/links', text: words`Payment links`, action: 'payments.read' },
  { to: '/webhooks', text: words`Webhooks`, action: 'webhooks.read' },
  { to: '/requests', text: words`Requests`, action: 'requests.read' },
  { to: '/keys', text: words`API keys`, action: 'keys.read' },
  { to: '/settings', text: words`Settings`, action: 'settings.read' },
  { to: '/statement', text: words`Statement`, action: 'statements.read' },
];

export const merchantPath = ({ id }: Pick<ShownMerchant, 'id'>): string => `/m/${id}`;

/** The menu entries that a person may open; pages without a route are left out. */
function menuOf(visit: Visit, known: ReadonlySet<string>): { readonly merchant: Entry[]; readonly service: Entry[] } {
  const { merchant, person } = visit;
  return {
    merchant:
      merchant === null
        ? []
        : OF_MERCHANT.filter(({ action, to }) => visit.can(action, merchant.id) && known.has(`/m/:merchant${to}`)).map(
            (entry) => ({ ...entry, to: merchantPath(merchant) + entry.to }),
          ),
    service: SERVICE.filter(
      ({ action, to }) => allowsSomewhere(person.grants, action) && visit.can(action) && known.has(to),
    ),
  };
}

export interface Frame {
  readonly version: string;
  readonly known: ReadonlySet<string>;
  readonly languages: readonly Language[];
  /** A sandbox: no page shows real money. */
  readonly sandbox: boolean;
}

/** What the person is told above the page. */
export interface Told {
  readonly notice: Words | null;
  readonly recovery: Recovery | null;
}

/** A page for a signed-in person. */
export function renderPage(frame: Frame, visit: Visit, page: Page, told: Told): string {
  const { merchant, service } = menuOf(visit, frame.known);
  const mode = page.mode ?? visit.mode;
  const menu = html`<nav aria-label="${words`Main`}">
    ${visit.merchant && html`<p class="where"><a href="${inMode('/merchants', visit.mode)}">${visit.merchant.name}</a></p>`}
    ${
      merchant.length > 0 &&
      html`<ul>
        ${merchant.map((entry) => menuItem(entry, visit))}
      </ul>`
    }
    ${
      visit.merchant === null &&
      allowsSomewhere(visit.person.grants, 'payments.read') &&
      html`<ul>
        ${menuItem({ to: '/merchants', text: words`Merchants`, action: 'payments.read' }, visit)}
      </ul>`
    }
    ${
      service.length > 0 &&
      html`<ul>
        ${service.map((entry) => menuItem(entry, visit))}
      </ul>`
    }
  </nav>`;
  return document(
    frame,
    visit.language,
    page,
    html`<a class="skip" href="#main">${words`Skip to the page`}</a>
      ${band(frame, mode)}
      <header class="top">
        <a class="brand" href="/">Quittance</a>
        <form class="search" role="search" action="/search" method="get">
          <label class="unseen" for="q">${words`Search`}</label>
          <input
            type="search"
            id="q"
            name="q"
            aria-keyshortcuts="/"
            maxlength="200"
            placeholder="${words`Order, payment, transaction, address …`}"
            autocomplete="off"
            spellcheck="false"
          />
          <input type="hidden" name="mode" value="${mode}" />
          <button class="quiet">${words`Search`}</button>
        </form>
        ${!frame.sandbox && switchPart(visit, mode)}
        <a class="me" href="/me">${visit.person.name}</a>
      </header>
      <div class="columns">
        <details class="menu">
          <summary>${words`Menu`}</summary>
          ${menu}
        </details>
        <div class="menu side">${menu}</div>
        <main id="main" tabindex="-1">
          ${told.recovery !== null && recoveryPart(visit, told.recovery)} ${page.isLive === true && STALE}
          ${told.notice !== null && html`<p class="notice" role="status">${told.notice}</p>`}
          <h1>${page.title}</h1>
          ${page.body}
        </main>
      </div>`,
  );
}

/** On every page of every open sign-in: whoever recovers the access of somebody who is there wants to pass for them. */
const recoveryPart = (visit: Visit, { by, linkBy, opensAtSec }: Recovery): Html =>
  html`<section class="card bad" role="alert" aria-label="${words`Recovery`}">
    <p>
      ${words`${by} reported that you lost every passkey.`}
      ${
        linkBy === null
          ? words`From ${time(opensAtSec, visit)} on, another operator can make a link that signs its holder in as you.`
          : words`${linkBy} made a link: whoever holds it can sign in as you.`
      }
      ${words`Refuse unless you asked for it, and tell your colleagues by another way.`}
    </p>
    ${changeForm(visit, '/me/recovery/refuse', html``, words`Refuse the recovery`, 'danger')}
  </section>`;

/** Shown when the page has stopped refreshing. */
const STALE = html`<p
  class="problem"
  id="stale"
  role="status"
  hidden
  data-stale="${words`This page is not updating right now. Reload it to be sure.`}"
  data-ended="${words`You are signed out. This page shows the state at that time.`}"
></p>`;

const menuItem = ({ to, text }: Entry, { path, mode, merchant }: Visit): Html => {
  const isHere = path === to || (to.split('/').length > 1 && path.startsWith(`${to}/`) && !/^\/m\/[^/]+$/.test(to));
  const leadsTo = merchant !== null && to.startsWith(merchantPath(merchant)) ? to : inMode(to, mode);
  return html`<li><a href="${leadsTo}" ${isHere && html`aria-current="page"`}>${text}</a></li>`;
};

/** The mode switch of all pages; people with access to single merchants see the mode of each under Merchants. */
function switchPart(visit: Visit, mode: Mode): Html | null {
  if (visit.person.grants.every(({ merchantId }) => merchantId !== null)) return null;
  // The answer to a form has no address of its own.
  const [path = ''] = Object.keys(visit.form).length === 0 ? [visit.path] : backOf(visit).split('?');
  return html`<nav class="modes" aria-label="${words`Mode`}">
    ${(['live', 'test'] as const).map(
      (each) =>
        html`<a
          href="${each === mode ? inMode(path, each) : switched({ ...visit, path }, each)}"
          ${each === mode && html`aria-current="true"`}
          >${each === 'live' ? words`Live` : words`Test`}</a
        >`,
    )}
  </nav>`;
}

/** A page for people who are not signed in; it redirects to `to` by itself. */
export function renderOutside(frame: Frame, language: Language, page: Page & { readonly to?: string }): string {
  return document(
    frame,
    language,
    page,
    html`${band(frame, null)}
      <main id="main" class="outside">
        <p class="brand">Quittance</p>
        <h1>${page.title}</h1>
        ${page.body}
      </main>`,
  );
}

function band({ sandbox }: Frame, mode: string | null): Html | null {
  if (sandbox)
    return html`<aside class="band" aria-label="${words`Mode`}">${words`Sandbox: local chains, no real money`}</aside>`;
  return mode === 'test'
    ? html`<aside class="band" aria-label="${words`Mode`}">${words`Test mode: no real money`}</aside>`
    : null;
}

function document(
  { version }: Frame,
  { code, direction, translation }: Language,
  page: Page & { readonly to?: string },
  body: Html,
): string {
  const scripts = ['passkey.js', 'keys.js', ...(page.isLive === true ? ['live.js'] : []), ...(page.scripts ?? [])];
  return html`<!doctype html>
    <html lang="${code}" dir="${direction}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        ${page.to !== undefined && html`<meta http-equiv="refresh" content="0;url=${page.to}" />`}
        <title>${html`${page.title}`.lineIn(translation)} · Quittance</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="/assets/console.css?${version}" />
        ${scripts.map((name) => html`<script src="/assets/${name}?${version}" defer></script>`)}
      </head>
      <body>
        ${body}
      </body>
    </html>`.htmlIn(translation);
}
