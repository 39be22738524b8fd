/** Longer headers are truncated: a browser sends a dozen languages at most. */
const MAX_HEADER_LENGTH = 500;

/**
 * The first of the languages that the reader wants, in the script that they read (`zh-TW` is `zh-Hant`), else by the
 * language alone (RFC 5646); null if there is none.
 */
export function preferredLanguage<Language extends { readonly code: string }>(
  languages: readonly Language[],
  acceptLanguage: string | undefined,
  asked?: unknown,
): Language | null {
  const wanted = [...(typeof asked === 'string' ? [asked] : []), ...favourites(acceptLanguage ?? '')];
  for (const tag of wanted) {
    for (const name of namesOf(tag)) {
      const found = languages.find(({ code }) => code === name);
      if (found) return found;
    }
  }
  return null;
}

function namesOf(tag: string): readonly string[] {
  try {
    const { language, script } = new Intl.Locale(tag).maximize();
    return [`${language}-${script}`, language];
  } catch {
    return [];
  }
}

/** Language tags of an Accept-Language header, best first, without those with q=0 (RFC 9110, 12.5.4). */
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
