import { closeSync, existsSync, fstatSync, openSync, readdirSync, readFileSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { ObjectStore } from '../ports/event-log/object-store.ts';
import { OF_SIGNER } from './manifest.ts';
import { ShippedLines, type NumberedLine } from './shipped-lines.ts';

export const SHIPPED_FILES = 'files/';
export const SHIPPED_JOURNALS = 'journals/';
/** Files of the data directory besides its databases: only hashes. A sandbox's keys are not shipped. */
export const OF_DATA = 'operators.json';

/** Ships whole files whenever they change. */
export class WholeFiles {
  readonly #objects: ObjectStore;
  readonly #stamps = new Map<string, string>();

  constructor(objects: ObjectStore) {
    this.#objects = objects;
  }

  async send(path: string, name: string): Promise<void> {
    const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
    const stamp = stat && `${stat.ino} ${stat.mtimeNs} ${stat.size}`;
    if (stamp === undefined || this.#stamps.get(name) === stamp) return;
    const bytes = readFileSync(path);
    // Also replaces what an earlier service left there.
    const there = this.#stamps.has(name) ? null : await this.#objects.get(`${SHIPPED_FILES}${name}`);
    if (!there?.equals(bytes)) await this.#objects.put(`${SHIPPED_FILES}${name}`, bytes);
    this.#stamps.set(name, stamp);
  }
}

/** Ships the signer's files: journals line by line, because they only grow, and the others whole. */
export class SignerFiles {
  readonly #objects: ObjectStore;
  readonly #directory: string;
  readonly #whole: WholeFiles;
  readonly #journals = new Map<string, ShippedLines>();

  constructor(objects: ObjectStore, directory: string) {
    this.#objects = objects;
    this.#directory = directory;
    this.#whole = new WholeFiles(objects);
  }

  /** False if the directory belongs to another user, who backs it up. */
  isReadable(): boolean {
    try {
      if (existsSync(this.#directory)) readdirSync(this.#directory);
      return true;
    } catch {
      return false;
    }
  }

  async send(): Promise<void> {
    if (!existsSync(this.#directory) || !this.isReadable()) return;
    for (const name of readdirSync(this.#directory).filter((file) => OF_SIGNER.test(file))) {
      if (name.endsWith('.jsonl')) await this.#sendJournal(name);
      else await this.#whole.send(join(this.#directory, name), `signer/${name}`);
    }
  }

  async #sendJournal(name: string): Promise<void> {
    let shipped = this.#journals.get(name);
    if (!shipped) {
      shipped = await ShippedLines.open(this.#objects, `${SHIPPED_JOURNALS}${name}/`);
      demandSame(join(this.#directory, name), shipped, this.#objects.place);
      this.#journals.set(name, shipped);
    }
    const added = linesAfter(join(this.#directory, name), shipped.end);
    if (added.length > 0) await shipped.add(added);
  }
}

/** A journal of another signer must not be continued by this one. */
function demandSame(path: string, { last, end }: ShippedLines, place: string): void {
  if (last === null) return;
  const from = end - Buffer.byteLength(last.text) - 1;
  if (linesAfter(path, from)[0]?.text !== last.text)
    throw new Error(
      `${place} holds another journal than ${path}, or a newer one: name another place in LOG_SHIPPING_TO`,
    );
}

/** The complete lines after an offset of the file, each numbered by its end. */
function linesAfter(path: string, from: number): NumberedLine[] {
  const text = bytesAfter(path, from).toString();
  let end = from;
  return text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .slice(0, -1)
    .map((line) => ({ number: (end += Buffer.byteLength(line) + 1), text: line }));
}

function bytesAfter(path: string, from: number): Buffer {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(Math.max(0, fstatSync(file).size - from));
    return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, from));
  } finally {
    closeSync(file);
  }
}
