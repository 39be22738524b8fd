import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** How a figure grows with the number of sessions. */
export interface Curve {
  readonly name: string;
  readonly title: string;
  readonly unit: string;
  readonly points: readonly { readonly sessions: number; readonly value: number }[];
}

const FOLDER = join(import.meta.dirname, '..', 'docs', 'images', 'benchmarks');
const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [480, 260, 60, 24, 40, 44];

/**
 * Writes the curve as an SVG and answers the Markdown that shows it. Sessions go by powers of ten, values from zero.
 */
export function drawCurve(curve: Curve): string {
  mkdirSync(FOLDER, { recursive: true });
  const file = `growth-${curve.name}.svg`;
  writeFileSync(join(FOLDER, file), svgOf(curve));
  return `![${curve.title} in ${curve.unit} by number of sessions](images/benchmarks/${file})`;
}

function svgOf({ title, unit, points }: Curve): string {
  const most = Math.max(...points.map(({ value }) => value)) * 1.2;
  const logs = points.map(({ sessions }) => Math.log10(sessions));
  const [from, to] = [Math.min(...logs), Math.max(...logs)];
  const x = (sessions: number): number =>
    LEFT + ((Math.log10(sessions) - from) / (to - from || 1)) * (WIDTH - LEFT - RIGHT);
  const y = (value: number): number => HEIGHT - BOTTOM - (value / most) * (HEIGHT - TOP - BOTTOM);
  const text = (atX: number, atY: number, words: string, anchor = 'middle'): string =>
    `<text x="${atX.toFixed(1)}" y="${atY.toFixed(1)}" text-anchor="${anchor}">${words}</text>`;
  const line = (x1: number, y1: number, x2: number, y2: number): string =>
    `<path d="M${x1} ${y1}L${x2} ${y2}" stroke="#999"/>`;
  const path = points
    .map(({ sessions, value }, index) => `${index === 0 ? 'M' : 'L'}${x(sessions).toFixed(1)} ${y(value).toFixed(1)}`)
    .join('');
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" font-family="sans-serif" font-size="12">`,
    `<title>${title}</title><rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    text(WIDTH / 2, 20, `${title}, ${unit}`),
    line(LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM),
    line(LEFT, TOP, LEFT, HEIGHT - BOTTOM),
    text(LEFT - 6, y(0), '0', 'end'),
    `<path d="${path}" fill="none" stroke="#0a6" stroke-width="2"/>`,
    ...points.map(
      ({ sessions, value }) => `<circle cx="${x(sessions).toFixed(1)}" cy="${y(value).toFixed(1)}" r="3" fill="#0a6"/>`,
    ),
    ...points.map(({ sessions, value }) => text(x(sessions), y(value) - 8, shown(value))),
    ...points.map(({ sessions }) => text(x(sessions), HEIGHT - BOTTOM + 16, sessions.toLocaleString('en-US'))),
    text(WIDTH / 2, HEIGHT - 8, 'sessions'),
    '</svg>\n',
  ].join('\n');
}

export const shown = (value: number): string =>
  value < 10 ? value.toFixed(2) : Math.round(value).toLocaleString('en-US');
