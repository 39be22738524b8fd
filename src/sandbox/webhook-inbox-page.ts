import { createHash } from 'node:crypto';
import { livePage } from '../runtime/http/live-page.ts';
import type { InboxDelivery, InboxVerdict } from './inbox-delivery.ts';
import { must } from '../domain/values/must.ts';

const STYLE = `
:root { color-scheme: light dark; --line: #8884; --good: #0a7d38; --bad: #c22727; }
@media (prefers-color-scheme: dark) { :root { --good: #4cc784; --bad: #ff8080; } }
* { box-sizing: border-box; }
html { background: Canvas; color: CanvasText; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; padding: 1rem; max-width: 56rem; }
h1 { font-size: 1.375rem; margin: 0 0 .25rem; }
p { margin: 0 0 1rem; }
ol { list-style: none; margin: 0; padding: 0; }
li { border: 1px solid var(--line); border-radius: .5rem; padding: .75rem 1rem; margin: 0 0 .75rem; }
.top { display: flex; flex-wrap: wrap; gap: .25rem .75rem; align-items: baseline; }
.top strong { overflow-wrap: anywhere; }
.verdict { font-weight: 600; }
.valid { color: var(--good); }
.invalid { color: var(--bad); }
time, .small { font-size: .875rem; opacity: .8; overflow-wrap: anywhere; }
.body { display: inline-block; padding: .25rem 0; color: inherit; }
pre { overflow: auto; margin: .25rem 0 0; font-size: .875rem; }
`;

const LIVE = livePage(3);

/** Nothing may be loaded; only this page's own style and script apply. */
const POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; ${LIVE.policy}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

export const INBOX_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
} as const;

const VERDICTS: Readonly<Record<InboxVerdict, string>> = {
  valid: 'Signature valid',
  header_missing: 'Refused: a header is missing',
  timestamp_refused: 'Refused: timestamp more than 5 minutes off',
  signature_wrong: 'Refused: signature wrong',
};

/** The inbox as a page that needs no script. The opened body is part of the URL, and so stays open. */
export function inboxPage(deliveries: readonly InboxDelivery[], opened: string | null): string {
  const entries = deliveries.map((delivery) => entry(delivery, opened)).join('');
  const list = deliveries.length === 0 ? '<p>Nothing has arrived yet.</p>' : `<ol>${entries}</ol>`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
${LIVE.head}
<meta name="description" content="What the demo merchant of this sandbox was told, with each signature checked.">
<title>Webhook inbox (sandbox)</title>
<style>${STYLE}</style>
</head>
<body>
${LIVE.notice}
<main>
<h1>Webhook inbox</h1>
<p class="small">What the demo merchant of this sandbox received, newest first. Times are UTC.</p>
${list}
</main>
</body>
</html>
`;
}

function entry(
  { receivedAtMs, verdict, repeated, eventId, eventType, nonce, body }: InboxDelivery,
  opened: string | null,
): string {
  const iso = new Date(receivedAtMs).toISOString();
  const key = createHash('sha256').update(`${receivedAtMs} ${nonce} ${eventId}`).digest('hex').slice(0, 12);
  const isOpen = key === opened;
  const repeat = repeated ? '<span class="small">seen before</span>' : '';
  const order = orderOf(body);
  return `<li id="${key}">
<div class="top"><strong>${escape(eventType || 'no event type')}</strong>
<span class="verdict ${verdict === 'valid' ? 'valid' : 'invalid'}">${VERDICTS[verdict]}</span>${repeat}
<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 19)}</time></div>
<div class="small">${order === null ? '' : `order ${escape(order)} · `}${escape(eventId || 'no event id')}</div>
<a class="body" id="open-${key}" href="/${isOpen ? '' : `?open=${key}`}#${key}" aria-label="${isOpen ? 'Close' : 'Open'} the body of ${escape(eventId || 'this delivery')}">${isOpen ? 'Close' : 'Body'}</a>
${isOpen ? `<pre tabindex="0" id="body-${key}">${escape(indented(body))}</pre>` : ''}</li>
`;
}

/** The order that the event is about; null where the body names none. */
function orderOf(body: string): string | null {
  try {
    const { data } = JSON.parse(body) as { data?: { object?: { order_id?: unknown } } };
    return typeof data?.object?.order_id === 'string' ? data.object.order_id : null;
  } catch {
    return null;
  }
}

/** Indented if the body is JSON, otherwise unchanged. */
function indented(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escape = (text: string): string => text.replace(/[&<>"']/g, (character) => must(ENTITIES[character]));
