import { hash } from 'node:crypto';
import { livePage } from '../runtime/http/live-page.ts';
import type { HealthFact } from './health.ts';
import type { NetworkLine, Status } from './service-status.ts';
import { must } from '../domain/values/must.ts';

const LIVE = livePage(5);

const STYLE = `
:root { color-scheme: light dark; --line: #8884; --ok: #0a7a3d; --degraded: #a15c00; --down: #c02626; }
@media (prefers-color-scheme: dark) { :root { --ok: #4cc27e; --degraded: #f0a73a; --down: #ff7b72; } }
* { box-sizing: border-box; }
html { background: Canvas; color: CanvasText; }
body { font: 15px/1.4 system-ui, sans-serif; margin: 0 auto; padding: 12px 16px 24px; max-width: 1080px; }
header { display: flex; flex-wrap: wrap; gap: 4px 16px; align-items: baseline; border-bottom: 1px solid var(--line); padding-bottom: 8px; }
h1 { font-size: 20px; margin: 0; }
h2 { font-size: 13px; margin: 0 0 6px; text-transform: uppercase; letter-spacing: .04em; opacity: .75; }
main { display: grid; grid-template-columns: repeat(auto-fit, minmax(240px, 1fr)); gap: 12px; margin-top: 12px; }
section { border: 1px solid var(--line); border-radius: 8px; padding: 10px 12px; min-width: 0; }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; }
th { font-weight: normal; text-align: left; }
td, thead th:not(:first-child) { text-align: right; }
th, td { padding: 2px 0 2px 6px; overflow-wrap: anywhere; }
th:first-child, td:first-child { padding-left: 0; }
ul { list-style: none; margin: 0; padding: 0; }
li { padding: 2px 0; overflow-wrap: anywhere; }
.ok { color: var(--ok); } .degraded { color: var(--degraded); } .down { color: var(--down); }
.state { font-weight: 600; }
small { opacity: .75; }
`;

/** Only this page's own style and script, named by their hashes. */
export const STATUS_PAGE_POLICY = `default-src 'none'; style-src 'sha256-${hash('sha256', STYLE, 'base64')}'; ${LIVE.policy}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** The state of the service on one screen. */
export function statusPage(status: Status): string {
  const state = status.ready ? (status.facts.some((fact) => fact.state === 'degraded') ? 'degraded' : 'ok') : 'down';
  const title = status.readOnly ? 'Read-only' : { ok: 'All well', degraded: 'Degraded', down: 'Not ready' }[state];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
${LIVE.head}
<meta name="description" content="The state of this Quittance installation: networks, money, webhooks.">
<title>${title} - Quittance</title>
<style>${STYLE}</style>
</head>
<body>
${LIVE.notice}
<header>
<h1><span class="${state}">${title}</span></h1>
<small>Quittance ${text(status.version)}, up ${duration(status.upSec)}, ${text(new Date(status.atMs).toISOString().slice(0, 19))}Z</small>
</header>
<main>
${section('Needs attention', attention(status))}
${section('Networks', networks(status.networks, status.facts))}
${section('Money', rows(moneyRows(status)))}
${section('Webhooks', rows(webhookRows(status)))}
</main>
</body>
</html>
`;
}

type Line = readonly [name: string, value: string, state?: HealthFact['state']];

const section = (title: string, content: string): string => `<section><h2>${title}</h2>${content}</section>`;

const rows = (lines: readonly Line[]): string =>
  `<table>${lines.map(([name, value, state]) => `<tr><th scope="row">${text(name)}</th><td${state && state !== 'ok' ? ` class="${state}"` : ''}>${text(value)}</td></tr>`).join('')}</table>`;

function networks(lines: readonly NetworkLine[], facts: readonly HealthFact[]): string {
  if (lines.length === 0) return '<p>No network is being read.</p>';
  const modes = new Set(lines.map(({ mode }) => mode));
  const body = lines.map((line) => {
    const state = facts.find(({ name }) => name === `chain:${line.mode}:${line.network}`)?.state ?? 'ok';
    const name = modes.size > 1 ? `${line.network} (${line.mode})` : line.network;
    return `<tr><th scope="row"><span class="state ${state}">${text(name)}</span></th><td>${line.headBlock ?? '-'}</td><td>${line.gapBlocks ?? '-'}</td><td>${line.lagSec === null ? '-' : duration(line.lagSec)}</td></tr>`;
  });
  return `<table><thead><tr><th scope="col">network</th><th scope="col">head</th><th scope="col">gap</th><th scope="col">read to</th></tr></thead><tbody>${body.join('')}</tbody></table>`;
}

function moneyRows({ sessions, refunds, lastPayment, atMs }: Status): Line[] {
  const last = lastPayment
    ? `${lastPayment.amount} ${lastPayment.coin}${lastPayment.network ? ` on ${lastPayment.network}` : ''}, ${duration(Math.max(0, Math.floor(atMs / 1000) - lastPayment.atSec))} ago`
    : 'none since the start';
  return [
    ['Last payment', last],
    ['Sessions waiting for money', String(sessions.open)],
    ['Payments being confirmed', String(sessions.processing)],
    ['Refunds not signed', String(refunds.pending)],
    ['Refunds in progress', String(refunds.processing)],
    ['Oldest refund', refunds.oldestAgeSec === 0 ? '-' : duration(refunds.oldestAgeSec)],
  ];
}

function webhookRows({ webhooks, projections }: Status): Line[] {
  return [
    ['Waiting', String(webhooks.waiting)],
    ['Oldest waiting', webhooks.oldestAgeSec === 0 ? '-' : duration(webhooks.oldestAgeSec)],
    ['In flight', String(webhooks.inFlight)],
    ['To be retried', String(webhooks.retrying)],
    ['Endpoints suspended', String(webhooks.suspended), webhooks.suspended > 0 ? 'degraded' : 'ok'],
    ['Lists behind the event log', `${projections.lagEvents} events, ${duration(Math.round(projections.lagSec))}`],
  ];
}

function attention({ facts, lastError, atMs }: Status): string {
  const lines = facts
    .filter(({ state }) => state !== 'ok')
    .map(
      ({ name, state, detail }) =>
        `<li><span class="state ${state}">${text(name)}</span> ${state}${detail === undefined ? '' : `: ${text(detail)}`}</li>`,
    );
  const error = lastError
    ? `<li><small>Last error, ${duration(Math.max(0, Math.floor((atMs - lastError.atMs) / 1000)))} ago:</small> ${text(lastError.message)}</li>`
    : '<li><small>No error since the start.</small></li>';
  return `<ul>${lines.length === 0 ? '<li class="ok">Nothing.</li>' : lines.join('')}${error}</ul>`;
}

function duration(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3_600)} h` : `${Math.floor(seconds / 86_400)} d`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const text = (raw: string): string => raw.replaceAll(/[&<>"']/g, (character) => must(ENTITIES[character]));
