import { english, type Texts } from './texts/en.ts';

/** One language of the page. `locale` forms numbers and times; Latin digits everywhere, as wallets show them. */
export interface Language {
  readonly code: string;
  /** In its own words, for the switch. */
  readonly name: string;
  readonly locale: string;
  readonly direction: 'ltr' | 'rtl';
  readonly texts: Texts;
}

const ENGLISH: Language = { code: 'en', name: 'English', locale: 'en', direction: 'ltr', texts: english };

export const LANGUAGES: readonly Language[] = [ENGLISH];

/** Longer headers are cut: a browser sends a dozen languages at most. */
const MAX_HEADER_LENGTH = 500;

/** The language asked for by `?lang=`, else the browser's favourite among ours, else English. */
export function chooseLanguage(asked: unknown, acceptLanguage: string | undefined): Language {
  const wanted = [...(typeof asked === 'string' ? [asked] : []), ...favourites(acceptLanguage ?? '')];
  for (const tag of wanted) {
    const primary = tag.split('-', 1)[0]!.toLowerCase();
    const found = LANGUAGES.find(({ code }) => code === primary);
    if (found) return found;
  }
  return ENGLISH;
}

/** Language tags of an Accept-Language header, best first; those with q=0 left out (RFC 9110, 12.5.4). */
function favourites(header: string): string[] {
  return header
    .slice(0, MAX_HEADER_LENGTH)
    .split(',')
    .map((entry) => {
      const [tag = '', ...parameters] = entry.split(';').map((part) => part.trim());
      const quality = parameters.find((parameter) => parameter.startsWith('q='));
      return { tag, quality: quality === undefined ? 1 : Number(quality.slice(2)) };
    })
    .filter(({ tag, quality }) => tag !== '' && quality > 0)
    .sort((left, right) => right.quality - left.quality)
    .map(({ tag }) => tag);
}
