/** The text of a source and what takes its place: how tests of tests plant a bug, or take a protection out. */
export interface PlantedChange {
  /** From the root of the repository. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** The source with its changes, wherever its lines break. Throws when one does not fit any more. */
export function planted(source: string, changes: readonly PlantedChange[]): string {
  return changes.reduce((text, { file, from, to }) => {
    const found = formatted(from);
    if (!found.test(text)) throw new Error(`a planted change does not fit ${file} any more: ${from}`);
    return text.replace(found, () => to);
  }, source);
}

/** Matches a piece of code however the formatter breaks it: in other lines, with a comma behind its last element. */
function formatted(code: string): RegExp {
  const escaped = code.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  return new RegExp(escaped.replace(/\s+/g, String.raw`\s+`).replace(/(?=\\[)\]}])/g, String.raw`(?:,?\s*)`));
}
