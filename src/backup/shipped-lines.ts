import { createHash, type Hash } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { ObjectStore } from '../ports/event-log/object-store.ts';
import { must } from '../domain/values/must.ts';

/** A text without line breaks. Numbers increase, possibly with gaps. */
export interface NumberedLine {
  readonly number: number;
  readonly text: string;
}

/** Names of objects in order, summarised as a count and one hash. */
export class NamesSeen {
  readonly #count: number;
  readonly #hash: Hash;

  constructor(count = 0, hash = createHash('sha256')) {
    this.#count = count;
    this.#hash = hash;
  }

  with(names: readonly string[]): NamesSeen {
    const hash = this.#hash.copy();
    for (const name of names) hash.update(`${name}\n`);
    return new NamesSeen(this.#count + names.length, hash);
  }

  inventory(): { readonly objects: number; readonly names: string } {
    return { objects: this.#count, names: this.#hash.copy().digest('hex') };
  }
}

/** An object is replaced by a longer one until it has this length before compression; then the next one begins. */
const FULL_CHARACTERS = 1024 * 1024;
const DIGITS = 16;

/** Append-only lines, stored as compressed objects of about a megabyte, each named after its first line. */
export class ShippedLines {
  readonly #objects: ObjectStore;
  readonly #prefix: string;
  /** First number of the object that is still growing; null before there is any. */
  #name: number | null = null;
  #lines: readonly NumberedLine[] = [];
  #characters = 0;
  #end = 0;
  #names = new NamesSeen();

  private constructor(objects: ObjectStore, prefix: string) {
    this.#objects = objects;
    this.#prefix = prefix;
  }

  static async open(objects: ObjectStore, prefix: string): Promise<ShippedLines> {
    const lines = new ShippedLines(objects, prefix);
    const names = await objects.list(prefix);
    lines.#names = lines.#names.with(names);
    const last = names.at(-1);
    if (last !== undefined) await lines.#takeUp(last);
    return lines;
  }

  /** Number of the last line; 0 before the first. */
  get end(): number {
    return this.#end;
  }

  get last(): NumberedLine | null {
    return this.#lines.at(-1) ?? null;
  }

  /** A summary of the existing objects. */
  inventory(): ReturnType<NamesSeen['inventory']> {
    return this.#names.inventory();
  }

  /** Durable when it resolves; may be repeated after a rejection. */
  async add(added: readonly NumberedLine[]): Promise<void> {
    for (let index = 0; index < added.length;) {
      const isNew = this.#name === null || this.#characters >= FULL_CHARACTERS;
      const lines = isNew ? [] : [...this.#lines];
      let characters = isNew ? 0 : this.#characters;
      const name = isNew ? must(added[index]).number : must(this.#name);
      for (; index < added.length && characters < FULL_CHARACTERS; index += 1) {
        lines.push(must(added[index]));
        characters += must(added[index]).text.length;
      }
      await this.#objects.put(nameOf(this.#prefix, name), await packed(lines));
      if (isNew) this.#names = this.#names.with([nameOf(this.#prefix, name)]);
      this.#name = name;
      this.#lines = lines;
      this.#characters = characters;
      this.#end = must(lines.at(-1)).number;
    }
  }

  /** Permanently removes lines from every object. */
  async remove(isUnwanted: (text: string) => boolean): Promise<void> {
    for (const name of await this.#objects.list(this.#prefix)) {
      const lines = await linesIn(this.#objects, name);
      const kept = lines.filter(({ text }) => !isUnwanted(text));
      if (kept.length === lines.length) continue;
      await this.#objects.put(name, await packed(kept));
      if (this.#name !== null && name === nameOf(this.#prefix, this.#name)) this.#lines = kept;
    }
  }

  async #takeUp(name: string): Promise<void> {
    this.#name = Number(name.slice(this.#prefix.length, this.#prefix.length + DIGITS));
    this.#lines = await linesIn(this.#objects, name);
    this.#characters = this.#lines.reduce((sum, { text }) => sum + text.length, 0);
    this.#end = this.#lines.at(-1)?.number ?? this.#name - 1;
  }
}

/** All lines below a prefix, one object at a time. Throws if one of them cannot be read. */
export async function* shippedLines(objects: ObjectStore, prefix: string): AsyncGenerator<readonly NumberedLine[]> {
  for (const name of await objects.list(prefix)) yield await linesIn(objects, name);
}

const nameOf = (prefix: string, first: number): string => `${prefix}${String(first).padStart(DIGITS, '0')}`;

const packed = (lines: readonly NumberedLine[]): Promise<Buffer> =>
  promisify(gzip)(lines.map(({ number, text }) => `${number} ${text}\n`).join(''));

async function linesIn(objects: ObjectStore, name: string): Promise<NumberedLine[]> {
  const bytes = await objects.get(name);
  if (bytes === null) throw new Error(`${name} is missing in ${objects.place}`);
  const text = await promisify(gunzip)(bytes).then(
    (plain) => plain.toString(),
    (error: Error) => Promise.reject(new Error(`${name} in ${objects.place} is damaged: ${error.message}`)),
  );
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => ({ number: Number(line.slice(0, line.indexOf(' '))), text: line.slice(line.indexOf(' ') + 1) }));
}
