/** Streams that may be deleted stand outside of the ledger: no reader of it is shown them. */
const ERASABLE = 'erasable-';

/**
 * Which streams of a server are ours, and what they are called there: a namespace lets several installations share one
 * server.
 */
export class StreamNames {
  readonly #namespace: string;

  /** Throws `TypeError` for a namespace that could be taken for the server's own streams, or for erasable ones. */
  constructor(namespace = '') {
    if (!/^([A-Za-z0-9][A-Za-z0-9_.:-]{0,127})?$/.test(namespace) || namespace.startsWith(ERASABLE))
      throw new TypeError(`a namespace has letters, digits and _.:- and does not begin with ${ERASABLE}`);
    this.#namespace = namespace;
  }

  onServer(stream: string): string {
    return this.#namespace + stream;
  }

  /** The name of a stream that is no part of the ledger. */
  erasable(stream: string): string {
    return ERASABLE + this.#namespace + stream;
  }

  ofOurs(streamOnServer: string): string {
    return streamOnServer.slice(this.#namespace.length);
  }

  /** Whether a stream of the server is wanted; the server's own streams and erasable ones never are. */
  matcher(prefixes: readonly string[] | undefined): (streamOnServer: string) => boolean {
    const isLedger = (stream: string): boolean => !stream.startsWith('$') && !stream.startsWith(ERASABLE);
    if (!prefixes) return (stream) => isLedger(stream) && stream.startsWith(this.#namespace);
    const full = prefixes.map((prefix) => this.#namespace + prefix);
    return (stream) => isLedger(stream) && full.some((prefix) => stream.startsWith(prefix));
  }

  /** The same as a filter that the server applies. */
  filter(prefixes: readonly string[] | undefined): { readonly prefixes: string[] } | { readonly regex: string } {
    if (prefixes) return { prefixes: prefixes.map((prefix) => this.#namespace + prefix) };
    return this.#namespace === '' ? { regex: `^(?![$]|${ERASABLE}).*` } : { prefixes: [this.#namespace] };
  }
}
