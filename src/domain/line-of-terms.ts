/* A line of the text that an approver reads and signs: nothing in it breaks the line, hides, or moves text. */

/** At most 500 characters that are seen, with single blanks between them. */
export const LINE_OF_TERMS =
  /^(?=.{1,500}$)(?![\p{M} ])(?: ?(?![\p{Default_Ignorable_Code_Point}\u2800])[\p{L}\p{N}\p{P}\p{S}\p{M}])+$/u;

/**
 * Typed or pasted text with each run of blanks, line breaks and unseen characters as one blank: after many of them, a
 * page would show the rest where a line begins.
 */
export const onOneLine = (text: string): string =>
  text.replaceAll(/[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]+/gu, ' ').trim();
