/** Which streams of a server are ours, and what they are called there: a namespace lets several installations share one server. */
export class StreamNames {
  readonly #namespace: string;

  /** Throws `TypeError` for a namespace that could be taken for the server's own streams. */
  constructor(namespace = '') {
    if (!/^([A-Za-z0-9][A-Za-z0-9_.:-]{0,127})?$/.test(namespace)) throw new TypeError('a namespace has letters, digits and _.:-');
    this.#namespace = namespace;
  }

  onServer(stream: string): string {
    return this.#namespace + stream;
  }

  ofOurs(streamOnServer: string): string {
    return streamOnServer.slice(this.#namespace.length);
  }

  /** Whether a stream of the server is wanted; the server's own streams never are. */
  matcher(prefixes: readonly string[] | undefined): (streamOnServer: string) => boolean {
    if (!prefixes) return (stream) => !stream.startsWith('$') && stream.startsWith(this.#namespace);
    const full = prefixes.map((prefix) => this.#namespace + prefix);
    return (stream) => !stream.startsWith('$') && full.some((prefix) => stream.startsWith(prefix));
  }

  /** The same as a filter that the server applies. */
  filter(prefixes: readonly string[] | undefined): { readonly prefixes: string[] } | { readonly regex: string } {
    if (prefixes) return { prefixes: prefixes.map((prefix) => this.#namespace + prefix) };
    return this.#namespace === '' ? { regex: '^[^$].*' } : { prefixes: [this.#namespace] };
  }
}
