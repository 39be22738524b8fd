/** The tag that Windows and Android use for pseudo-locales. */
export const PSEUDO = 'qps';

/** Puts a sentence into brackets, without the values in it. */
export const bracketed = (english: string): string => `⟦${english.replaceAll(/\{\d+\}/g, '⟧$&⟦')}⟧`;

/** The attributes that are shown or read out. */
export const SAID = /\s(?:aria-label|placeholder|title|alt|data-name|data-stale|data-ended)="([^"]*)"/g;
/** What is the same in every language says so, or is a time. */
const SAME =
  /<(\w+)\b[^>]*(?:lang="en"|translate="no")[^>]*>[\s\S]*?<\/\1\s*>|<(pre|code|script|time)\b[^>]*>[\s\S]*?<\/\2\s*>/g;

/** The pieces of a page in the pseudo-language that are outside brackets and have letters. */
export function untranslatedIn(page: string): string[] {
  return page
    .replace(/<head>[\s\S]*?<\/head>/, '')
    .replaceAll(SAME, ' ')
    .replaceAll(SAID, '>$1<')
    .replaceAll(/<[^>]*>|⟦[^⟧]*⟧/g, '|')
    .split('|')
    .map((piece) => piece.replaceAll(/\s+/g, ' ').trim())
    .filter((piece) => /[A-Za-z]{2,}/.test(piece));
}
