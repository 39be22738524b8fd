import { hash } from 'node:crypto';

const STYLE = `
:root { color-scheme: light dark; --line: #8884; --operational: #0a7a3d; --degraded: #955000; --down: #c02626; }
@media (prefers-color-scheme: dark) { :root { --operational: #4cc27e; --degraded: #f0a73a; --down: #ff7b72; } }
html { background: Canvas; color: CanvasText; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; padding: 24px 16px; max-width: 720px; }
h1 { font-size: 24px; margin: 0 0 4px; }
h2 { font-size: 16px; margin: 28px 0 8px; }
ul { list-style: none; margin: 0; padding: 0; border: 1px solid var(--line); border-radius: 8px; }
li { display: flex; flex-wrap: wrap; gap: 0 16px; justify-content: space-between; padding: 10px 14px; border-top: 1px solid var(--line); }
li:first-child { border-top: 0; }
small { opacity: .8; }
.operational { color: var(--operational); } .degraded { color: var(--degraded); } .down { color: var(--down); }
b { font-weight: 600; }
`;

/** Plain script of the page, which can be served from anywhere together with its one file. */
const SCRIPT = `
const words = { operational: 'Operational', degraded: 'Degraded', down: 'Down' };
const headings = { operational: 'All systems operational', degraded: 'Some things are slow', down: 'Something is down' };
const element = (name, text, style) => Object.assign(document.createElement(name), { textContent: text, className: style ?? '' });
const time = (sec) => new Date(sec * 1000).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const row = (name, state, note) => {
  const item = document.createElement('li');
  const end = document.createElement('span');
  end.append(element('b', words[state] ?? state, state), element('small', ' ' + note));
  item.append(element('span', name), end);
  return item;
};
const byId = (id) => document.getElementById(id);
let last = null;
function show() {
  const age = last === null ? Infinity : Date.now() / 1000 - last.generated;
  const isOld = last === null || age > Math.max(120, 4 * last.interval);
  const title = byId('title');
  title.textContent = isOld ? 'No news from the service' : headings[last.state];
  title.className = isOld ? 'down' : last.state;
  document.title = title.textContent;
  byId('when').textContent = last === null ? 'Its state could not be read.' : (isOld ? 'Its state below is of ' : 'As of ') + time(last.generated) + '.';
  byId('news').hidden = last === null;
  if (last === null) return;
  byId('components').replaceChildren(...last.components.map((each) => row(each.name, each.state, 'since ' + time(each.since))));
  byId('incidents').replaceChildren(...last.incidents.map((each) => row(each.name, each.state, time(each.from) + (each.to === null ? ', ongoing' : ' to ' + time(each.to)))));
  byId('none').hidden = last.incidents.length > 0;
  byId('incidents').hidden = last.incidents.length === 0;
}
async function read() {
  try {
    const answer = await fetch('status.json', { cache: 'no-store' });
    const found = await answer.json();
    if (found.format === 1) last = found;
  } catch {}
  show();
}
read();
setInterval(read, 30000);
`;

const sha = (text: string): string => `'sha256-${hash('sha256', text, 'base64')}'`;
const POLICY = `default-src 'none'; style-src ${sha(STYLE)}; script-src ${sha(SCRIPT)}; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'`;

/** A page that needs only `status.json` next to it, so that it can be hosted elsewhere than the service. */
export const PUBLIC_STATUS_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="color-scheme" content="light dark">
<meta name="description" content="Whether payments work now, and what did not in the last 30 days.">
<title>Status</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body>
<main>
<div role="status"><h1 id="title">Status</h1></div>
<p id="when">&nbsp;</p>
<noscript><p>This page reads <a href="status.json">status.json</a> by JavaScript.</p></noscript>
<div id="news" hidden>
<h2>Now</h2>
<ul id="components"></ul>
<h2>The last 30 days</h2>
<p id="none">Nothing.</p>
<ul id="incidents" hidden></ul>
</div>
</main>
<script>${SCRIPT}</script>
</body>
</html>
`;
