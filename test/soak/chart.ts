import type { Sample } from './samples.ts';

const CURVES = [
  'service memory MB',
  'heap MB',
  'signer memory MB',
  'service handles',
  'files',
  'data MB',
  'events behind',
  'event loop p99 ms',
  'create ms p50',
  'create ms p99',
  'paid ms p50',
  'paid ms p99',
];
const [COLUMNS, WIDTH, HEIGHT, MARGIN] = [3, 300, 150, 34];

/** All curves over time as one SVG; what a fault disturbed is shaded. */
export function chartOf(samples: readonly Sample[]): string {
  const rows = Math.ceil(CURVES.length / COLUMNS);
  const panels = CURVES.map((name, index) => {
    const [x, y] = [(index % COLUMNS) * WIDTH, Math.floor(index / COLUMNS) * HEIGHT];
    return `<g transform="translate(${x} ${y})">${panelOf(name, samples)}</g>`;
  });
  const [width, height] = [COLUMNS * WIDTH, rows * HEIGHT];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="sans-serif" font-size="11">`,
    `<title>Soak: figures over time</title><rect width="${width}" height="${height}" fill="#fff"/>`,
    ...panels,
    '</svg>\n',
  ].join('\n');
}

function panelOf(name: string, samples: readonly Sample[]): string {
  const points = samples.flatMap(({ atSec, figures }) =>
    figures[name] === undefined ? [] : [{ atSec, value: figures[name] }],
  );
  const endSec = samples.at(-1)!.atSec;
  const most = Math.max(1, ...points.map(({ value }) => value)) * 1.1;
  const x = (atSec: number): number => MARGIN + (atSec / endSec) * (WIDTH - MARGIN - 10);
  const y = (value: number): number => HEIGHT - 22 - (value / most) * (HEIGHT - 46);
  const path = points
    .map(({ atSec, value }, index) => `${index === 0 ? 'M' : 'L'}${x(atSec).toFixed(1)} ${y(value).toFixed(1)}`)
    .join('');
  const shades = samples.flatMap(({ atSec, isQuiet }, index) => {
    const from = samples[index - 1]?.atSec ?? 0;
    return isQuiet
      ? []
      : [
          `<rect x="${x(from).toFixed(1)}" y="24" width="${(x(atSec) - x(from)).toFixed(1)}" height="${HEIGHT - 46}" fill="#fde7d9"/>`,
        ];
  });
  return [
    ...shades,
    `<text x="${WIDTH / 2}" y="15" text-anchor="middle">${name}</text>`,
    `<path d="M${MARGIN} 24V${HEIGHT - 22}H${WIDTH - 10}" stroke="#999" fill="none"/>`,
    `<text x="${MARGIN - 4}" y="30" text-anchor="end">${Math.round(most)}</text><text x="${MARGIN - 4}" y="${HEIGHT - 20}" text-anchor="end">0</text>`,
    `<text x="${WIDTH - 10}" y="${HEIGHT - 8}" text-anchor="end">${Math.round(endSec / 60)} min</text>`,
    `<path d="${path}" stroke="#0a6" stroke-width="1.5" fill="none"/>`,
  ].join('');
}
