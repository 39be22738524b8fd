/** The set of a list: its name up to the first slash, that included. */
export const setOf = (list: string): string => list.slice(0, list.indexOf('/') + 1) || list;

/** "position mark" of the generation that is built beside the one that is served; also the field of its number. */
export const nextOf = (projection: string): string => `next:${projection}`;

/**
 * The keys of a read model. All carry the same hash tag, so a cluster keeps them on one node. Rows and lists are of a generation: a table or set of
 * lists is switched to another one by one field of a hash.
 */
export class RowKeys {
  readonly checkpoints: string;
  readonly generations: string;
  readonly dropped: string;
  readonly #tag: string;
  /** As last seen; every read is checked against what is stored. */
  readonly #served = new Map<string, string>();

  constructor(prefix: string) {
    this.#tag = `{${prefix}:look-ups}`;
    this.checkpoints = `${this.#tag}:checkpoints`;
    this.generations = `${this.#tag}:generations`;
    this.dropped = `${this.#tag}:dropped`;
  }

  /** Of a table or a set of lists. */
  served(name: string): string {
    return this.#served.get(name) ?? '';
  }

  /** False when it was known already. */
  saw(name: string, generation: string): boolean {
    if (this.served(name) === generation) return false;
    this.#served.set(name, generation);
    return true;
  }

  /** All fields of the hash and their values by turns. */
  sawAll(fields: readonly string[]): void {
    this.#served.clear();
    for (let index = 0; index < fields.length; index += 2) this.#served.set(fields[index]!, fields[index + 1]!);
  }

  table(name: string, generation: string): string {
    return `${this.#tag}:table:${generation}:${name}`;
  }

  /** Keys of a table's rows, in their order. */
  ordered(name: string, generation: string): string {
    return `${this.#tag}:ordered:${generation}:${name}`;
  }

  list(name: string, generation: string): string {
    return `${this.#tag}:list:${generation}:${name}`;
  }

  times(name: string, generation: string): string {
    return `${this.#tag}:times:${generation}:${name}`;
  }

  /** Names of a set's lists. */
  names(set: string, generation: string): string {
    return `${this.#tag}:names:${generation}:${set}`;
  }
}
