import type { Language } from './languages.ts';
import { decimalsOf } from '../domain/money/money.ts';
import { html, type Html } from '../runtime/http/html.ts';
import { coinText, evenDecimals } from './coin-text.ts';
import type { TextKey } from './texts/en.ts';

/**
 * A run of text. `value` is a filled-in value, `strong` is also emphasised, `money` stays on one line, and `time` and `date` are a moment (Unix seconds) that
 * the script shows in the reader's time zone.
 */
export interface Piece {
  readonly text: string;
  readonly kind?: 'value' | 'strong' | 'money' | 'time' | 'date';
  readonly atSec?: number;
}

/** A sentence as data: rendered to HTML by the server, and to text nodes by the script. */
export type Sentence = readonly Piece[];

const PLACEHOLDER = /\{(\w+)\}/;

/** A single-digit hour. */
const MORNING = 9;

export const strong = (text: string): Piece => ({ text, kind: 'strong' });

const timeFormats = new Map<string, Intl.DateTimeFormat>();

/** Cached, since every page needs it and creating one takes a tenth of a millisecond. */
function timeFormatOf({ locale }: Language): Intl.DateTimeFormat {
  const known = timeFormats.get(locale);
  if (known) return known;
  const made = new Intl.DateTimeFormat(locale, { timeStyle: 'short', timeZone: 'UTC' });
  timeFormats.set(locale, made);
  return made;
}

/** The page's texts in one language. */
export class Speech {
  readonly language: Language;

  constructor(language: Language) {
    this.language = language;
  }

  /** Plain text, for attributes and titles. */
  text(key: TextKey, values: Readonly<Record<string, string | number>> = {}): string {
    return this.language.texts[key].replace(/\{(\w+)\}/g, (_, name: string) => String(values[name]));
  }

  sentence(key: TextKey, values: Readonly<Record<string, Piece | string>> = {}): Sentence {
    const parts = this.language.texts[key].split(PLACEHOLDER);
    return parts
      .map((part, index): Piece => {
        if (index % 2 === 0) return { text: part };
        const value = values[part] ?? '';
        return typeof value === 'string' ? { text: value, kind: 'value' } : value;
      })
      .filter(({ text }) => text !== '');
  }

  /** A moment for readers without script: hours and minutes in UTC. */
  moment(atSec: number): Piece {
    return { text: `${timeFormatOf(this.language).format(atSec * 1000)} UTC`, kind: 'time', atSec };
  }

  /**
   * The language's time format, for the script: `{hh}:{mm}`, or for a 12-hour clock one pattern for the morning and one
   * for the afternoon, `{h}:{mm} AM|{h}:{mm} PM`.
   */
  clock(): string {
    const format = timeFormatOf(this.language);
    const pattern = (hour: number): string =>
      format
        .formatToParts(Date.UTC(2000, 0, 1, hour))
        .map(({ type, value }) =>
          type === 'hour' ? `{${value.length === 2 ? 'hh' : 'h'}}` : type === 'minute' ? '{mm}' : value,
        )
        .join('');
    const [morning, afternoon] = [pattern(MORNING), pattern(MORNING + 12)];
    return format.resolvedOptions().hour12 ? `${morning}|${afternoon}` : morning;
  }

  /** Date and time, for the receipt: in UTC, until the script writes it in the reader's zone. */
  dateTime(atSec: number): Piece {
    const options = { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' } as const;
    const text = new Intl.DateTimeFormat(this.language.locale, options).format(atSec * 1000);
    return { text: `${text} UTC`, kind: 'date', atSec };
  }

  /**
   * Money in the shop's currency, exact at any length. Coin amounts stay as wallets write them, for comparison digit by
   * digit.
   */
  money(amount: string, currency: string): string {
    if (!/^[A-Z]{3}$/.test(currency)) return `${coinText(amount)} ${currency}`;
    const digits = digitsOf(this.#usesComma() ? evenDecimals(amount) : amount);
    return this.#written(
      new Intl.NumberFormat(this.language.locale, { style: 'currency', currency, ...digits }),
      amount,
    );
  }

  /** Seconds, or minutes from one minute on, in a short form that needs no plural. */
  duration(seconds: number): string {
    const inMinutes = seconds >= 60;
    const options = { style: 'unit', unit: inMinutes ? 'minute' : 'second', unitDisplay: 'short' } as const;
    return new Intl.NumberFormat(this.language.locale, options).format(inMinutes ? Math.round(seconds / 60) : seconds);
  }

  /** Formats a plain decimal string for the language. */
  number(decimal: string): string {
    const digits = digitsOf(evenDecimals(decimal));
    return this.#written(new Intl.NumberFormat(this.language.locale, digits), decimal);
  }

  #usesComma(): boolean {
    return new Intl.NumberFormat(this.language.locale).formatToParts(1.5).some(({ value }) => value === ',');
  }

  /**
   * The coins' sign for decimals is a point everywhere, so a page has no other: where a comma is usual, which makes a
   * point group digits, groups are set apart by blanks.
   */
  #written(format: Intl.NumberFormat, decimal: string): string {
    const isComma = this.#usesComma();
    const signs: Readonly<Record<string, string>> = { decimal: '.', group: '\u202f' };
    return format
      .formatToParts(exact(decimal))
      .map(({ type, value }) => (isComma ? (signs[type] ?? value) : value))
      .join('');
  }
}

const digitsOf = (decimal: string): Intl.NumberFormatOptions => {
  const decimals = decimalsOf(decimal);
  return { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
};

const isDecimal = (text: string): text is `${number}` => /^-?\d+(\.\d+)?$/.test(text);

/** Formatted without a loss: as a number, a long amount would be rounded. */
function exact(amount: string): `${number}` {
  if (isDecimal(amount)) return amount;
  throw new Error(`${amount} is not a decimal number`);
}

/** Each piece is isolated, so that an amount or a foreign name never reorders a right-to-left sentence. */
export function sentenceHtml(sentence: Sentence): Html {
  return html`${sentence.map((piece) => {
    if (piece.kind === 'strong') return html`<strong><bdi>${amountHtml(piece.text)}</bdi></strong>`;
    if (piece.kind === 'value') return html`<bdi>${piece.text}</bdi>`;
    if (piece.kind === 'money') return moneyHtml(piece.text);
    if (piece.kind === 'date')
      return html`<time datetime="${isoTime(piece.atSec ?? 0)}" data-whole>${piece.text}</time>`;
    if (piece.kind === 'time') return html`<time datetime="${isoTime(piece.atSec ?? 0)}">${piece.text}</time>`;
    return html`${piece.text}`;
  })}`;
}

const AMOUNT = /\d+(?:\.\d+)?/;
const SHORT_AMOUNT = /^[\d.]{1,9} [A-Z]{4}$/;
/** Shorter numbers are readable at a glance. */
const UNGROUPED_DIGITS = 4;
/** More characters in the first line would not fit a small phone at its size. */
const LONG_NUMBER = 11;
/** Longer than any amount that can be due. */
const ENDLESS_NUMBER = 26;

/**
 * Never breaks inside the number. Separates groups of three digits visually only: the text that is read aloud, selected
 * and copied stays the plain number.
 */
export function amountHtml(text: string): Html {
  const [first = '', ...others] = text.split(' + ');
  if (others.length > 0) return html`${amountHtml(first)} + ${amountHtml(others.join(' + '))}`;
  const number = AMOUNT.exec(text)?.[0];
  if (number === undefined) return html`${text}`;
  const at = text.indexOf(number);
  const [whole = '', fraction] = number.split('.');
  const groups = whole.length > UNGROUPED_DIGITS ? whole.split(/(?=(?:\d{3})+$)/) : [whole];
  const behind =
    fraction === undefined ? [] : fraction.length > UNGROUPED_DIGITS ? (fraction.match(/\d{1,3}/g) ?? []) : [fraction];
  const apart = (all: readonly string[]): Html[] =>
    all.map((group, index) => (index === 0 ? html`${group}` : html`<span class="group">${group}</span>`));
  const look = number.length > LONG_NUMBER ? 'number long' : 'number';
  // A short amount keeps its coin beside it.
  const end = SHORT_AMOUNT.test(text) ? text.length : at + number.length;
  const shown = html`${apart(groups)}${fraction !== undefined && '.'}${apart(behind)}${text.slice(at + number.length, end)}`;
  return html`${text.slice(0, at)}<span class="${look}">${shown}</span>${text.slice(end)}`;
}

const WRITTEN_NUMBER = /(\d(?:[\d.,\u00a0\u202f]*\d)?)/;
const BETWEEN_GROUPS = /(?<=[,\u00a0\u202f])/;

/** Money or a rate as `Speech` writes it. Its numbers never break, except an endless one between groups. */
export function moneyHtml(text: string): Html {
  if (text.length <= ENDLESS_NUMBER) return html`<bdi class="number">${text}</bdi>`;
  const numberHtml = (number: string): Html =>
    number.length > ENDLESS_NUMBER
      ? html`${number.split(BETWEEN_GROUPS).map((group) => html`${group}<wbr />`)}`
      : html`<span class="number">${number}</span>`;
  return html`<bdi
    >${text.split(WRITTEN_NUMBER).map((part, index) => (index % 2 === 1 ? numberHtml(part) : part))}</bdi
  >`;
}

const isoTime = (sec: number): string => new Date(sec * 1000).toISOString();
