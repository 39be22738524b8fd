/*
 * Names of people as readers tell them apart: who proposed something may not approve it under a name that looks the
 * same. The letters that ASCII shows alike are those of Unicode's confusables (UTS 39); other scripts are not taken.
 */

const HIDDEN_OR_MARK = /[\p{M}\p{Default_Ignorable_Code_Point}]/gu;

const bare = (name: string): string => name.normalize('NFKD').replaceAll(HIDDEN_OR_MARK, '');

/** Whether the name is in Latin letters, digits and signs, accents aside: a Cyrillic е could pass for a Latin one. */
export const isPlainName = (name: string): boolean => /^[\x20-\x7e]+$/.test(bare(name));

/**
 * What the name looks like, in either case: one person where two names have the same look. A dot at the end, or another
 * sign between words, is no other name.
 */
export const lookOf = (name: string): string =>
  bare(name)
    .toLowerCase()
    .replaceAll(/[1i|!]/g, 'l')
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
    .replaceAll('0', 'o')
    .replaceAll('rn', 'm')
    .replaceAll('vv', 'w');

export const sameName = (one: string, other: string): boolean => lookOf(one) === lookOf(other);
