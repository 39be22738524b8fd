import { must } from '../../domain/values/must.ts';

/** The sentences of a language by the English ones. A sentence that is missing is shown in English. */
export type Translation = ReadonlyMap<string, string>;

/** A part whose words depend on the language of the reader. */
export interface Translatable {
  /** Text that is safe inside HTML text and quoted attributes; English without a translation. */
  htmlIn(translation?: Translation): string;
}

/** Text that is safe inside HTML text and quoted attributes. */
export class Html implements Translatable {
  /** Neighbouring text is one piece. */
  readonly pieces: readonly (string | Translatable)[];

  constructor(pieces: readonly (string | Translatable)[]) {
    this.pieces = pieces;
  }

  htmlIn(translation?: Translation): string {
    let text = '';
    for (const piece of this.pieces) text += typeof piece === 'string' ? piece : piece.htmlIn(translation);
    return text;
  }

  /** In English. */
  get text(): string {
    return this.htmlIn();
  }

  /** What a reader sees of it, on one line. */
  lineIn(translation?: Translation): string {
    const line = this.htmlIn(translation)
      .replaceAll(/<[^>]*>/g, ' ')
      .replaceAll(/(?:\s|&nbsp;)+/g, ' ');
    return line.trim().replaceAll(/&(?:amp|lt|gt|quot|#39);/g, (escape) => must(UNESCAPED[escape]));
  }

  /** In English. */
  toString(): string {
    return this.lineIn();
  }
}

export type Part = string | number | Translatable | null | undefined | false | readonly Part[];

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const UNESCAPED = Object.fromEntries(Object.entries(ESCAPES).map(([character, escape]) => [escape, character]));

/**
 * Characters that reorder or hide text (bidirectional overrides and marks, zero-width, controls), which must never
 * reach a payer. Joiners are allowed: scripts and emoji need them.
 */
const DECEPTIVE =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu;

/** Removes characters that could make a text look like another one. */
export const plain = (text: string): string => text.replace(DECEPTIVE, '');

/** At most `length` characters, for texts with one line on the page. */
export function clip(text: string, length: number): string {
  const characters = [...plain(text.slice(0, 4 * length))];
  return characters.length <= length ? characters.join('') : `${characters.slice(0, length - 1).join('')}…`;
}

/** Text for HTML text and quoted attributes. */
export const escaped = (text: string): string =>
  plain(text).replace(/[&<>"']/g, (character) => must(ESCAPES[character]));

/** Template tag that escapes everything that is not safe already. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  const pieces: (string | Translatable)[] = [];
  let text = '';
  const keep = (piece: string | Translatable): void => {
    if (typeof piece === 'string') {
      text += piece;
      return;
    }
    pieces.push(text, piece);
    text = '';
  };
  const add = (part: Part): void => {
    if (part === null || part === undefined || part === false) return;
    if (typeof part !== 'object') text += escaped(String(part));
    else if (part instanceof Html) part.pieces.forEach(keep);
    else if ('htmlIn' in part) keep(part);
    else part.forEach(add);
  };
  for (const [index, string] of strings.entries()) {
    text += string;
    add(parts[index]);
  }
  return new Html([...pieces, text]);
}

/** A boolean attribute. */
export const when = (condition: boolean, attribute: 'checked' | 'open'): Html =>
  html`${condition && html` ${attribute}`}`;

/** An address or a hash: not to be translated, and left to right in every language. */
export const code = (text: string): Html => html`<code dir="ltr" translate="no">${text}</code>`;
