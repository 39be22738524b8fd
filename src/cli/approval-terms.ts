import { hash } from 'node:crypto';
import type { JsonValue } from '../ports/read-model/read-model.ts';
import { CommandRefused } from '../operator/server/commands.ts';
import { inert, isList } from './print.ts';
import { cellsIn } from './table.ts';

/*
 * Whoever answers an approver's command may be false. Nothing is signed unless it is an approval of exactly what was
 * typed.
 */

/** One text to sign, with its lines. */
export interface Terms {
  readonly text: string;
  readonly number: string;
  readonly lines: readonly (readonly [label: string, value: string])[];
}

/** Null in a list: nothing is left to sign there. */
export type AskedTerms = readonly (Terms | null)[];

/** What the typed command says of the lines of the terms with this label. */
export interface Expected {
  readonly label: string;
  /** In the words of a refusal. */
  readonly typed: string;
  readonly fits: (values: readonly string[]) => boolean;
}

const TITLE = 'Quittance approval';
/** Lines that differ each time that terms are asked for. */
const OF_THE_MOMENT: readonly string[] = ['valid until', 'number'];
/** What leaves, where it goes and what may: never signed because somebody else says so. */
const ALWAYS_TYPED: readonly string[] = ['amount', 'to', 'outflow', 'change', 'begin anew', 'debit', 'credit'];
const READABLE = /^[\p{L}\p{N}\p{P}\p{S}\p{M} ]+$/u;

/** Null when the answer asks for no signature. Throws `CommandRefused` for anything that is not an approval. */
export function termsIn(answer: JsonValue): AskedTerms | null {
  const asked = cellsIn(answer).to_sign;
  if (asked === undefined || !isList(asked)) return null;
  return asked.map((one) => {
    if (one === null) return null;
    const { text, number } = cellsIn(one);
    if (
      typeof text !== 'string' ||
      typeof number !== 'string' ||
      !text.startsWith(`${TITLE}\n`) ||
      !text.endsWith(`\nnumber: ${number}`)
    )
      throw new CommandRefused('what the service asks to sign is not an approval');
    const written = text.split('\n');
    if (written.some((line) => !READABLE.test(line)))
      throw new CommandRefused('what the service asks to sign contains characters that cannot be shown');
    return { text, number, lines: written.slice(1).map(labelled) };
  });
}

function labelled(line: string): readonly [string, string] {
  const end = line.indexOf(': ');
  if (end < 1) throw new CommandRefused('what the service asks to sign has a line without a label');
  return [line.slice(0, end), line.slice(end + 2)];
}

export const shownTerms = (terms: AskedTerms): string =>
  `${terms.flatMap((one) => (one ? [one.text.split('\n').map(inert).join('\n')] : [])).join('\n\n')}\n\nhash of these terms: ${hashOfTerms(terms)}`;

/** The same whenever the same terms are asked for. */
export const hashOfTerms = (terms: AskedTerms): string =>
  hash(
    'sha256',
    terms
      .flatMap((one) =>
        one ? one.lines.flatMap(([label, value]) => (OF_THE_MOMENT.includes(label) ? [] : [`${label}: ${value}`])) : [],
      )
      .join('\n'),
    'hex',
  );

/** Throws `CommandRefused` unless each of the terms says what the command says, and nothing of weight besides. */
export function assertTyped(terms: AskedTerms, expected: readonly Expected[]): void {
  for (const one of terms.filter((each) => each !== null)) {
    for (const { label, typed, fits } of expected) {
      const found = one.lines.filter(([name]) => name === label).map(([, value]) => value);
      if (fits(found)) continue;
      const said = found.length === 0 ? 'have no such line' : `say ${found.map(inert).join(' and ')}`;
      throw new CommandRefused(
        `nothing was signed: the command says ${label} ${typed}, and the terms that the service answered ${said}`,
      );
    }
    const untyped = one.lines.find(
      ([label]) => ALWAYS_TYPED.includes(label) && !expected.some((each) => each.label === label),
    );
    if (untyped)
      throw new CommandRefused(
        `nothing was signed: the terms that the service answered say ${untyped.map(inert).join(' ')}, and the command nothing of it`,
      );
  }
}
