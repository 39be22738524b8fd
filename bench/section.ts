/** What a bench answers: one section of `docs/benchmarks.md`. A bench may also answer finished Markdown. */
export interface BenchSection {
  readonly title: string;
  /** What is measured against what, in a sentence or two. */
  readonly intro: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | number)[])[];
  /** What the figures say, or where the limit is. */
  readonly notes?: readonly string[];
  /** The whole code of the baselines, so that anyone can judge the comparison. */
  readonly sources?: readonly { readonly caption: string; readonly code: string; readonly language?: string }[];
}

const cell = (value: string | number): string => String(value).replaceAll('|', '\\|').replaceAll('\n', ' ');

export function renderSection(section: BenchSection): string {
  const line = (cells: readonly (string | number)[]): string => `| ${cells.map(cell).join(' | ')} |`;
  const table = [line(section.columns), line(section.columns.map(() => '---')), ...section.rows.map(line)].join('\n');
  const notes = (section.notes ?? []).map((note) => `- ${note}`).join('\n');
  const sources = (section.sources ?? []).map(
    ({ caption, code, language = 'ts' }) =>
      `<details><summary>${caption}</summary>\n\n\`\`\`${language}\n${code.trimEnd()}\n\`\`\`\n\n</details>`,
  );
  return [`## ${section.title}`, section.intro, table, notes, ...sources].filter((part) => part !== '').join('\n\n');
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
