import { isIP } from 'node:net';
import type { WebhookUrlVetting } from '../../ports/webhooks/sender.ts';
import { forbiddenReason } from './forbidden-addresses.ts';
import { must } from '../../domain/values/must.ts';

export interface UrlRules {
  /** Sandboxes: http, private addresses and any harmless port. */
  readonly allowInsecure: boolean;
  /** Our own `host` or `host:port`, to which deliveries must not be sent. */
  readonly ownHosts: readonly string[];
  /** The only URL of ours that accepts deliveries. */
  readonly ownReceiver?: string;
  /** Ports of https endpoints unless `allowInsecure` is set. */
  readonly ports?: readonly number[];
}

const MAX_LENGTH = 2_048;
const DEFAULT_PORTS: readonly number[] = [443, 8443];

/**
 * Ports where an HTTP request may be interpreted as something else (Fetch standard, "bad port", and common data
 * stores).
 */
const SERVICE_PORTS: ReadonlySet<number> = new Set([
  1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
  111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
  540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1113, 1433, 1521, 1719, 1720, 1723, 2049, 2113, 2375,
  2376, 2379, 3306, 3659, 4045, 4190, 5060, 5061, 5432, 5672, 6000, 6379, 6443, 6566, 6665, 6666, 6667, 6668, 6669,
  6679, 6697, 9042, 9092, 9200, 10080, 11211, 27017,
]);

/** Names that never leave the operator's network (RFC 6761, RFC 6762, RFC 8375 and common usage). */
const PRIVATE_SUFFIXES = [
  'localhost',
  'local',
  'internal',
  'intranet',
  'lan',
  'home',
  'corp',
  'private',
  'home.arpa',
  'onion',
  'invalid',
  'test',
  'example',
];

/**
 * Vets a URL when it is registered, and again before every attempt. The addresses behind its host are vetted when
 * connecting.
 */
export function vetWebhookUrl(text: string, rules: UrlRules): ReturnType<WebhookUrlVetting> {
  const written = shapeOf(text, rules.allowInsecure);
  if (typeof written === 'string') return refuse(written);
  const parsed = URL.parse(text);
  if (!parsed) return refuse('is not a URL');
  const host = bareHost(parsed.hostname);
  const wrong = hostReason(host, written.host, rules) ?? portReason(parsed, rules) ?? ownReason(parsed, host, rules);
  if (wrong !== null) return refuse(wrong);
  parsed.hash = '';
  return { ok: true, url: parsed.href };
}

const refuse = (reason: string): ReturnType<WebhookUrlVetting> => ({ ok: false, reason });

/** Checks the text itself, because a URL parser tolerates what other parsers read differently. */
function shapeOf(text: string, allowInsecure: boolean): { host: string } | string {
  if (text.length > MAX_LENGTH) return `is longer than ${MAX_LENGTH} characters`;
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (/[\u0000-\u0020\u007f-\u00a0\\]/.test(text)) return 'holds a space, a control character or a backslash';
  const match = /^(https?):\/\/([^/?#]+)/i.exec(text);
  if (!match) return 'must start with https://';
  if (must(match[1]).toLowerCase() !== 'https' && !allowInsecure) return 'must start with https://';
  if (must(match[2]).includes('@')) return 'must not hold a user name or a password';
  return { host: must(match[2]).replace(/:\d*$/, '').toLowerCase() };
}

/** IPv6 without its brackets, names without the dot of the root. */
const bareHost = (hostname: string): string =>
  hostname.startsWith('[') ? hostname.slice(1, -1) : hostname.replace(/\.$/, '');

function hostReason(host: string, written: string, { allowInsecure }: UrlRules): string | null {
  const family = isIP(host);
  if (family === 4 && written !== host) return 'writes an IPv4 address in an unusual form';
  if (family !== 0) {
    const reason = forbiddenReason(host, allowInsecure);
    return reason === null ? null : `points to a forbidden address (${reason})`;
  }
  if (host.length > 253 || host.split('.').some((label) => label === '' || label.length > 63))
    return 'has no usable host';
  if (allowInsecure) return null;
  if (!host.includes('.')) return 'must name a public host';
  return PRIVATE_SUFFIXES.some((suffix) => host === suffix || host.endsWith(`.${suffix}`))
    ? 'must name a public host'
    : null;
}

function portReason(url: URL, { allowInsecure, ports = DEFAULT_PORTS }: UrlRules): string | null {
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
  const allowed = allowInsecure ? !SERVICE_PORTS.has(port) && port !== 0 : ports.includes(port);
  return allowed ? null : `uses port ${port}, which is not allowed`;
}

function ownReason(url: URL, host: string, { ownHosts, ownReceiver }: UrlRules): string | null {
  if (url.href === ownReceiver) return null;
  const port = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port;
  const own = ownHosts.some((entry) => entry.toLowerCase() === host || entry.toLowerCase() === `${host}:${port}`);
  return own ? 'points to this service itself' : null;
}
