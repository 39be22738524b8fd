/** Type guard for a fixed set of names. */
export const oneOf =
  <Name extends string>(names: readonly Name[]) =>
  (text: string): text is Name =>
    names.some((name) => name === text);
