import { createReadStream } from 'node:fs';
import { must } from '../domain/values/must.ts';

/**
 * The lines of a text file without their line ends (LF or CRLF). JSON texts may contain the other line separators of
 * Unicode (U+2028, U+2029), and `readline` would split them there. Rejects for a file that cannot be read.
 */
export async function* linesOf(file: string): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of createReadStream(file, 'utf8')) {
    const lines = `${rest}${String(chunk)}`.split('\n');
    rest = must(lines.pop());
    for (const line of lines) yield withoutReturn(line);
  }
  if (rest !== '') yield withoutReturn(rest);
}

const withoutReturn = (line: string): string => (line.endsWith('\r') ? line.slice(0, -1) : line);
