/** The text of a source and what takes its place: how tests of tests plant a bug, or take a protection out. */
export interface PlantedChange {
  /** From the root of the repository. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** The source with its changes. Throws when one does not fit any more. */
export function planted(source: string, changes: readonly PlantedChange[]): string {
  return changes.reduce((text, { file, from, to }) => {
    if (!text.includes(from)) throw new Error(`a planted change does not fit ${file} any more: ${from}`);
    return text.replace(from, () => to);
  }, source);
}
