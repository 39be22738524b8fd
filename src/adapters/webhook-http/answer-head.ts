/** What came back is not an answer in HTTP/1.1 (RFC 9112) or 1.0. The message is for the merchant's delivery log. */
export class InvalidAnswer extends Error {
  override readonly name = 'InvalidAnswer';
}

/** How the body ends (RFC 9112, 6.3). */
export type Framing = { readonly kind: 'length'; readonly bytes: number } | { readonly kind: 'chunked' } | { readonly kind: 'until-close' };

export interface AnswerHead {
  readonly status: number;
  readonly framing: Framing;
  /** Null when it is absent or given twice. */
  readonly retryAfter: string | null;
  /** How long the connection may wait for another request once the answer is complete; 0 when it is not to carry another. */
  readonly keepAliveMs: number;
}

/** Where the receiver does not say how long it keeps a connection. */
const KEEP_ALIVE_MS = 4_000;
const LONGEST_KEEP_ALIVE_MS = 60_000;
/** Ahead of the receiver's own time, so that no request meets a connection that is being closed. */
const KEEP_ALIVE_MARGIN_MS = 2_000;

/** Status and reason; three digits, of which the first is not 0. */
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [^\r\n\0]*)?$/;
/** Names are tokens directly before their colon, values hold no control characters but the tab; a line that goes on in the next is no line. */
const FIELD_LINES = /^(?:\r\n[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*)*$/;
/** Those that matter here, each up to the end of its line. */
const FIELDS = /\r\n(content-length|transfer-encoding|connection|keep-alive|retry-after):[\t ]*([^\r]*)/gi;
const LENGTH = /^\d{1,15}$/;

/** Reads a head, latin1 and without the empty line that ends it. Throws `InvalidAnswer` where parsers might disagree on what it says. */
export function readHead(text: string): AnswerHead {
  const lineEnd = text.indexOf('\r\n');
  const status = STATUS_LINE.exec(lineEnd < 0 ? text : text.slice(0, lineEnd));
  if (!status) throw new InvalidAnswer('no status line of HTTP/1.1');
  const fields = lineEnd < 0 ? '' : text.slice(lineEnd);
  if (!FIELD_LINES.test(fields)) throw new InvalidAnswer('malformed header');
  return headOf(Number(status[2]), status[1] === '1', fieldsOf(fields));
}

type Field = 'content-length' | 'transfer-encoding' | 'connection' | 'keep-alive' | 'retry-after';
/** All values of each field that there is. */
type Fields = Partial<Record<Field, string[]>>;

function fieldsOf(text: string): Fields {
  const fields: Fields = {};
  FIELDS.lastIndex = 0;
  for (let match = FIELDS.exec(text); match; match = FIELDS.exec(text)) (fields[match[1]!.toLowerCase() as Field] ??= []).push(trimmed(match[2]!));
  return fields;
}

/** Without the blanks at its end, of which there may be thousands. */
function trimmed(value: string): string {
  let end = value.length;
  while (end > 0 && (value[end - 1] === ' ' || value[end - 1] === '\t')) end -= 1;
  return value.slice(0, end);
}

function headOf(status: number, isCurrent: boolean, fields: Fields): AnswerHead {
  const retryAfter = fields['retry-after'];
  const framing = framingOf(status, fields);
  return {
    status,
    framing,
    retryAfter: retryAfter?.length === 1 ? retryAfter[0]! : null,
    keepAliveMs: isCurrent && framing.kind !== 'until-close' ? keepAliveOf(fields) : 0,
  };
}

function framingOf(status: number, fields: Fields): Framing {
  const lengths = fields['content-length'] ?? [];
  const codings = fields['transfer-encoding'];
  if (lengths.length > 1 || lengths.some((length) => !LENGTH.test(length))) throw new InvalidAnswer('impossible Content-Length');
  // One of them would be wrong, and whoever believes it reads the next answer from a place the receiver chose.
  if (codings && lengths.length > 0) throw new InvalidAnswer('Content-Length beside Transfer-Encoding');
  if (status < 200 || status === 204 || status === 304) return { kind: 'length', bytes: 0 };
  if (codings) return { kind: /(?:^|[,\t ])chunked$/i.test(codings.join(',')) ? 'chunked' : 'until-close' };
  return lengths.length === 0 ? { kind: 'until-close' } : { kind: 'length', bytes: Number(lengths[0]) };
}

function keepAliveOf(fields: Fields): number {
  if (/(?:^|[,\t ])close(?:$|[,\t ])/i.test(fields.connection?.join(',') ?? '')) return 0;
  const told = /(?:^|[,;\t ])timeout=(\d{1,9})/i.exec(fields['keep-alive']?.join(',') ?? '');
  if (!told) return KEEP_ALIVE_MS;
  return Math.max(0, Math.min(Number(told[1]) * 1_000 - KEEP_ALIVE_MARGIN_MS, LONGEST_KEEP_ALIVE_MS));
}
