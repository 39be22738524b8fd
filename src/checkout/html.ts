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

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Invisible characters that reorder or hide text (bidirectional overrides, zero-width, controls) never reach a payer. */
// eslint-disable-next-line no-control-regex
const DECEPTIVE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

function render(part: Part): string {
  if (part === null || part === undefined || part === false) return '';
  if (part instanceof Html) return part.text;
  if (Array.isArray(part)) return (part as readonly Part[]).map(render).join('');
  return String(part).replace(DECEPTIVE, '').replace(/[&<>"']/g, (character) => ESCAPES[character]!);
}

/** Template tag: everything that is not already `Html` is escaped. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(strings.reduce((text, string, index) => text + string + (index < parts.length ? render(parts[index]) : ''), ''));
}
