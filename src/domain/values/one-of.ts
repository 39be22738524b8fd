/** Type guard for a fixed set of names. */
export const oneOf =
  <Name extends string>(names: readonly Name[]) =>
  (text: string): text is Name =>
    names.some((name) => name === text);

/** The text as one of the names that the guard accepts. Throws for any other. */
export function mustBe<Name extends string>(isName: (text: string) => text is Name, text: string | undefined): Name {
  if (text === undefined || !isName(text)) throw new RangeError(`${text} is none of the names that can be here`);
  return text;
}
