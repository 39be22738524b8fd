import { must } from '../../domain/values/must.ts';

/** Text that is safe inside HTML text and quoted attributes. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toString(): string {
    return this.text;
  }
}

type Part = string | number | Html | null | undefined | false | readonly Part[];

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

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

function render(part: Part): string {
  if (part === null || part === undefined || part === false) return '';
  if (part instanceof Html) return part.text;
  if (Array.isArray(part)) return (part as readonly Part[]).map(render).join('');
  return plain(String(part)).replace(/[&<>"']/g, (character) => must(ESCAPES[character]));
}

/** Template tag that escapes everything that is not already `Html`. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(
    strings.reduce((text, string, index) => text + string + (index < parts.length ? render(parts[index]) : ''), ''),
  );
}

/** A boolean attribute. */
export const when = (condition: boolean, attribute: 'checked' | 'open'): Html =>
  new Html(condition ? ` ${attribute}` : '');

/** An address or a hash: not to be translated, and left to right in every language. */
export const code = (text: string): Html => html`<code dir="ltr" translate="no">${text}</code>`;
