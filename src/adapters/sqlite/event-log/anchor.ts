import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Tail } from './append-job.ts';
import { InTurn } from '../../../runtime/util/in-turn.ts';
import { must } from '../../../domain/values/must.ts';

const WRITE_INTERVAL_MS = 1_000;
const ANCHOR = /^\{"position":(\d{1,16}),"chain":"([0-9a-f]{64})"\}\n$/;

/**
 * A record, outside the log, of where the log recently ended. SQLite silently takes a damaged or lost WAL for its end,
 * and an old copy of the file looks as good as the last; the anchor reveals both. It never runs ahead of what is
 * durable.
 */
export class Anchor {
  readonly #path: string;
  #latest: Tail | null = null;
  #timer: NodeJS.Timeout | null = null;
  readonly #writes = new InTurn();

  constructor(dataDir: string) {
    this.#path = join(dataDir, 'events.anchor.json');
  }

  get path(): string {
    return this.#path;
  }

  /** Null if there is none, or if it is unreadable, as after a power cut. */
  read(): Tail | null {
    try {
      const match = ANCHOR.exec(readFileSync(this.#path, 'latin1'));
      return match ? { position: Number(match[1]), chain: must(match[2]) } : null;
    } catch {
      return null;
    }
  }

  /** Records a durable end of the log; written within a second. */
  note(tail: Tail): void {
    this.#latest = tail;
    if (this.#timer !== null) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      // Sequential, because both writes would use the same new file.
      void this.#writes.run(() => this.#write());
    }, WRITE_INTERVAL_MS);
    this.#timer.unref();
  }

  async close(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#writes.ended();
    if (this.#latest === null) return;
    writeFileSync(`${this.#path}.new`, textOf(this.#latest), { mode: 0o600 });
    renameSync(`${this.#path}.new`, this.#path);
  }

  /** A failure is left to the next write, since the anchor may lag. */
  async #write(): Promise<void> {
    const tail = this.#latest;
    if (tail === null) return;
    try {
      await writeFile(`${this.#path}.new`, textOf(tail), { mode: 0o600 });
      await rename(`${this.#path}.new`, this.#path);
      if (this.#latest === tail) this.#latest = null;
    } catch {
      this.#latest ??= tail;
    }
  }
}

const textOf = ({ position, chain }: Tail): string => `{"position":${position},"chain":"${chain}"}\n`;
