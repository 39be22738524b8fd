/** What an event's hash covers: everything except the hash itself and the position its store assigned. */
export interface HashedParts {
  readonly stream: string;
  readonly revision: number;
  readonly id: string;
  readonly type: string;
  readonly version: number;
  readonly atMs: number;
  /** JSON text, byte for byte as stored. */
  readonly data: string;
  /** JSON text, byte for byte as stored. */
  readonly metadata: string;
}

/**
 * The canonical form of an event: a JSON array whose last two elements are the stored texts verbatim. Its SHA-256 over
 * UTF-8 is the event's hash, so anyone can recompute it from any store, in any language.
 */
export function canonicalText({ stream, revision, id, type, version, atMs, data, metadata }: HashedParts): string {
  return `[${JSON.stringify(stream)},${revision},${JSON.stringify(id)},${JSON.stringify(type)},${version},${atMs},${data},${metadata}]`;
}
