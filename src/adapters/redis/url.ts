import { readFileSync } from 'node:fs';
import { must } from '../../domain/values/must.ts';

/** The Redis installation named by `REDIS_URL`. */
export type RedisTarget = RedisAccess &
  (
    | { readonly kind: 'single'; readonly hosts: readonly [RedisHost]; readonly db: number }
    | { readonly kind: 'cluster'; readonly hosts: readonly RedisHost[] }
    | {
        readonly kind: 'sentinel';
        readonly hosts: readonly RedisHost[];
        /** The master's name among the sentinels. */
        readonly name: string;
        readonly db: number;
        readonly sentinelPassword: string | undefined;
      }
  );

export interface RedisHost {
  readonly host: string;
  readonly port: number;
}

interface RedisAccess {
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly tls: boolean;
  /** File with the trusted authorities' certificates; if absent, those of Node.js. */
  readonly caFile: string | undefined;
}

/** The URL is invalid. The message says why without repeating it, because it may contain a password. */
export class InvalidRedisUrl extends Error {
  override readonly name = 'InvalidRedisUrl';
}

const FORMS =
  'redis://[user:password@]host[:6379][/db], redis+cluster://[user:password@]host:port,host:port or ' +
  'redis+sentinel://[user:password@]host:port,host:port/master-name[/db]; rediss in place of redis for TLS, with ?ca_file=path for an authority of your own';
const URL_PARTS = /^(rediss?)(?:\+(cluster|sentinel))?:\/\/(?:([^@/]*)@)?([^@/?#]+)(?:\/([^?#]*))?(?:\?([^#]*))?$/;
const HOST = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9_.-]+))(?::(\d{1,5}))?$/;
const PORTS = { single: 6379, cluster: 6379, sentinel: 26_379 } as const;

/** Throws `InvalidRedisUrl`. */
export function parseRedisUrl(url: string): RedisTarget {
  const parts = URL_PARTS.exec(url.trim());
  if (!parts) throw new InvalidRedisUrl(`must be one of ${FORMS}`);
  const [, scheme, form, credentials, hostList, path = '', query = ''] = parts;
  const kind = (form ?? 'single') as RedisTarget['kind'];
  const hosts = must(hostList)
    .split(',')
    .map((host) => hostOf(host, PORTS[kind]));
  const parameters = new URLSearchParams(query);
  const tls = scheme === 'rediss';
  for (const name of parameters.keys())
    if (!(name === 'ca_file' && tls) && !(name === 'sentinel_password' && kind === 'sentinel'))
      throw new InvalidRedisUrl('knows no parameters but ca_file, of rediss, and sentinel_password, of redis+sentinel');
  const access = { ...credentialsOf(credentials), tls, caFile: parameters.get('ca_file') ?? undefined };
  if (kind === 'single') {
    if (hosts.length > 1) throw new InvalidRedisUrl('names several hosts: say redis+cluster:// or redis+sentinel://');
    return { kind, hosts: [must(hosts[0])], db: databaseOf(path), ...access };
  }
  if (kind === 'cluster') {
    if (path !== '' && path !== '0')
      throw new InvalidRedisUrl('names a database, but a Redis Cluster has only database 0');
    return { kind, hosts, ...access };
  }
  const [name, db = '', ...more] = path.split('/');
  if (!name || more.length > 0)
    throw new InvalidRedisUrl(
      'must name the master after the sentinels: redis+sentinel://host:port,host:port/master-name',
    );
  return {
    kind,
    hosts,
    name: decoded(name),
    db: databaseOf(db),
    sentinelPassword: parameters.get('sentinel_password') ?? undefined,
    ...access,
  };
}

/**
 * The driver's trust settings; null without TLS. Throws `InvalidRedisUrl` for a file that cannot be read or has no
 * certificate.
 */
export function trustOf({ tls, caFile }: RedisTarget): { readonly ca?: string } | null {
  if (!tls) return null;
  if (caFile === undefined) return {};
  try {
    const ca = readFileSync(caFile, 'utf8');
    if (ca.includes('-----BEGIN CERTIFICATE-----')) return { ca };
  } catch {
    throw new InvalidRedisUrl('names a ca_file that cannot be read');
  }
  throw new InvalidRedisUrl('names a ca_file without a certificate');
}

function hostOf(text: string, defaultPort: number): RedisHost {
  const found = HOST.exec(text.trim());
  const port = Number(found?.[3] ?? defaultPort);
  if (!found || port < 1 || port > 65_535)
    throw new InvalidRedisUrl('names a host that is not host, host:port or [IPv6 address]:port');
  return { host: must(found[1] ?? found[2]), port };
}

function databaseOf(text: string): number {
  if (!/^\d{0,5}$/.test(text)) throw new InvalidRedisUrl('names a database that is not a number');
  return Number(text);
}

function credentialsOf(text: string | undefined): { username: string | undefined; password: string | undefined } {
  if (text === undefined) return { username: undefined, password: undefined };
  const colon = text.indexOf(':');
  const [user, password] = colon < 0 ? [text, ''] : [text.slice(0, colon), text.slice(colon + 1)];
  return { username: decoded(user) || undefined, password: decoded(password) || undefined };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new InvalidRedisUrl('holds a % that begins no percent-encoded character');
  }
}
