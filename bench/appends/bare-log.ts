import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import type { EncodedEvent } from '../../src/ports/event-log/event-store.ts';
import { encodeEvent, type EventToEncode } from '../../src/runtime/commands/codec.ts';

/** The least a durable log can do: encode and hash the event, append it to a file, sync, and remember where it is. */
export class BareLog {
  readonly #descriptor: number;
  readonly #index = new Map<string, { offset: number; revision: number }>();
  #offset = 0;

  constructor(path: string) {
    this.#descriptor = openSync(path, 'a');
  }

  append(events: readonly EventToEncode[]): void {
    let text = '';
    for (const event of events) {
      const line = lineOf(event, encodeEvent(event));
      this.#index.set(event.stream, { offset: this.#offset, revision: event.revision });
      this.#offset += line.length;
      text += line;
    }
    writeSync(this.#descriptor, text);
    fdatasyncSync(this.#descriptor);
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}

function lineOf(
  { stream, revision }: EventToEncode,
  { id, type, version, atMs, data, metadata, hash }: EncodedEvent,
): string {
  return `["${stream}",${revision},"${id}","${type}",${version},${atMs},${data},${metadata},"${hash}"]\n`;
}
