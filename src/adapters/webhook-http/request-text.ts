const UNPRINTABLE = /[^\x20-\x7e]/;

/** The lines of a request to one URL that are always the same. `host` as it stands in the URL. */
export const requestStart = (host: string, path: string): string => `POST ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`;

/**
 * A whole request. `headers` are names and values by turns. Throws `TypeError` for a header that is not printable ASCII:
 * nothing may end its line early.
 */
export function requestText(start: string, headers: readonly string[], body: string): string {
  if (UNPRINTABLE.test(headers.join(''))) throw new TypeError('a header of a webhook is not printable ASCII');
  let text = start;
  for (let index = 0; index < headers.length; index += 2) text += `${headers[index]!}: ${headers[index + 1]!}\r\n`;
  return `${text}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}
