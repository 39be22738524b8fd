import { cell, type Goal } from './section.ts';

const COMMENT = /<!-- goals (.*) -->/g;
const LARGEST_STEPS = 4;

/** The goals of all sections, and for each that is missed where the time goes and what it would take. */
export function goalsTable(sections: readonly string[]): string {
  const rows = sections.flatMap((text) => {
    const title = /^## (.*)$/m.exec(text)?.[1] ?? '';
    const goals = [...text.matchAll(COMMENT)].flatMap(([, json]) => JSON.parse(json!) as Goal[]);
    return goals.map(({ goal, measured, holds, needed = '', job }) => [
      `${goal} ([${title}](#${anchorOf(title)}))`,
      measured,
      holds ? 'yes' : '**no**',
      holds ? '' : [job === undefined ? '' : largestSteps(sections, job), needed].filter(Boolean).join('. '),
    ]);
  });
  const head = ['goal', 'measured', 'holds?', 'if not: where the time goes, and what it would take'];
  return ['## Goals', '', ...[head, head.map(() => '---'), ...rows].map(lineOf)].join('\n');
}

const lineOf = (cells: readonly string[]): string => `| ${cells.map(cell).join(' | ')} |`;

const anchorOf = (title: string): string =>
  title
    .toLowerCase()
    .replaceAll(/[^\w -]/g, '')
    .replaceAll(' ', '-');

/** From the table of "Where the CPU goes", which lists the steps of each job by thread. */
function largestSteps(sections: readonly string[], job: string): string {
  const shares = new Map<string, number>();
  for (const line of sections.flatMap((text) => text.split('\n'))) {
    const [, ofJob, thread, step, , share] = line.split('|').map((part) => part.trim());
    if (ofJob !== job || thread === 'all' || !share?.endsWith('%')) continue;
    const name = (step || thread!).split(':')[0]!;
    shares.set(name, (shares.get(name) ?? 0) + Number.parseFloat(share));
  }
  return [...shares]
    .sort(([, one], [, other]) => other - one)
    .slice(0, LARGEST_STEPS)
    .map(([name, share]) => `${name} ${share.toFixed(0)} %`)
    .join(', ');
}
