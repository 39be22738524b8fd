import type { Readable } from 'node:stream';

/** Longest line that either side accepts; a longer one ends the connection. */
export const MAX_JSON_LINE_BYTES = 1024 * 1024;

export interface JsonLineHandler {
  onValue(value: unknown): void;
  /** The other side broke the framing: a line is too long or not JSON. Nothing is read after it. */
  onFault(reason: string): void;
}

/** Reads one JSON value per line from a byte stream, with bounded memory. */
export function readJsonLines(stream: Readable, handler: JsonLineHandler): void {
  let kept: Buffer[] = [];
  let keptBytes = 0;
  let broken = false;
  const fail = (reason: string): void => {
    broken = true;
    kept = [];
    handler.onFault(reason);
  };
  stream.on('data', (chunk: Buffer) => {
    let from = 0;
    for (let end = chunk.indexOf(0x0a); end >= 0 && !broken; end = chunk.indexOf(0x0a, from)) {
      const line = Buffer.concat([...kept, chunk.subarray(from, end)]);
      kept = [];
      keptBytes = 0;
      from = end + 1;
      if (line.length > MAX_JSON_LINE_BYTES) return fail('line too long');
      const value = parse(line);
      if (value === undefined) return fail('not JSON');
      handler.onValue(value);
    }
    if (broken) return;
    kept.push(chunk.subarray(from));
    keptBytes += chunk.length - from;
    if (keptBytes > MAX_JSON_LINE_BYTES) fail('line too long');
  });
}

/** Undefined for invalid JSON; no JSON text means undefined. */
function parse(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString('utf8')) as unknown;
  } catch {
    return undefined;
  }
}

/** One value as a line for `readJsonLines`. */
export const jsonLine = (value: unknown): string => `${JSON.stringify(value)}\n`;
