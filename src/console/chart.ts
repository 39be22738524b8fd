import { html, type Html } from '../runtime/http/html.ts';
import { words, type Words } from './words.ts';

interface Bar {
  readonly label: string;
  /** Drawn and labelled with three digits; the table has the exact value. */
  readonly value: number;
}

const WIDTH = 640;
const HEIGHT = 160;
const BASE = 130;
const TOP = 20;
const SHORT = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });

/** Charts drawn by the server, with fewer labels where space is short. `table` has the same numbers as text. */
export function barCharts(
  charts: readonly { readonly title: Words; readonly bars: readonly Bar[] }[],
  table: Html,
): Html {
  return html`<section class="card">
    <div class="charts">
      ${charts.map(
        ({ title, bars }) =>
          html`<figure>
            <figcaption>${title}</figcaption>
            ${barChart(title, bars)}
          </figure>`,
      )}
    </div>
    <details>
      <summary>${words`As a table`}</summary>
      ${table}
    </details>
  </section>`;
}

function barChart(title: Words, bars: readonly Bar[]): Html {
  const most = Math.max(...bars.map(({ value }) => value));
  const step = WIDTH / bars.length;
  return html`<svg class="chart" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}">
    <line x1="0" y1="${BASE}" x2="${WIDTH}" y2="${BASE}" />
    ${bars.map(({ label, value }, index) => {
      const height = most === 0 ? 0 : Math.round(((BASE - TOP) * value) / most);
      const x = Math.round(index * step + step * 0.15);
      const middle = Math.round((index + 0.5) * step);
      return html`<rect x="${x}" y="${BASE - height}" width="${Math.round(step * 0.7)}" height="${height}" />
        ${value > 0 && html`<text x="${middle}" y="${BASE - height - 4}" ${value < most && html`class="lower"`}>${SHORT.format(value)}</text>`}
        ${index % 3 === 0 && html`<text x="${middle}" y="${BASE + 22}">${label}</text>`}`;
    })}
  </svg>`;
}
