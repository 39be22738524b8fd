const MAX_LENGTH = 200;
/** Excludes everything a mail program would read as another recipient or a header (RFC 6068). */
const EMAIL = /^[A-Za-z0-9.!_+~-]{1,64}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]{2,63}$/;

/** The link behind a contact; null for text that is neither an e-mail address nor an https URL. */
export function contactLink(text: string): string | null {
  if (text.length > MAX_LENGTH) return null;
  if (EMAIL.test(text)) return `mailto:${text}`;
  const url = URL.parse(text);
  return url?.protocol === 'https:' && url.username === '' && url.password === '' ? url.href : null;
}
