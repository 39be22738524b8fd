/** Prefix of deletable streams, which are not part of the event log and hidden from its readers. */
const ERASABLE = 'erasable-';

/** Maps stream names to those on the server. A namespace lets several installations share one server. */
export class StreamNames {
  readonly #namespace: string;

  /** Throws `TypeError` for a namespace that collides with the server's own streams or with erasable ones. */
  constructor(namespace = '') {
    if (!/^([A-Za-z0-9][A-Za-z0-9_.:-]{0,127})?$/.test(namespace) || namespace.startsWith(ERASABLE))
      throw new TypeError(`a namespace has letters, digits and _.:- and does not begin with ${ERASABLE}`);
    this.#namespace = namespace;
  }

  onServer(stream: string): string {
    return this.#namespace + stream;
  }

  /** The name of a stream outside the event log. */
  erasable(stream: string): string {
    return ERASABLE + this.#namespace + stream;
  }

  ofOurs(streamOnServer: string): string {
    return streamOnServer.slice(this.#namespace.length);
  }

  /** Whether a stream on the server is wanted. The server's own streams and erasable ones never are. */
  matcher(prefixes: readonly string[] | undefined): (streamOnServer: string) => boolean {
    const isOfLog = (stream: string): boolean => !stream.startsWith('$') && !stream.startsWith(ERASABLE);
    if (!prefixes) return (stream) => isOfLog(stream) && stream.startsWith(this.#namespace);
    const full = prefixes.map((prefix) => this.#namespace + prefix);
    return (stream) => isOfLog(stream) && full.some((prefix) => stream.startsWith(prefix));
  }

  /** The same as a server-side filter. */
  filter(prefixes: readonly string[] | undefined): { readonly prefixes: string[] } | { readonly regex: string } {
    if (prefixes) return { prefixes: prefixes.map((prefix) => this.#namespace + prefix) };
    return this.#namespace === '' ? { regex: `^(?![$]|${ERASABLE}).*` } : { prefixes: [this.#namespace] };
  }
}
