import { html, type Html } from '../runtime/util/html.ts';

interface Bar {
  readonly label: string;
  readonly value: number;
}

const WIDTH = 640;
const HEIGHT = 160;
const BASE = 130;
const TOP = 20;

/** Drawn by the server, with fewer labels where there is little room, with the same numbers in a table for whoever cannot see it. */
export function barChart(title: string, bars: readonly Bar[]): Html {
  const most = Math.max(1, ...bars.map(({ value }) => value));
  const step = WIDTH / bars.length;
  return html`<figure class="card">
    <svg class="chart" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}">
      <line x1="0" y1="${BASE}" x2="${WIDTH}" y2="${BASE}" />
      ${bars.map(({ label, value }, index) => {
        const height = Math.round(((BASE - TOP) * value) / most);
        const x = Math.round(index * step + step * 0.15);
        const middle = Math.round((index + 0.5) * step);
        return html`<rect x="${x}" y="${BASE - height}" width="${Math.round(step * 0.7)}" height="${height}" />
          ${value > 0 && html`<text x="${middle}" y="${BASE - height - 4}">${value}</text>`}
          <text x="${middle}" y="${BASE + 22}" ${index % 3 !== 0 && html`class="between"`}>${label}</text>`;
      })}
    </svg>
    <details>
      <summary>As a table</summary>
      <table>
        <thead>
          <tr>
            <th scope="col">Day</th>
            <th scope="col" class="number">Paid</th>
          </tr>
        </thead>
        <tbody>
          ${bars.map(
            ({ label, value }) =>
              html`<tr>
                <td data-name="Day">${label}</td>
                <td data-name="Paid" class="number">${value}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </details>
  </figure>`;
}
