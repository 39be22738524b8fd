/* A line of the text that an approver reads and signs: nothing in it breaks the line, hides, or covers other text. */

/** Also the blank pattern of Braille, the blank note head, and the blanks of hieroglyphs. */
const UNSEEN = String.raw`\p{Default_Ignorable_Code_Point}\u2800\u{1d159}\u{13441}\u{13442}`;
/** Marks that stand on the same letter. */
const STACKED = String.raw`[\p{Mn}\p{Me}]`;
const UNSEEN_RUNS = new RegExp(String.raw`[\p{C}\p{Z}${UNSEEN}]+`, 'gu');
const HIGH_STACKS = new RegExp(`(${STACKED}{4})${STACKED}+`, 'gu');

/**
 * At most 500 characters that are seen, with single blanks between them and at most four marks on a letter: more would
 * cover the lines above (UTS 39, 5.4).
 */
export const LINE_OF_TERMS = new RegExp(
  String.raw`^(?=.{1,500}$)(?![\p{M} ])(?!.*${STACKED}{5})(?: ?(?![${UNSEEN}])[\p{L}\p{N}\p{P}\p{S}\p{M}])+$`,
  'u',
);

/**
 * Typed or pasted text with each run of blanks, line breaks and unseen characters as one blank, and at most four marks
 * on a letter. After many blanks, a page would show the rest where a line begins.
 */
export const onOneLine = (text: string): string =>
  text.replaceAll(UNSEEN_RUNS, ' ').replaceAll(HIGH_STACKS, '$1').trim();
