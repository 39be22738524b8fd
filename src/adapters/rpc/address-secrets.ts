/** Shorter parts are words of the URL, such as `v2`, and would be cut out of every text. */
const SHORTEST_SECRET = 6;

/**
 * Replaces possible keys of this URL or its headers: some providers repeat the request in their errors, often without
 * the rest of the URL.
 */
export function withoutSecretsOf(url: string, headers: Readonly<Record<string, string>>): (text: string) => string {
  const { username, password, pathname, search } = new URL(url);
  const values = search.split('&').map((pair) => pair.slice(pair.indexOf('=') + 1));
  const parts = [
    `${pathname}${search}`,
    username,
    password,
    ...pathname.split('/'),
    ...values,
    ...Object.values(headers),
  ];
  const secrets = [...new Set(parts.flatMap((part) => [part, decoded(part)]))]
    .filter(({ length }) => length >= SHORTEST_SECRET)
    .toSorted((a, b) => b.length - a.length);
  return (text) => secrets.reduce((clean, secret) => clean.replaceAll(secret, '[redacted]'), text);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
