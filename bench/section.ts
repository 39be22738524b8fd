import { drawCurve, type Curve } from './curve.ts';

/** A goal and what was measured. */
export interface Goal {
  readonly goal: string;
  readonly measured: string;
  readonly holds: boolean;
  /** What it would take, where it does not hold. */
  readonly needed?: string;
  /** The job of "Where the CPU goes" whose profile shows where the time goes. */
  readonly job?: string;
}

/** What a bench answers: one section of `docs/benchmarks.md`. */
export interface BenchSection {
  readonly title: string;
  /** What is measured against what, in a sentence or two. */
  readonly intro: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | number)[])[];
  /** What the figures say, or where the limit is. */
  readonly notes?: readonly string[];
  /** Kept in a comment of the section, from which the table of all goals is made. */
  readonly goals?: readonly Goal[];
  readonly curves?: readonly Curve[];
  /** The whole code of the baselines, so that anyone can judge the comparison. */
  readonly sources?: readonly { readonly caption: string; readonly code: string; readonly language?: string }[];
}

/** Text that a cell of a Markdown table may hold. */
export const cell = (value: string | number): string => String(value).replaceAll('|', '\\|').replaceAll('\n', ' ');

export function renderSection(section: BenchSection): string {
  const line = (cells: readonly (string | number)[]): string => `| ${cells.map(cell).join(' | ')} |`;
  const table = [line(section.columns), line(section.columns.map(() => '---')), ...section.rows.map(line)].join('\n');
  const notes = (section.notes ?? []).map((note) => `- ${note}`).join('\n');
  const sources = (section.sources ?? []).map(
    ({ caption, code, language = 'ts' }) =>
      `<details><summary>${caption}</summary>\n\n\`\`\`${language}\n${code.trimEnd()}\n\`\`\`\n\n</details>`,
  );
  const curves = (section.curves ?? []).map(drawCurve).join('\n');
  const goals = section.goals ? `<!-- goals ${JSON.stringify(section.goals)} -->` : '';
  return [`## ${section.title}`, section.intro, table, notes, curves, ...sources, goals]
    .filter((part) => part !== '')
    .join('\n\n');
}

/** Middle value; of an even number the lower of the two. NaN for none. */
export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? Number.NaN;
}

/** The value that the share `p` (0 to 1) of the samples do not exceed. NaN for none. */
export function percentile(values: readonly number[], p: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(p * sorted.length) - 1))] ?? Number.NaN;
}
