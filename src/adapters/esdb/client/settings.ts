import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext, type SecureContext } from 'node:tls';

export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** What a connection string says, in the form that the server's own clients share. */
export interface ClientSettings {
  readonly endpoints: readonly Endpoint[];
  /** The nodes are asked which of them to use: several hosts, or a name that stands for a cluster (`+discover`). */
  readonly discovers: boolean;
  readonly nodePreference: NodePreference;
  readonly maxDiscoverAttempts: number;
  readonly discoveryIntervalMs: number;
  readonly gossipTimeoutMs: number;
  /** Null: without TLS, where no password is sent either. */
  readonly tls: TlsSettings | null;
  readonly login: { readonly name: string; readonly password: string } | null;
  readonly connectionName: string;
  /** Null: none is sent. */
  readonly keepAliveIntervalMs: number | null;
  readonly keepAliveTimeoutMs: number | null;
}

/** Paths of files, which are read for each new connection, since certificates are renewed. */
export interface TlsSettings {
  /** Absent: the authorities that Node.js knows. */
  readonly authority?: string;
  readonly client?: { readonly certificate: string; readonly key: string };
}

const PREFERENCES = ['leader', 'follower', 'readonlyreplica', 'random'] as const;
export type NodePreference = (typeof PREFERENCES)[number];

const DEFAULT_PORT = 2113;
const FORM =
  /^(?:esdb|kurrentdb|kurrent|kdb)(?<discover>\+discover)?:\/\/(?:(?<name>[^:@/?]+):(?<password>[^@/?]*)@)?(?<hosts>[^@/?]+)\/*(?:\?(?<options>.*))?$/;
const HOST = /^(?:\[(?<v6>[0-9a-f:.]+)\]|(?<name>[^:[\]\s]+))(?::(?<port>\d{1,5}))?$/i;

/** Whether a text is meant as a connection string of such a server. */
export const isConnectionString = (text: string): boolean =>
  /^(esdb|kurrentdb|kurrent|kdb)(\+discover)?:\/\//.test(text);

/** Throws `TypeError`, which shows nothing of the string but the names of its options. */
export function parseConnectionString(text: string): ClientSettings {
  const parts = FORM.exec(text.trim())?.groups;
  if (!parts) throw cannotBeUsed('it has the form esdb://user:password@host:2113,host:2113?tls=true');
  const options = new Options(parts['options'] ?? '');
  const endpoints = (parts['hosts'] ?? '').split(',').map(endpointOf);
  const tls = options.flag('tls', true) ? tlsOf(options) : (options.ignore(...OF_TLS), null);
  if (!options.flag('tlsVerifyCert', true))
    throw cannotBeUsed(
      'certificates are always verified: instead of tlsVerifyCert=false name the authority in tlsCAFile',
    );
  const settings = {
    endpoints,
    discovers: parts['discover'] !== undefined || endpoints.length > 1,
    nodePreference: options.oneOf('nodePreference', PREFERENCES),
    maxDiscoverAttempts: options.number('maxDiscoverAttempts', 10),
    discoveryIntervalMs: options.number('discoveryInterval', 100),
    gossipTimeoutMs: options.number('gossipTimeout', 5) * 1_000,
    tls,
    login:
      parts['name'] === undefined ? null : { name: decoded(parts['name']), password: decoded(parts['password'] ?? '') },
    connectionName: options.printable('connectionName', 'quittance'),
    keepAliveIntervalMs: options.time('keepAliveInterval', 10_000),
    keepAliveTimeoutMs: options.time('keepAliveTimeout', 10_000),
  };
  options.refuseUnknown();
  return settings;
}

const OF_TLS = ['tlsCAFile', 'userCertFile', 'userKeyFile'];

function tlsOf(options: Options): TlsSettings {
  const authority = options.text('tlsCAFile');
  const certificate = options.text('userCertFile');
  const key = options.text('userKeyFile');
  if ((certificate === undefined) !== (key === undefined))
    throw cannotBeUsed('userCertFile and userKeyFile belong together');
  const tls = { ...(authority && { authority }), ...(certificate && key && { client: { certificate, key } }) };
  try {
    if (authority !== undefined) certificatesIn(readFileSync(authority, 'utf8'));
    secureContextOf(tls);
    return tls;
  } catch {
    throw cannotBeUsed('a file that tlsCAFile, userCertFile or userKeyFile names cannot be read or is no PEM');
  }
}

/** Of a file with one or more; throws for one without. */
export function certificatesIn(pem: string): X509Certificate[] {
  const found = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (found.length === 0) throw new TypeError('no certificate');
  return found.map((each) => new X509Certificate(each));
}

export const secureContextOf = ({ authority, client }: TlsSettings): SecureContext =>
  createSecureContext({
    ...(authority !== undefined && { ca: readFileSync(authority) }),
    ...(client && { cert: readFileSync(client.certificate), key: readFileSync(client.key) }),
  });

function endpointOf(text: string): Endpoint {
  const parts = HOST.exec(text.trim())?.groups;
  const port = Number(parts?.['port'] ?? DEFAULT_PORT);
  const host = parts?.['v6'] ?? parts?.['name'];
  if (host === undefined || port < 1 || port > 65_535) throw cannotBeUsed('a host is a name or an address and a port');
  return { host, port };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw cannotBeUsed('its user and password are percent-encoded');
  }
}

const cannotBeUsed = (why: string): TypeError =>
  new TypeError(`the connection string of the event store cannot be used: ${why}`);

/** The part after the question mark. Names may be written in any case, with or without `-` and `_`. */
class Options {
  readonly #values = new Map<string, { readonly name: string; readonly value: string }>();

  constructor(text: string) {
    for (const [name, value] of new URLSearchParams(text.replaceAll('+', '%2B')))
      this.#values.set(flat(name), { name, value: value.trim() });
  }

  text(name: string): string | undefined {
    const found = this.#values.get(flat(name));
    this.#values.delete(flat(name));
    return found?.value;
  }

  /** Sent in a header. */
  printable(name: string, usual: string): string {
    const value = this.text(name) ?? usual;
    if (!/^[\x20-\x7e]+$/.test(value)) throw cannotBeUsed(`${name} has printable ASCII characters only`);
    return value;
  }

  flag(name: string, usual: boolean): boolean {
    const value = this.text(name) ?? String(usual);
    if (value !== 'true' && value !== 'false') throw cannotBeUsed(`${name} is true or false`);
    return value === 'true';
  }

  number(name: string, usual: number): number {
    const value = this.text(name) ?? String(usual);
    if (!/^\d{1,9}$/.test(value)) throw cannotBeUsed(`${name} is a whole number`);
    return Number(value);
  }

  /** Milliseconds; -1 for never. */
  time(name: string, usual: number): number | null {
    const value = this.text(name) ?? String(usual);
    if (value === '-1') return null;
    if (!/^\d{1,9}$/.test(value)) throw cannotBeUsed(`${name} is a number of milliseconds, or -1`);
    return Number(value);
  }

  /** Without an option, the first. */
  oneOf<Value extends string>(name: string, values: readonly [Value, ...Value[]]): Value {
    const value = this.text(name);
    const found = value === undefined ? values[0] : values.find((each) => each === flat(value));
    if (found === undefined) throw cannotBeUsed(`${name} is one of ${values.join(', ')}`);
    return found;
  }

  ignore(...names: readonly string[]): void {
    for (const name of names) this.#values.delete(flat(name));
  }

  refuseUnknown(): void {
    const [unknown] = this.#values.values();
    if (unknown) throw cannotBeUsed(`it has no option ${JSON.stringify(unknown.name)}`);
  }
}

const flat = (name: string): string => name.toLowerCase().replaceAll(/[-_]/g, '');
