/** Guard of one of some names. */
export const oneOf =
  <Name extends string>(names: readonly Name[]) =>
  (text: string): text is Name =>
    names.some((name) => name === text);
