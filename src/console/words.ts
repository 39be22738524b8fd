import { escaped, html, type Html, type Part, type Translatable, type Translation } from '../runtime/http/html.ts';

/**
 * Words of the console. They stand in English where they are used; the page is sent in the language of its reader. A
 * translation names values by their place: `Refund {0} to {1}`.
 */
export class Words implements Translatable {
  /** The English sentence, by which translations find it. */
  readonly key: string;
  readonly #values: readonly Part[];

  constructor(key: string, values: readonly Part[]) {
    this.key = key;
    this.#values = values;
  }

  htmlIn(translation?: Translation): string {
    const sentence = escaped(translation?.get(this.key) ?? this.key);
    return filled(sentence, (place) => html`${this.#values[place]}`.htmlIn(translation));
  }

  /** In English, as plain text. */
  toString(): string {
    return filled(this.key, (place) => String(html`${this.#values[place]}`));
  }
}

/** Words, or data as `html` shows it. */
export type Label = Words | Html;

const filled = (sentence: string, valueAt: (place: number) => string): string =>
  sentence.replaceAll(/\{(\d+)\}/g, (_placeholder, place) => valueAt(Number(place)));

/** Template tag of everything that the console says. Line breaks of the source are blanks. */
export const words = (strings: TemplateStringsArray, ...values: readonly Part[]): Words =>
  new Words(keyOf(strings), values);

/** The English sentence of a template, with a place for each value. */
export const keyOf = (strings: readonly string[]): string =>
  strings
    .map((string, place) => (place === 0 ? '' : `{${place - 1}}`) + string)
    .join('')
    .replaceAll(/\s+/g, ' ');

/** Sentences for a script, as JSON for an attribute. The script fills their places. */
export const forScript = (sentences: Readonly<Record<string, Words>>): Translatable => ({
  htmlIn: (translation) => {
    const own = Object.entries(sentences).map(([name, { key }]) => [name, translation?.get(key) ?? key]);
    return escaped(JSON.stringify(Object.fromEntries(own)));
  },
});
