import { html, type Html } from '../runtime/http/html.ts';
import type { Known } from './last-known.ts';
import type { Visit } from './visit.ts';
import { Words, words, type Label } from './words.ts';

/** Strings are data; what the console says is `Words`. */
export type Cell = Html | Words | string | number | null;

/** In whose zone and language times are shown. */
type TimeReader = Pick<Visit, 'zone' | 'language'>;

/** A time in UTC, with the person's local time below it. */
export function time(sec: number | null | undefined, { zone, language }: TimeReader): Html | string {
  if (sec === null || sec === undefined) return '–';
  const date = new Date(sec * 1000);
  const iso = date.toISOString();
  const utc = `${iso.slice(0, 10)} ${iso.slice(11, 19)}`;
  const local = zone === 'UTC' ? null : localTime(date, zone, language.locale);
  return html`<time dir="ltr" datetime="${iso}">${utc}&nbsp;UTC</time
    >${local !== null && html`<small>${local}</small>`}`;
}

/** A rough duration, to say how old something is. */
export function inWords(sec: number): Words {
  if (sec < 120) return words`${sec} s`;
  if (sec < 7_200) return words`${Math.floor(sec / 60)} min`;
  return sec < 172_800 ? words`${Math.floor(sec / 3_600)} h` : words`${Math.floor(sec / 86_400)} days`;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function localTime(date: Date, zone: string, locale: string): string {
  let format = formats.get(`${locale} ${zone}`);
  if (!format) {
    format = new Intl.DateTimeFormat(locale, { timeZone: zone, dateStyle: 'medium', timeStyle: 'medium' });
    formats.set(`${locale} ${zone}`, format);
  }
  return `${format.format(date)} ${zone}`;
}

export function isZone(zone: string): boolean {
  try {
    return zone.length <= 64 && new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

const TONES: Readonly<Record<string, string>> = {
  ...{ paid: 'good', final: 'good', delivered: 'good', COMPLETED: 'good', done: 'good', open: 'info', active: 'good' },
  processing: 'info',
  detected: 'info',
  pending: 'info',
  PENDING: 'info',
  PROCESSING: 'info',
  waiting_for_approval: 'warn',
  exceeds_account: 'warn',
  ...{ sent: 'info', returning: 'info', attached: 'good', returned: 'good' },
  expired: 'warn',
  cancelled: 'quiet',
  exhausted: 'bad',
  rejected: 'bad',
  blocked: 'bad',
  failed: 'bad',
  FAILED: 'bad',
  reverted: 'bad',
  ...{ 'in use': 'good', failing: 'bad', 'left out': 'bad' },
  ...{ ok: 'good', ready: 'good', current: 'good', catching_up: 'warn', degraded: 'warn' },
  ...{ not_ready: 'bad', down: 'bad', refusing: 'bad', read_only: 'bad' },
  ...{ refused: 'bad', revoked: 'quiet', suspended: 'bad', stopped: 'bad', unresolved: 'warn', resolved: 'good' },
};

/** A name of the API, such as `refund_reserved`, as words. */
export const spelled = (name: string): Words => new Words(name.replaceAll('_', ' ').toLowerCase(), []);

/** A state as a word; the colour only emphasises it. */
export const badge = (state: string): Html =>
  html`<span class="badge ${TONES[state] ?? 'quiet'}">${spelled(state)}</span>`;

export interface Column<Row> {
  readonly name: Label;
  /** Numbers are aligned to the right. */
  readonly isNumber?: boolean;
  readonly cell: (row: Row) => Cell;
  /** The text in a CSV file; by default that of the cell. */
  readonly text?: (row: Row) => Words | string | number | null;
  /** A column of its own in a file, part of another cell on the page. */
  readonly onlyInFiles?: boolean;
  /** A control, which is left out of files. */
  readonly isForm?: boolean;
}

/** A time: UTC and local time on the page, ISO 8601 in files. */
export const timeColumn = <Row>(
  name: Label,
  secOf: (row: Row) => number | null | undefined,
  visit: TimeReader,
): Column<Row> => ({
  name,
  cell: (row) => time(secOf(row), visit),
  text: (row) => {
    const sec = secOf(row);
    return sec === null || sec === undefined ? null : new Date(sec * 1000).toISOString();
  },
});

/** A page shows a single mode, but a file has to say which. */
export const MODE_IN_FILES: Column<{ readonly mode: string }> = {
  name: words`Mode`,
  cell: ({ mode }) => mode,
  onlyInFiles: true,
};

/** A table. On a phone each row becomes a card with labelled cells. */
export function table<Row>(caption: Label, all: readonly Column<Row>[], rows: readonly Row[], empty: Label): Html {
  const columns = all.filter(({ onlyInFiles }) => onlyInFiles !== true);
  if (rows.length === 0) return html`<p class="empty">${empty}</p>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}">
    <table>
      <caption class="unseen">
        ${caption}
      </caption>
      <thead>
        <tr>
          ${columns.map(({ name, isNumber }) => html`<th scope="col" ${isNumber && html`class="number"`}>${name}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) =>
            html`<tr>
              ${columns.map(({ name, cell, isNumber }) => tableCell(name, cell(row), isNumber))}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** An absent value takes no line on a card. */
function tableCell(name: Label, value: Cell, isNumber: boolean | undefined): Html {
  const classes = [isNumber && 'number', value === null && 'absent'].filter(Boolean).join(' ');
  return html`<td data-name="${name}" ${classes !== '' && html`class="${classes}"`}>${value ?? '–'}</td>`;
}

/** The names and values of a single record. */
export function facts(pairs: readonly (readonly [Label, Cell])[]): Html {
  return html`<dl class="facts">
    ${pairs.map(
      ([name, value]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${value ?? '–'}</dd>
        </div>`,
    )}
  </dl>`;
}

const LONG = 24;
export const code = (text: string | null): Html | string =>
  text === null ? '–' : html`<code dir="ltr" ${text.length > LONG && html`class="long"`}>${text}</code>`;

export const link = (to: string, text: Cell): Html =>
  html`<a href="${to}" ${typeof text === 'string' && text.length > LONG && html`class="long"`}>${text}</a>`;

export interface Field {
  readonly name: string;
  readonly label: Label;
  readonly value?: string | undefined;
  readonly hint?: Label;
  readonly type?: 'text' | 'date' | 'number' | 'url' | 'search';
  readonly required?: boolean;
  /** Turns the field into a choice. */
  readonly options?: readonly (readonly [value: string, label: Label | string])[];
  readonly max?: number;
}

export function field({ name, label, value = '', hint, type = 'text', required, options, max = 500 }: Field): Html {
  const control = options
    ? html`<select name="${name}">
        ${options.map(([of, text]) => html`<option value="${of}" ${of === value && html`selected`}>${text}</option>`)}
      </select>`
    : html`<input
        type="${type}"
        name="${name}"
        value="${value}"
        maxlength="${max}"
        autocomplete="off"
        spellcheck="false"
        ${required && html`required`}
      />`;
  // The label contains its control, since a page can have several of the same name.
  return html`<p class="field">
    <label>${label} ${control} ${hint !== undefined && html`<small>${hint}</small>`}</label>
  </p>`;
}

/** A checkbox with the value `yes`. */
export const checkbox = (name: string, label: Label): Html =>
  html`<p class="check">
    <label><input type="checkbox" name="${name}" value="yes" /> ${label}</label>
  </p>`;

/** When somebody slow answered, whether they are being asked again, and why they cannot answer. */
export function answered(visit: TimeReader, { atSec, isAsking, fault }: Known<unknown>, whom: Label): Html {
  const at = atSec === null ? null : words`As of ${time(atSec, visit)}.`;
  if (isAsking)
    return html`<p class="asking" role="status" data-asking>
      ${words`Asking ${whom} …`} ${at} ${words`The answer appears here by itself.`}<noscript>
        ${words`Without JavaScript, reload the page.`}</noscript
      >
    </p>`;
  return fault === null
    ? html`<p role="status">${at}</p>`
    : html`<p class="problem" role="status">${words`Cannot ask ${whom} now: ${fault}.`} ${at}</p>`;
}

export const REASON: Field = {
  name: 'reason',
  label: words`Reason`,
  hint: words`Kept in the record of actions.`,
  required: true,
};

/** Keeps a form in the mode of its page. */
export const modeField = ({ mode }: Pick<Visit, 'mode'>): Html =>
  html`<input type="hidden" name="mode" value="${mode}" />`;

/** Collapsed by default, since most visits to the page do not need it. */
export const folded = (title: Label, body: Html): Html =>
  html`<details class="card">
    <summary>${title}</summary>
    ${body}
  </details>`;

/** A form that changes something, with the token that every such form needs. */
export function changeForm(
  visit: Pick<Visit, 'csrf' | 'path' | 'query'>,
  action: string,
  body: Html | readonly Html[],
  button: Label,
  look = 'button',
): Html {
  return html`<form method="post" action="${action}" class="form">
    <input type="hidden" name="csrf" value="${visit.csrf}" />
    <input type="hidden" name="back" value="${withQuery(visit.path, visit.query, { done: null })}" />
    ${body}
    <p><button class="${look}">${button}</button></p>
  </form>`;
}

/** Filters are part of the URL, so that a view can be sent to somebody. `kept` parameters have no field. */
export function filterForm(
  action: string,
  fields: readonly Field[],
  kept: Readonly<Record<string, string>> = {},
): Html {
  return html`<form method="get" action="${action}" class="filters">
    ${Object.entries(kept).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}
    ${fields.map(field)}
    <p><button class="quiet">${words`Show`}</button></p>
  </form>`;
}

/** The same URL with other parameters; empty ones are left out. */
export function withQuery(
  path: string,
  query: URLSearchParams,
  changes: Readonly<Record<string, string | null>>,
): string {
  const next = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === '') next.delete(name);
    else next.set(name, value);
  }
  const text = next.toString();
  return text === '' ? path : `${path}?${text}`;
}

export function tabs(entries: readonly (readonly [to: string, text: Label, isHere: boolean])[]): Html {
  return html`<nav class="tabs" aria-label="${words`Views`}">
    ${entries.map(([to, text, isHere]) => html`<a href="${to}" ${isHere && html`aria-current="page"`}>${text}</a>`)}
  </nav>`;
}

/** Links to the pages of a list that is paged by cursors. */
export function more(
  { path, query }: Pick<Visit, 'path' | 'query'>,
  next: string | number | null,
  cursor = 'cursor',
): Html {
  const to = (place: string | null): string => withQuery(path, query, { [cursor]: place, done: null });
  return html`<p class="pages">
    ${query.has(cursor) && link(to(null), words`First page`)}
    ${next !== null && link(to(String(next)), words`Next page`)}
  </p>`;
}
