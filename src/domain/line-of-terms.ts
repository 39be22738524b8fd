/* A line of the text that an approver reads and signs: nothing in it breaks the line, hides, or moves text. */

export const LINE_OF_TERMS = /^[\p{L}\p{N}\p{P}\p{S}][\p{L}\p{N}\p{P}\p{S}\p{M} ]{0,499}$/u;

/**
 * Typed or pasted text with each run of blanks, line breaks and unseen characters as one blank: after many of them, a
 * page would show the rest where a line begins.
 */
export const onOneLine = (text: string): string => text.replaceAll(/[\p{C}\p{Z}]+/gu, ' ').trim();
